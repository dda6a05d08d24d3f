// SPDX-License-Identifier: Apache-2.0
import { ActionIcon } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useEffect, useId, useRef, type ReactNode } from "react";
import { useFocusBack } from "./focus";
import classes from "./Panel.module.css";

interface PanelProps {
  title: ReactNode;
  onClose: () => void;
  children: ReactNode;
  footer?: ReactNode;
  /** Called on Ctrl-Enter inside the panel. */
  onSubmit?: () => void;
}

/**
 * A drawer that does not cover the page: beside the table on a wide screen, over it on a phone.
 * Focus goes in when it opens and back to where it came from when it closes.
 */
export function Panel({ title, onClose, children, footer, onSubmit }: PanelProps) {
  const root = useRef<HTMLElement>(null);
  const titleId = useId();
  useFocusBack();

  useEffect(() => {
    const before = document.activeElement;
    const first = root.current?.querySelector<HTMLElement>(
      "[data-autofocus], input:not([type=checkbox]), textarea, select",
    );
    (first ?? root.current)?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);

  return (
    <aside
      ref={root}
      className={classes.panel}
      role="dialog"
      aria-labelledby={titleId}
      tabIndex={-1}
      onKeyDown={(event) => {
        const dialog = (event.target as Element).closest("[role=dialog]");
        if (dialog !== null && dialog !== event.currentTarget) return; // A dialog that it opened has its own keys.
        if (event.key === "Escape" && !event.defaultPrevented) {
          event.preventDefault(); // It means the panel, and not also the page.
          onClose();
        }
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onSubmit?.();
      }}
    >
      <header className={classes.head}>
        <h2 id={titleId}>{title}</h2>
        <ActionIcon variant="subtle" color="gray" aria-label="Close" onClick={onClose}>
          <IconX size={18} />
        </ActionIcon>
      </header>
      <div className={classes.body}>{children}</div>
      {footer ? <footer className={classes.foot}>{footer}</footer> : null}
    </aside>
  );
}

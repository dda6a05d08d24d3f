// SPDX-License-Identifier: Apache-2.0
import { ActionIcon } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useSyncExternalStore } from "react";
import { SeverityIcon, type Severity } from "./blocks";
import classes from "./toast.module.css";

interface Toast {
  id: number;
  severity: Severity;
  text: string;
}

let toasts: readonly Toast[] = [];
let next = 1;
const listeners = new Set<() => void>();

function set(list: readonly Toast[]): void {
  toasts = list;
  for (const listener of listeners) listener();
}

export const dismiss = (id: number): void => set(toasts.filter((toast) => toast.id !== id));

/** Says what happened. Errors stay until they are closed; the rest goes after five seconds. */
export function say(severity: Severity, text: string): void {
  const id = next++;
  set([...toasts.filter((toast) => toast.text !== text).slice(-3), { id, severity, text }]);
  if (severity !== "error") window.setTimeout(() => dismiss(id), 5_000);
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export function Toasts() {
  const list = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className={classes.list} role="status" aria-live="polite">
      {list.map((toast) => (
        <div key={toast.id} className={classes.toast} role={toast.severity === "error" ? "alert" : undefined}>
          <SeverityIcon severity={toast.severity} />
          <span className="grow">{toast.text}</span>
          <ActionIcon
            size="sm"
            variant="subtle"
            color="gray"
            aria-label="Dismiss"
            onClick={() => dismiss(toast.id)}
          >
            <IconX size={14} />
          </ActionIcon>
        </div>
      ))}
    </div>
  );
}

// SPDX-License-Identifier: Apache-2.0
import { ActionIcon } from "@mantine/core";
import { IconChevronRight, IconChevronsLeft, IconChevronsRight } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useState, type KeyboardEvent } from "react";
import classes from "./Frame.module.css";
import { NAV, type NavArea, type NavItem } from "./nav";
import { useAreas } from "./useAreas";

const FOLD_KEY = "weir.nav-folded";

/** Up, Down, Home and End go through the lines that are shown; Right opens an area, Left folds it. */
function onArrow(event: KeyboardEvent<HTMLElement>) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  const lines = [...event.currentTarget.querySelectorAll<HTMLElement>("a, button[aria-expanded]")];
  const at = lines.findIndex((line) => line === document.activeElement);
  const line = lines[at];
  if (line === undefined) return;
  const isOpen = line.getAttribute("aria-expanded");
  const goTo = (index: number) => lines[Math.min(Math.max(index, 0), lines.length - 1)]?.focus();
  const actions: Record<string, () => void> = {
    ArrowDown: () => goTo(at + 1),
    ArrowUp: () => goTo(at - 1),
    Home: () => goTo(0),
    End: () => goTo(lines.length - 1),
    ArrowRight: () => (isOpen === "false" ? line.click() : goTo(isOpen === "true" ? at + 1 : at)),
    ArrowLeft: () => {
      if (isOpen === "true") line.click();
      else if (isOpen === null) line.closest("[data-area]")?.querySelector("button")?.focus();
    },
  };
  const action = actions[event.key];
  if (action === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  action();
}

function Pages({
  items,
  folded,
  onClose,
}: {
  items: readonly NavItem[];
  folded: boolean;
  onClose: () => void;
}) {
  return items.map((item) => (
    <li key={item.label}>
      <Link
        to={item.to}
        params={{ page: item.page }}
        className={classes.link}
        activeOptions={{ exact: item.to === "/", includeSearch: false }}
        aria-label={item.label}
        title={folded ? item.label : undefined}
        onClick={onClose}
      >
        <item.icon size={17} stroke={1.6} aria-hidden="true" />
        <span>{item.label}</span>
      </Link>
    </li>
  ));
}

/** The line of an area, which opens and folds its pages. */
function AreaLine({ area, open, folded, onFold }: AreaProps) {
  return (
    <button
      type="button"
      className={classes.area}
      aria-expanded={open}
      aria-label={area.title}
      title={folded ? area.title : undefined}
      onClick={onFold}
    >
      <area.icon size={17} stroke={1.6} aria-hidden="true" />
      <span>{area.title}</span>
      <IconChevronRight className={classes.chevron} size={13} stroke={1.8} aria-hidden="true" />
    </button>
  );
}

interface AreaProps {
  area: NavArea;
  open: boolean;
  folded: boolean;
  onFold: () => void;
}

export function NavBar({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [folded, setFolded] = useState(() => localStorage.getItem(FOLD_KEY) === "1");
  const areas = useAreas();
  const fold = () => {
    localStorage.setItem(FOLD_KEY, folded ? "0" : "1");
    setFolded(!folded);
  };
  return (
    <>
      {open ? (
        <button type="button" className={classes.scrim} aria-label="Close the menu" onClick={onClose} />
      ) : null}
      <nav
        className={classes.nav}
        data-open={open}
        data-folded={folded}
        aria-label="Main"
        onKeyDown={onArrow}
      >
        <ul>
          <Pages items={NAV.top} folded={folded} onClose={onClose} />
        </ul>
        {NAV.areas.map((area) => {
          const isOpen = areas.isOpen(area.title);
          const onFold = () => areas.setOpen(area.title, !isOpen);
          return (
            <div key={area.title} data-area={area.title}>
              <AreaLine area={area} open={isOpen} folded={folded} onFold={onFold} />
              {isOpen ? (
                <ul aria-label={area.title}>
                  <Pages items={area.items} folded={folded} onClose={onClose} />
                </ul>
              ) : null}
            </div>
          );
        })}
        <ActionIcon
          className={classes.fold}
          variant="subtle"
          color="gray"
          aria-label={folded ? "Unfold the menu" : "Fold the menu"}
          onClick={fold}
        >
          {folded ? <IconChevronsRight size={16} /> : <IconChevronsLeft size={16} />}
        </ActionIcon>
      </nav>
    </>
  );
}

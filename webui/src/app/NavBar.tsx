// SPDX-License-Identifier: Apache-2.0
import { ActionIcon } from "@mantine/core";
import { IconChevronRight, IconChevronsLeft, IconChevronsRight } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useState, type KeyboardEvent } from "react";
import { isPinned, movePin, togglePin, usePins } from "@/table/pins";
import type { View } from "@/table/views";
import { SeverityIcon } from "@/ui/blocks";
import classes from "./Frame.module.css";
import { illsAt, illWords, useIlls, type Ill } from "./ills";
import { NAV, pathOf, type NavArea, type NavItem } from "./nav";
import { PinButton } from "./PinButton";
import { PinMenu, type PinPlace } from "./PinMenu";
import { Pinned } from "./Pinned";
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

/** A line's name and what is ill behind it, for who does not see the mark, and for the pointer. */
function namesOf(label: string, ills: readonly Ill[], folded: boolean) {
  const texts = ills.map((ill) => ill.text);
  const title = [...(folded ? [label] : []), ...texts].join("\n");
  return {
    "aria-label": ills.length > 0 ? `${label}: ${illWords(ills)}` : label,
    title: title === "" ? undefined : title,
  };
}

function Mark({ ills }: { ills: readonly Ill[] }) {
  if (ills.length === 0) return null;
  return (
    <span className={classes.mark} aria-hidden="true">
      <SeverityIcon severity={ills.some((ill) => ill.isError) ? "error" : "warning"} size={14} />
    </span>
  );
}

function Pages({
  items,
  ills,
  folded,
  onClose,
}: {
  items: readonly NavItem[];
  ills: readonly Ill[];
  folded: boolean;
  onClose: () => void;
}) {
  const pins = usePins();
  return items.map((item) => {
    const here = illsAt(ills, [item]);
    return (
      <li key={item.label} className={classes.entry}>
        <Link
          to={item.to}
          params={{ page: item.page }}
          className={classes.link}
          activeOptions={{ exact: item.to === "/", includeSearch: false }}
          {...namesOf(item.label, here, folded)}
          data-at={pathOf(item)}
          data-name={item.label}
          onClick={onClose}
        >
          <item.icon size={17} stroke={1.6} aria-hidden="true" />
          <span className={classes.label}>{item.label}</span>
          <Mark ills={here} />
        </Link>
        <PinButton view={{ name: item.label, at: pathOf(item) }} pins={pins} />
      </li>
    );
  });
}

/** The page or view of the line that has this element. */
function viewAt(target: EventTarget | null): View | null {
  const line = target instanceof Element ? target.closest<HTMLElement>("[data-at]") : null;
  const { at, name } = line?.dataset ?? {};
  return at === undefined || name === undefined ? null : { at, name };
}

/** `*` pins a line and unpins it; Alt with an arrow moves a pinned one. */
function onPinKey(event: KeyboardEvent<HTMLElement>): boolean {
  const view = viewAt(document.activeElement);
  if (!view || event.ctrlKey || event.metaKey) return false;
  const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (event.altKey && by !== undefined && isPinned(view.at)) movePin(view.at, by);
  else if (!event.altKey && event.key === "*") togglePin(view);
  else return false;
  event.preventDefault();
  event.stopPropagation();
  return true;
}

/** The line of an area, which opens and folds its pages. Folded, it says what is ill in them. */
function AreaLine({ area, ills, open, folded, onFold }: AreaProps) {
  const hidden = open ? [] : illsAt(ills, area.items);
  return (
    <button
      type="button"
      className={classes.area}
      aria-expanded={open}
      {...namesOf(area.title, hidden, folded)}
      onClick={onFold}
    >
      <area.icon size={17} stroke={1.6} aria-hidden="true" />
      <span>{area.title}</span>
      <Mark ills={hidden} />
      <IconChevronRight className={classes.chevron} size={13} stroke={1.8} aria-hidden="true" />
    </button>
  );
}

interface AreaProps {
  area: NavArea;
  ills: readonly Ill[];
  open: boolean;
  folded: boolean;
  onFold: () => void;
}

export function NavBar({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [folded, setFolded] = useState(() => localStorage.getItem(FOLD_KEY) === "1");
  const [place, setPlace] = useState<PinPlace | null>(null);
  const areas = useAreas();
  const ills = useIlls();
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
        onKeyDown={(event) => {
          if (!onPinKey(event)) onArrow(event);
        }}
        onContextMenu={(event) => {
          const view = viewAt(event.target);
          if (!view || event.shiftKey) return;
          event.preventDefault();
          setPlace({ view, x: event.clientX, y: event.clientY });
        }}
      >
        <Pinned folded={folded} onClose={onClose} />
        <ul>
          <Pages items={NAV.top} ills={ills} folded={folded} onClose={onClose} />
        </ul>
        {NAV.areas.map((area) => {
          const isOpen = areas.isOpen(area.title);
          const onFold = () => areas.setOpen(area.title, !isOpen);
          return (
            <div key={area.title} data-area={area.title}>
              <AreaLine area={area} ills={ills} open={isOpen} folded={folded} onFold={onFold} />
              {isOpen ? (
                <ul aria-label={area.title}>
                  <Pages items={area.items} ills={ills} folded={folded} onClose={onClose} />
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
      {place ? <PinMenu place={place} onClose={() => setPlace(null)} /> : null}
    </>
  );
}

// SPDX-License-Identifier: Apache-2.0
import { ActionIcon, Button, Menu } from "@mantine/core";
import { IconArrowDown, IconCopy } from "@tabler/icons-react";
import { memo, useLayoutEffect, useRef, useState, type KeyboardEvent, type MouseEvent } from "react";
import type { LogLine } from "@/api/types";
import { menuKey, PointMenu } from "@/table/PointMenu";
import { copyText } from "@/ui/copy";
import { clockText, stampText } from "@/ui/format";
import { say } from "@/ui/toast";
import { lineText, processOf, textOf } from "./logText";
import classes from "./Log.module.css";

/** From the end, in pixels: nearer than this, one wants to see what comes. */
const AT_END_PX = 40;

interface LogLinesProps {
  lines: readonly LogLine[];
  isStale: boolean;
  isPaused: boolean;
  onSource: (source: string) => void;
}

interface MenuPlace {
  line: LogLine;
  x: number;
  y: number;
}

function copyLine(line: LogLine): void {
  const isCopied = copyText(lineText(line));
  say(isCopied ? "notice" : "error", isCopied ? "Copied the line." : "The browser did not copy.");
}

const dayOf = (line: LogLine): string => stampText(line.at).slice(0, 10);
const newDay = (line: LogLine, before: LogLine | undefined): string | null =>
  before && dayOf(before) === dayOf(line) ? null : dayOf(line);

/** The lines, the newest last and in sight while nobody scrolls away from them. */
export function LogLines({ lines, isStale, isPaused, onSource }: LogLinesProps) {
  const list = useRef<HTMLOListElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const [at, setAt] = useState<string | null>(null);
  const [menu, setMenu] = useState<MenuPlace | null>(null);
  const toEnd = () => {
    if (list.current) list.current.scrollTop = list.current.scrollHeight;
  };
  useLayoutEffect(() => {
    if (isAtEnd) toEnd();
  }, [lines, isAtEnd]);
  const onScroll = () => {
    const element = list.current;
    if (element) setAtEnd(element.scrollHeight - element.scrollTop - element.clientHeight < AT_END_PX);
  };
  const current = lines.find((line) => line.cursor === at) ?? lines.at(-1);
  const onKeyDown = (event: KeyboardEvent<HTMLOListElement>) => {
    const rows = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-line]")];
    const focused = rows.findIndex((row) => row === document.activeElement);
    const step = STEPS[event.key];
    if (focused < 0 || !current || event.altKey || event.metaKey) return;
    if (event.key === "c" && event.ctrlKey && window.getSelection()?.isCollapsed !== false) {
      event.preventDefault();
      copyLine(current);
    } else if (step !== undefined && !event.ctrlKey) {
      event.preventDefault();
      event.stopPropagation();
      rows[Math.min(Math.max(focused + step, 0), rows.length - 1)]?.focus();
    } else if (event.key === "Enter" || event.key === "ContextMenu") {
      event.preventDefault();
      const place = rows[focused]?.getBoundingClientRect();
      if (place) setMenu({ line: current, x: place.left + 24, y: place.bottom });
    }
  };
  return (
    <div className={classes.frame} data-stale={isStale || undefined}>
      <ol
        ref={list}
        className={classes.lines}
        aria-label="Lines of the log"
        tabIndex={-1}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
      >
        {lines.map((line, index) => (
          <Line
            key={line.cursor}
            line={line}
            day={newDay(line, lines[index - 1])}
            isCurrent={line === current}
            onFocus={setAt}
            onMenu={setMenu}
          />
        ))}
      </ol>
      {isAtEnd ? null : (
        <Button
          className={classes.newest}
          size="compact-sm"
          leftSection={<IconArrowDown size={14} />}
          onClick={toEnd}
        >
          {isPaused ? "To the last line" : "To the newest line"}
        </Button>
      )}
      {menu ? (
        <PointMenu name="the line" x={menu.x} y={menu.y} onClose={() => setMenu(null)}>
          <Menu.Item rightSection={menuKey("Ctrl C")} onClick={() => copyLine(menu.line)}>
            Copy the line
          </Menu.Item>
          {menu.line.source === "" ? null : (
            <Menu.Item onClick={() => onSource(menu.line.source)}>Only lines of {menu.line.source}</Menu.Item>
          )}
        </PointMenu>
      ) : null}
    </div>
  );
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  j: 1,
  ArrowUp: -1,
  k: -1,
  PageDown: 20,
  PageUp: -20,
  Home: -Infinity,
  End: Infinity,
};

interface LineProps {
  line: LogLine;
  /** Said before the first line of a day. */
  day: string | null;
  isCurrent: boolean;
  onFocus: (cursor: string) => void;
  onMenu: (place: MenuPlace) => void;
}

/** Lines do not change: what comes renders what came only. */
const Line = memo(function Line({ line, day, isCurrent, onFocus, onMenu }: LineProps) {
  const onContextMenu = (event: MouseEvent) => {
    // What is marked has the browser's own menu.
    if (event.shiftKey || window.getSelection()?.isCollapsed === false) return;
    event.preventDefault();
    onMenu({ line, x: event.clientX, y: event.clientY });
  };
  return (
    <li
      className={classes.line}
      data-line
      data-severity={line.severity}
      tabIndex={isCurrent ? 0 : -1}
      onFocus={() => onFocus(line.cursor)}
      onContextMenu={onContextMenu}
    >
      {day === null ? null : <span className={classes.day}>{day}</span>}
      <time className={classes.time} dateTime={line.at} title={stampText(line.at)}>
        {clockText(line.at)}
      </time>
      <span className={classes.severity}>{line.severity}</span>
      <span className={classes.process} title={line.source}>
        {processOf(line)}
      </span>
      <span className={classes.text} data-unknown={line.text === null || undefined}>
        {textOf(line)}
      </span>
      <ActionIcon
        className={classes.copy}
        variant="subtle"
        color="gray"
        size="xs"
        tabIndex={-1}
        aria-label="Copy the line"
        onClick={() => copyLine(line)}
      >
        <IconCopy size={13} />
      </ActionIcon>
    </li>
  );
});

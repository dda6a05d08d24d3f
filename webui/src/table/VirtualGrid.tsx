// SPDX-License-Identifier: Apache-2.0
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  memo,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  type RefObject,
} from "react";
import { usePrinting } from "@/ui/printing";
import type { Span } from "./orders";
import classes from "./VirtualGrid.module.css";

interface VirtualGridProps {
  label: string;
  rowCount: number;
  rowHeight: number;
  columnCount: number;
  /** CSS grid columns, shared by the head and every row. */
  template: string;
  /** What the columns need at least; narrower than that, the grid scrolls sideways inside itself. */
  minWidthPx?: number;
  head: ReactNode;
  /** The row under the keyboard, or -1. */
  cursor: number;
  /** `extend`: with Shift, so that the rows up to this one are meant. */
  onCursor: (index: number, extend: boolean) => void;
  /** The row's menu is asked for, at a place in the window. */
  onMenu?: (index: number, x: number, y: number) => void;
  onKey?: (event: KeyboardEvent) => void;
  onRange: (first: number, last: number) => void;
  onPointer?: (inside: boolean) => void;
  isSelected: (index: number) => boolean;
  /** A new function says that rows may look different: while it stays, rows that only move are left alone. */
  renderRow: (index: number) => ReactNode;
  /** Called with where each column stands, whenever that has changed. */
  onSpans?: (spans: readonly Span[]) => void;
  /** Lies above the rows and scrolls with them. */
  layer?: ReactNode;
  cards?: boolean;
  dimmed?: boolean;
}

const PAGE_ROWS = 20;
const OVERSCAN = 8;
/** Rows on paper: more are for an export. */
const MOST_PRINTED = 500;

interface GridRowProps {
  index: number;
  top: number;
  height: number;
  selected: boolean;
  cursor: boolean;
  onCursor: (index: number, extend: boolean) => void;
  onMenu: ((index: number, x: number, y: number) => void) | undefined;
  renderRow: (index: number) => ReactNode;
}

/** While the grid is scrolled, only the rows that come in are rendered. */
const GridRow = memo(function GridRow({
  index,
  top,
  height,
  selected,
  cursor,
  onCursor,
  onMenu,
  renderRow,
}: GridRowProps) {
  const onMouseDown = (event: MouseEvent) => {
    // Else the texts between here and there would be marked.
    if (event.shiftKey && !(event.target instanceof HTMLInputElement)) event.preventDefault();
  };
  const onContextMenu = (event: MouseEvent) => {
    if (!onMenu || event.target instanceof HTMLInputElement || event.shiftKey) return;
    event.preventDefault();
    onMenu(index, event.clientX, event.clientY);
  };
  return (
    <div
      id={`row-${index}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      data-cursor={cursor || undefined}
      className={classes.row}
      style={{ height, top }}
      onClick={(event) => onCursor(index, event.shiftKey)}
      onMouseDown={onMouseDown}
      onContextMenu={onContextMenu}
    >
      {renderRow(index)}
    </div>
  );
});

/** Reads the places of the columns from the head, after the browser has laid it out. */
function useSpans(
  head: RefObject<HTMLDivElement | null>,
  template: string,
  report: VirtualGridProps["onSpans"],
): void {
  useLayoutEffect(() => {
    const row = head.current;
    if (!row || !report) return;
    const read = () => {
      const { left } = row.getBoundingClientRect();
      report(
        Array.from(row.children, (cell) => cell.getBoundingClientRect()).map((box) => ({
          left: box.left - left,
          width: box.width,
        })),
      );
    };
    read();
    const observer = new ResizeObserver(read);
    observer.observe(row);
    return () => observer.disconnect();
  }, [head, template, report]);
}

/** The same functions at each render, so that rows that only move are left alone. */
function useStable({ onCursor, onMenu }: VirtualGridProps) {
  const newest = useRef({ onCursor, onMenu });
  useEffect(() => {
    newest.current = { onCursor, onMenu };
  });
  return useMemo(
    () => ({
      onCursor: (index: number, extend: boolean) => newest.current.onCursor(index, extend),
      onMenu: (index: number, x: number, y: number) => newest.current.onMenu?.(index, x, y),
    }),
    [],
  );
}

/** A grid that holds only the rows on the screen, with a fixed head and a keyboard cursor. */
export function VirtualGrid(props: VirtualGridProps) {
  const { label, rowCount, rowHeight, columnCount, template, head, cursor, onCursor, onRange, cards } = props;
  const printing = usePrinting();
  const scroller = useRef<HTMLDivElement>(null);
  const headRow = useRef<HTMLDivElement>(null);
  useSpans(headRow, template, cards ? undefined : props.onSpans);
  const virtual = useVirtualizer({
    count: rowCount,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: printing ? MOST_PRINTED : OVERSCAN,
    useFlushSync: false,
  });
  const stable = useStable(props);
  const items = virtual.getVirtualItems();
  // A row that leaves at one end gives its elements to the one that comes in at the other.
  const pool =
    Math.ceil((virtual.scrollRect?.height ?? 0) / rowHeight) + 2 * (printing ? MOST_PRINTED : OVERSCAN) + 2;
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;

  useEffect(() => onRange(first, last), [first, last, onRange]);
  useEffect(() => virtual.measure(), [rowHeight, virtual]);
  useEffect(() => {
    if (cursor >= 0 && cursor < rowCount) virtual.scrollToIndex(cursor, { align: "auto" });
    // Only a moved cursor scrolls; a changed length does not.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [cursor]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget && event.target instanceof HTMLInputElement) return;
    const to = {
      ArrowDown: cursor + 1,
      ArrowUp: cursor - 1,
      PageDown: cursor + PAGE_ROWS,
      PageUp: cursor - PAGE_ROWS,
      Home: 0,
      End: rowCount - 1,
    }[event.key];
    if (to !== undefined && !event.altKey) {
      event.preventDefault();
      onCursor(Math.max(0, Math.min(rowCount - 1, to)), event.shiftKey);
    } else if (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) {
      const box = document.getElementById(`row-${cursor}`)?.getBoundingClientRect();
      if (box) {
        event.preventDefault();
        props.onMenu?.(cursor, box.left + 40, box.bottom);
      }
    } else props.onKey?.(event);
  };

  return (
    <div
      ref={scroller}
      className={classes.scroller}
      role="grid"
      aria-label={label}
      aria-rowcount={rowCount + 1}
      aria-colcount={columnCount}
      aria-multiselectable="true"
      aria-activedescendant={cursor >= first && cursor <= last ? `row-${cursor}` : undefined}
      tabIndex={0}
      data-cards={cards}
      data-dimmed={props.dimmed}
      style={
        {
          "--cols": template,
          "--least": `${cards ? 0 : (props.minWidthPx ?? 0)}px`,
          "--printed": `${Math.min(rowCount, MOST_PRINTED) * rowHeight}px`,
        } as React.CSSProperties
      }
      onKeyDown={onKeyDown}
      onPointerEnter={() => props.onPointer?.(true)}
      onPointerLeave={() => props.onPointer?.(false)}
    >
      <div role="rowgroup" className={classes.headGroup}>
        <div ref={headRow} role="row" aria-rowindex={1} className={classes.head}>
          {head}
        </div>
      </div>
      <div role="rowgroup" className={classes.body} style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => (
          <GridRow
            key={item.index % pool}
            index={item.index}
            top={item.start}
            height={item.size}
            selected={props.isSelected(item.index)}
            cursor={item.index === cursor}
            onCursor={stable.onCursor}
            onMenu={props.onMenu && stable.onMenu}
            renderRow={props.renderRow}
          />
        ))}
        {props.layer}
      </div>
    </div>
  );
}

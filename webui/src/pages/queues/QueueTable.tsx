// SPDX-License-Identifier: Apache-2.0
import { useMediaQuery } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useKeys } from "@/app/keyboard";
import type { QueuesSearch } from "@/app/search";
import type { Queue } from "@/api/types";
import { useCopy } from "./copy";
import { LiveRate } from "@/table/LiveCell";
import { LiveCells, LiveLayer } from "@/table/LiveCells";
import { LivePainter } from "@/table/LivePainter";
import type { Span } from "@/table/orders";
import { Arrow } from "@/ui/blocks";
import { VirtualGrid } from "@/table/VirtualGrid";
import { targetText } from "@/ui/format";
import {
  chosenColumns,
  colsOf,
  Limit,
  QueueName,
  type CellContext,
  type QueueColumn,
  type StaticColumn,
} from "./columns";
import classes from "./Queues.module.css";
import type { QueueRow, Rows } from "./rows";
import { RowMenu, type MenuPlace } from "./RowMenu";
import type { Selection } from "./selection";
import { TableHead } from "./TableHead";

const ROW_PX = 26;
/** On a phone, and on a screen that is wider than it is high: a zoomed page shows as many rows as it can. */
const CARD_PX = 86;
const LINE_PX = 34;

interface QueueTableProps {
  rows: Rows;
  search: QueuesSearch;
  onSearch: (change: Partial<QueuesSearch>) => void;
  selection: Selection;
  onToggle: (id: string) => void;
  onHold: (hold: boolean) => void;
  cards: boolean;
  /** Whether anything may be changed. */
  may: boolean;
}

/** Until it is known how wide the cell is, every text may be too long for it. */
const isLong = (column: StaticColumn, row: QueueRow, span: Span | undefined): boolean | undefined =>
  column.long?.(row, span?.width ?? 0) ? true : undefined;

/** The columns that are drawn, and where they stand. */
function useMeasured(columns: readonly QueueColumn[]) {
  const [painter] = useState(() => new LivePainter());
  const [spans, setSpans] = useState<readonly Span[]>([]);
  const firstMeasured = columns.findIndex((column) => "live" in column);
  const measured = useMemo(
    () => columns.flatMap((column) => ("live" in column ? [column.live] : [])),
    [columns],
  );
  // The first span is the check box's.
  const liveSpans = useMemo(
    () => (firstMeasured < 0 ? [] : spans.slice(firstMeasured + 1, firstMeasured + 1 + measured.length)),
    [spans, firstMeasured, measured],
  );
  const onSpans = useCallback(
    (next: readonly Span[]) =>
      setSpans((before) => (JSON.stringify(before) === JSON.stringify(next) ? before : next)),
    [],
  );
  return { measured, firstMeasured, painter, spans, liveSpans, onSpans };
}

export function QueueTable({
  rows,
  search,
  onSearch,
  selection,
  onToggle,
  onHold,
  cards,
  may,
}: QueueTableProps) {
  const navigate = useNavigate();
  const [cursor, setCursor] = useState(-1);
  const [editing, setEditing] = useState<string | null>(null);
  const lines = useMediaQuery("(min-width: 40em)", false, { getInitialValueInEffect: false });
  const [menu, setMenu] = useState<MenuPlace | null>(null);
  // Where a range begins: the last row that was gone to without Shift.
  const anchor = useRef(-1);
  const onCursor = (index: number, extend: boolean) => {
    if (!extend) anchor.current = index;
    else {
      if (anchor.current < 0) anchor.current = Math.max(0, cursor);
      selection.takeRange(anchor.current, index);
    }
    setCursor(index);
  };
  const openMenu = (index: number, x: number, y: number) => {
    const row = rows.get(index);
    if (!row) return;
    onCursor(index, false);
    setMenu({ row, index, x, y });
  };
  const columns = useMemo(() => chosenColumns(search.cols), [search.cols]);
  const { measured, firstMeasured, painter, spans, liveSpans, onSpans } = useMeasured(columns);
  const at = rows.get(cursor);
  // Nothing moves under the hand that types.
  useEffect(() => onHold(editing !== null), [editing, onHold]);
  const table = useRef<HTMLDivElement>(null);
  // A reader is told of the row only while the table has the focus.
  const step = (by: number) => {
    onCursor(Math.max(0, Math.min(rows.count - 1, cursor + by)), false);
    table.current?.querySelector<HTMLElement>("[role=grid]")?.focus({ preventScroll: true });
  };
  const isOpen = (row: QueueRow) => row.staged !== "add";
  const editKeys = [
    selection.count > 0
      ? { keys: "e", label: "Edit the selected queues", run: () => onSearch({ edit: "selected" }) }
      : { keys: "e", label: "Edit the row", run: () => at && onSearch({ edit: at.queue.id }) },
    { keys: "Enter", label: "Edit the limit in place", run: () => at && setEditing(at.queue.id) },
  ];
  const chosen = selection.queues;
  useCopy(
    useCallback(() => (chosen.length > 0 ? chosen.map(asRow) : at ? [at] : []), [chosen, at]),
    columns,
  );
  useKeys([
    { keys: "j", label: "Next row", run: () => step(1) },
    { keys: "k", label: "Row before", run: () => step(-1) },
    { keys: "x", label: "Select the row", run: () => at && selection.toggle(at.queue) },
    { keys: "Shift+ArrowDown", label: "Select a range; Shift and a click do, too" },
    { keys: "ctrl+a", label: "Select all that match", run: selection.takeAll },
    { keys: "ctrl+c", label: "Copy the row, or the selected ones" },
    ...(may ? editKeys : []),
    {
      keys: "o",
      label: "Open the queue",
      run: () => at && isOpen(at) && void navigate({ to: "/queues/$id", params: { id: at.queue.id } }),
    },
  ]);
  // The field goes away with its focus: the keys go on where they were, in the table.
  const { get } = rows;
  const edit = useCallback(
    (id: string | null, index?: number) => {
      const next = index === undefined ? null : get(index);
      const target = index === undefined ? id : next && next.staged !== "remove" ? next.queue.id : null;
      const grid = target === null ? document.activeElement?.closest<HTMLElement>("[role=grid]") : null;
      if (next && index !== undefined) setCursor(index);
      setEditing(target);
      grid?.focus({ preventScroll: true });
    },
    [get],
  );
  const { has, toggle } = selection;
  const renderRow = useCallback(
    (index: number) => {
      const row = get(index);
      if (!row)
        return (
          <span role="gridcell" className={classes.blank}>
            …
          </span>
        );
      const check = (
        <input
          type="checkbox"
          className={classes.check}
          tabIndex={-1}
          aria-label={`Select ${row.queue.name}`}
          checked={has(row.queue.id)}
          onChange={({ nativeEvent }) => {
            // With Shift the click goes on to the row, which takes all up to here.
            if (!(nativeEvent instanceof MouseEvent && nativeEvent.shiftKey)) toggle(row.queue);
          }}
        />
      );
      if (cards) return <QueueCard row={row} check={check} onToggle={onToggle} />;
      const context: CellContext = {
        editing: editing === row.queue.id,
        onToggle,
        onEdit: may ? (id, step) => edit(id, step && index + step) : null,
      };
      return (
        <>
          <span role="gridcell">
            {row.staged ? <span className={classes.edge} data-action={row.staged} /> : null}
            {check}
          </span>
          {columns.map((column, at) =>
            "live" in column ? (
              at === firstMeasured ? (
                <LiveCells
                  key="live"
                  index={index}
                  queueId={row.queue.id}
                  limitBps={row.queue.max_limit_bps}
                  columns={measured}
                  painter={painter}
                />
              ) : null
            ) : (
              <span
                key={column.id}
                role="gridcell"
                className={column.numeric ? "num" : undefined}
                data-long={isLong(column, row, spans[at + 1])}
                onDoubleClick={column.id === "limits" ? undefined : () => onSearch({ edit: row.queue.id })}
              >
                {column.render(row, context)}
              </span>
            ),
          )}
        </>
      );
    },
    [
      get,
      has,
      toggle,
      cards,
      columns,
      measured,
      firstMeasured,
      painter,
      spans,
      editing,
      edit,
      may,
      onToggle,
      onSearch,
    ],
  );
  return (
    <div ref={table} className={classes.table}>
      <VirtualGrid
        label="Queues"
        rowCount={rows.count}
        rowHeight={cards ? (lines ? LINE_PX : CARD_PX) : ROW_PX}
        columnCount={columns.length + 1}
        template={`18px ${columns.map((column) => column.width).join(" ")}`}
        minWidthPx={leastWidth(columns)}
        head={
          <TableHead
            columns={columns}
            sort={search.sort}
            sortable={search.view !== "tree"}
            onSort={(sort) => onSearch({ sort })}
            allSelected={selection.all}
            onSelectAll={selection.toggleAll}
            onColumns={(ids) => onSearch({ cols: colsOf(["name", ...ids]) })}
          />
        }
        cursor={cursor}
        onCursor={onCursor}
        onMenu={openMenu}
        onRange={rows.onRange}
        onPointer={(inside) => onHold(inside || editing !== null)}
        isSelected={(index) => selection.has(rows.get(index)?.queue.id ?? "")}
        renderRow={renderRow}
        onSpans={onSpans}
        layer={
          cards ? null : <LiveLayer painter={painter} columns={measured} spans={liveSpans} rowPx={ROW_PX} />
        }
        cards={cards}
        dimmed={rows.stale}
        onKey={(event) => {
          const row = rows.get(cursor);
          if (!row) return;
          if (event.key === " ") {
            event.preventDefault();
            selection.toggle(row.queue);
          }
          if (
            (event.key === "ArrowRight" && row.expanded === false) ||
            (event.key === "ArrowLeft" && row.expanded)
          )
            onToggle(row.queue.id);
        }}
      />
      {menu ? (
        <RowMenu
          place={menu}
          may={may}
          selected={selection.has(menu.row.queue.id)}
          onSelect={() => selection.toggle(menu.row.queue)}
          onLimit={() => setEditing(menu.row.queue.id)}
          onSearch={onSearch}
          onClose={() => setMenu(null)}
        />
      ) : null}
    </div>
  );
}

/** A selected queue need not be on the screen. */
const asRow = (queue: Queue): QueueRow => ({ queue, depth: 0, expanded: null, staged: null });

/** The sum of the columns' least widths, with the gaps, the check box and the padding. */
const leastWidth = (columns: readonly QueueColumn[]): number =>
  columns.reduce((sum, column) => sum + 10 + Number(/\d+/.exec(column.width)?.[0] ?? 0), 38);

/** The row on a phone: the same things in the same order, one above the other. */
function QueueCard({
  row,
  check,
  onToggle,
}: {
  row: QueueRow;
  check: React.ReactNode;
  onToggle: (id: string) => void;
}) {
  const { queue, before, staged } = row;
  return (
    <div role="gridcell" className={classes.card}>
      {staged ? <span className={classes.edge} data-action={staged} /> : null}
      <span className={classes.cardCheck}>{check}</span>
      <span className={classes.cardName}>
        <QueueName row={row} onToggle={onToggle} />
      </span>
      <span className={`${classes.cardTarget} mono`}>{queue.target.map(targetText).join(" ") || "–"}</span>
      <span className={classes.cardRates}>
        {(["upload", "download"] as const).map((direction) => (
          <span key={direction} className={classes.cardRate}>
            <Arrow direction={direction} />
            <LiveRate queueId={queue.id} direction={direction} limitBps={queue.max_limit_bps[direction]} />
            <span className="dim">
              <Limit now={queue.max_limit_bps[direction]} before={before?.max_limit_bps[direction]} />
            </span>
          </span>
        ))}
      </span>
    </div>
  );
}

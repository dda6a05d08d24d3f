// SPDX-License-Identifier: Apache-2.0
import {
  IconAlertTriangle,
  IconArrowNarrowDown,
  IconArrowNarrowUp,
  IconGripVertical,
} from "@tabler/icons-react";
import { useCallback, useRef, useState, type KeyboardEvent } from "react";
import { useKeys } from "@/app/keyboard";
import { useColumnDrag } from "@/table/useColumnDrag";
import { VirtualGrid } from "@/table/VirtualGrid";
import { Tag } from "@/ui/blocks";
import type { Declared } from "../kinds";
import { nameOf, type Row } from "../objects";
import { fieldNamed, type useChosen } from "./useShown";
import { leastWidthPx, type Column } from "./columns";
import { KindMenu, type MenuPlace } from "./KindMenu";
import type { Moves } from "./moving";
import { useDrag } from "./useDrag";
import type { useEdits } from "./useEdits";
import classes from "./List.module.css";

const ROW_PX = 26;
const CARD_PX = 78;
/** Wider than any column: a text that may not fit is clipped. */
const SHORT_CHARS = 12;

interface KindTableProps {
  declared: Declared;
  rows: readonly Row[];
  columns: readonly Column[];
  sort: string | undefined;
  onSort: (sort: string | undefined) => void;
  chosen: ReturnType<typeof useChosen>;
  onOpen: (id: string) => void;
  /** Null: nothing may be changed. */
  edits: ReturnType<typeof useEdits> | null;
  /** Of a list in its order; null: nothing can be moved. */
  moves: Moves | null;
  /** The id of a row that was moved: the cursor stays with it. */
  followed: string | null;
  onFollow: (id: string | null) => void;
  /** The columns in another order. */
  onColumns: (ids: readonly string[]) => void;
  cards: boolean;
}

/** Where the cursor is, and where a range began. */
function useCursor({ rows, chosen: { take }, followed, onFollow }: KindTableProps) {
  const [left, setCursor] = useState(-1);
  const cursor = followed === null ? left : rows.findIndex((row) => row.object.id === followed);
  const anchor = useRef(-1);
  const go = (index: number, extend: boolean) => {
    if (extend) {
      if (anchor.current < 0) anchor.current = Math.max(0, cursor);
      take(rows.slice(Math.min(anchor.current, index), Math.max(anchor.current, index) + 1));
    } else anchor.current = index;
    onFollow(null);
    setCursor(index);
  };
  return { cursor: Math.min(cursor, rows.length - 1), go };
}

export function KindTable(props: KindTableProps) {
  const { declared, rows, columns, chosen, onOpen, edits, moves, cards } = props;
  const [menu, setMenu] = useState<MenuPlace | null>(null);
  const { cursor, go } = useCursor(props);
  const drag = useDrag(declared, rows, moves, cards ? CARD_PX : ROW_PX);
  const table = useRef<HTMLDivElement>(null);
  const at = rows[cursor];
  const step = (by: number) => {
    go(Math.max(0, Math.min(rows.length - 1, cursor + by)), false);
    table.current?.querySelector<HTMLElement>("[role=grid]")?.focus({ preventScroll: true });
  };
  /** The rows that are chosen, or the one under the cursor. */
  const remove = () => edits?.remove(chosen.chosen.length > 0 ? chosen.chosen : at ? [at] : [], chosen.clear);
  const openMenu = (index: number, x: number, y: number) => {
    const row = rows[index];
    if (!row) return;
    go(index, false);
    setMenu({ row, x, y });
  };
  useKeys([
    { keys: "j", label: "Next row", run: () => step(1) },
    { keys: "k", label: "Row before", run: () => step(-1) },
    { keys: "x", label: "Select the row", run: () => at && chosen.toggle(at.object.id) },
    { keys: "Shift+ArrowDown", label: "Select a range; Shift and a click do, too" },
    { keys: "ctrl+a", label: "Select all that match", run: () => chosen.take(rows) },
    { keys: "Enter", label: "Open the row", run: () => at && onOpen(at.object.id) },
    { keys: "e", label: "Open the row", run: () => at && onOpen(at.object.id) },
    ...(edits
      ? [{ keys: "Delete", label: "Stage the removal of the row, or of the selected ones", run: remove }]
      : []),
    ...(moves
      ? [
          {
            keys: "Alt+ArrowUp",
            label: "Move the row up; Alt and the arrow down: down. Its grip can be dragged",
          },
        ]
      : []),
  ]);
  const onKey = (event: KeyboardEvent) => {
    if (event.altKey && at && moves && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      event.preventDefault();
      moves.step(at, event.key === "ArrowUp" ? -1 : 1);
    }
    if (event.key !== " " || !at) return;
    event.preventDefault();
    chosen.toggle(at.object.id);
  };
  const { has, toggle } = chosen;
  const isMovable = moves !== null;
  const renderRow = useCallback(
    (index: number) => {
      const row = rows[index];
      if (!row) return null;
      const shown = {
        declared,
        row,
        columns,
        isChosen: has(row.object.id),
        onToggle: toggle,
        onOpen,
        isMovable,
      };
      return cards ? <Card {...shown} /> : <Cells {...shown} />;
    },
    [rows, declared, columns, has, toggle, onOpen, isMovable, cards],
  );
  return (
    <div ref={table} className={classes.table} {...drag.handlers}>
      <VirtualGrid
        label={declared.plural}
        rowCount={rows.length}
        rowHeight={cards ? CARD_PX : ROW_PX}
        columnCount={columns.length + 2}
        template={`${moves ? 34 : 18}px minmax(150px, 3fr) ${columns.map((column) => column.width).join(" ")}`}
        minWidthPx={leastWidthPx(columns)}
        head={<Head {...props} />}
        cursor={cursor}
        onCursor={go}
        onMenu={openMenu}
        onKey={onKey}
        onRange={nothing}
        isSelected={(index) => has(rows[index]?.object.id ?? "")}
        renderRow={renderRow}
        layer={drag.line}
        cards={cards}
      />
      {menu ? (
        <KindMenu
          place={menu}
          declared={declared}
          isChosen={has(menu.row.object.id)}
          onOpen={() => onOpen(menu.row.object.id)}
          onSelect={() => toggle(menu.row.object.id)}
          edits={edits}
          moves={moves}
          onClose={() => setMenu(null)}
        />
      ) : null}
    </div>
  );
}

const nothing = () => undefined;

function Head({ declared, rows, columns, sort, onSort, chosen, onColumns }: KindTableProps) {
  const drag = useColumnDrag(
    columns.map((column) => column.id),
    onColumns,
  );
  const name = fieldNamed(declared, declared.namedBy);
  const isAll = chosen.chosen.length > 0 && chosen.chosen.length >= rows.length;
  const heads = [{ id: name.name, title: name.label, numeric: false, field: name }, ...columns];
  return (
    <>
      <span role="columnheader">
        <input
          type="checkbox"
          className={classes.check}
          aria-label="Select all that match"
          checked={isAll}
          onChange={() => (isAll ? chosen.clear() : chosen.take(rows))}
        />
      </span>
      {heads.map((column) => {
        const [isRising, isFalling] = [sort === column.id, sort === `-${column.id}`];
        return (
          <span
            key={column.id}
            role="columnheader"
            className={column.numeric ? "num" : undefined}
            aria-sort={isRising ? "ascending" : isFalling ? "descending" : undefined}
            {...drag(column.id)}
          >
            {column.field ? (
              <button
                type="button"
                className={classes.sort}
                data-on={isRising || isFalling}
                title={column.title}
                onClick={() => onSort(isRising ? `-${column.id}` : isFalling ? undefined : column.id)}
              >
                <span>{column.title}</span>
                {isRising ? <IconArrowNarrowUp size={13} /> : null}
                {isFalling ? <IconArrowNarrowDown size={13} /> : null}
              </button>
            ) : (
              column.title
            )}
          </span>
        );
      })}
    </>
  );
}

interface RowProps {
  declared: Declared;
  row: Row;
  columns: readonly Column[];
  isChosen: boolean;
  onToggle: (id: string) => void;
  onOpen: (id: string) => void;
  isMovable: boolean;
}

const STAGED_WORDS = { add: "new", change: "change pending", remove: "removal pending" } as const;

const Check = ({ declared, row, isChosen, onToggle }: RowProps) => (
  <input
    type="checkbox"
    className={classes.check}
    tabIndex={-1}
    aria-label={`Select ${nameOf(declared, row.object)}`}
    checked={isChosen}
    onChange={() => onToggle(row.object.id)}
    onClick={(event) => event.stopPropagation()}
  />
);

function Name({ declared, row, onOpen }: RowProps) {
  const warning = row.object.warnings?.[0]?.message;
  return (
    <span className={classes.nameCell}>
      <button
        type="button"
        className={classes.name}
        tabIndex={-1}
        data-removed={row.staged === "remove"}
        onClick={() => onOpen(row.object.id)}
      >
        {nameOf(declared, row.object)}
      </button>
      {warning ? (
        <span className="warn" title={warning}>
          <IconAlertTriangle size={14} aria-label={warning} role="img" />
        </span>
      ) : null}
      {row.object["disabled"] === true ? <Tag>off</Tag> : null}
      {row.staged ? <Tag tone="accent">{STAGED_WORDS[row.staged]}</Tag> : null}
    </span>
  );
}

/** For the pointer alone: the keyboard moves the row under the cursor, buttons the one that is selected. */
const Grip = () => (
  <span className={classes.grip} draggable data-grip aria-hidden="true" title="Drag to move the row">
    <IconGripVertical size={13} />
  </span>
);

const Edge = ({ row }: { row: Row }) =>
  row.staged ? <span className={classes.edge} data-action={row.staged} /> : null;

function Cells(props: RowProps) {
  const { row, columns } = props;
  const off = row.object["disabled"] === true || row.staged === "remove" ? classes.off : "";
  return (
    <>
      <span role="gridcell">
        <Edge row={row} />
        <span className={classes.handles}>
          <Check {...props} />
          {props.isMovable && row.staged !== "remove" ? <Grip /> : null}
        </span>
      </span>
      <span role="gridcell" data-long>
        <Name {...props} />
      </span>
      {columns.map((column) => (
        <span
          key={column.id}
          role="gridcell"
          className={`${classes.cell ?? ""} ${column.numeric ? "num" : ""} ${off ?? ""}`}
          data-long={row.staged === "change" || column.text(row).length > SHORT_CHARS ? true : undefined}
        >
          {column.render(row)}
        </span>
      ))}
    </>
  );
}

/** The row on a phone: the same things in the same order, what is empty left out. */
function Card(props: RowProps) {
  const { row, columns } = props;
  return (
    <div role="gridcell" className={classes.card}>
      <Edge row={row} />
      <span className={classes.cardCheck}>
        <Check {...props} />
      </span>
      <Name {...props} />
      <span className={classes.facts}>
        {columns
          .filter((column) => !["", "no"].includes(column.text(row)))
          .map((column) => (
            <span key={column.id} className={classes.cell}>
              {column.title} <b>{column.render(row)}</b>
            </span>
          ))}
      </span>
    </div>
  );
}

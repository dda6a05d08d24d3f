// SPDX-License-Identifier: Apache-2.0
import type { ReactNode } from "react";
import classes from "./SimpleTable.module.css";

export interface Column<Row> {
  id: string;
  title: ReactNode;
  /** Null where there is nothing to show: a table writes a dash, and a card leaves the line out. */
  render: (row: Row) => ReactNode;
  /** Of buttons and remarks: where there is none, the cell is empty. */
  blank?: boolean;
  numeric?: boolean;
  /** Takes what is left of the width. */
  wide?: boolean;
  /** What a long text should have of the width; the rest is shared by content. */
  width?: string;
}

interface SimpleTableProps<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  rowMuted?: (row: Row) => boolean;
  rowCurrent?: (row: Row) => boolean;
}

/** In the place of a value that there is not. */
export const Absent = () => <span className="dim">–</span>;

const isAbsent = (shown: ReactNode): boolean =>
  shown === null || shown === undefined || shown === false || shown === "";

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const shown = column.render(row);
  const absent = isAbsent(shown);
  return (
    <td
      role="cell"
      className={column.numeric ? "num" : undefined}
      data-col={column.id}
      data-sized={column.width ? true : undefined}
      data-absent={absent || undefined}
      data-label={typeof column.title === "string" ? column.title : undefined}
    >
      {absent ? column.blank ? null : <Absent /> : shown}
    </td>
  );
}

/** A plain table for short lists; on a phone each row becomes a card with the same order. */
export function SimpleTable<Row>({
  caption,
  columns,
  rows,
  rowKey,
  rowMuted,
  rowCurrent,
}: SimpleTableProps<Row>) {
  return (
    <div className={classes.scroll} role="region" aria-label={caption} tabIndex={0}>
      <table className={classes.table} role="table">
        <caption className="hidden-text">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column) => (
              <th
                key={column.id}
                scope="col"
                role="columnheader"
                className={column.numeric ? "num" : undefined}
                data-wide={column.wide}
                style={column.width ? { width: column.width } : undefined}
              >
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr
              key={rowKey(row)}
              role="row"
              data-muted={rowMuted?.(row) ?? undefined}
              data-current={rowCurrent?.(row) ?? undefined}
            >
              {columns.map((column) => (
                <Cell key={column.id} column={column} row={row} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// SPDX-License-Identifier: Apache-2.0
import type { ReactNode } from "react";
import type { Declared, Field } from "../kinds";
import { ObjectLink } from "../links";
import type { Row } from "../objects";
import { valueWords } from "../values";

/** What a list shows of an object beside its name: a field, or what a page adds, such as a counter. */
export interface Column {
  id: string;
  title: string;
  width: string;
  leastPx: number;
  numeric: boolean;
  /** Of a declared field. */
  field?: Field;
  render: (row: Row) => ReactNode;
  text: (row: Row) => string;
}

/** What a list shows of one kind beside what follows from its declaration: a column of its own, or, where it is
 * called as a field, that field's in other words. */
export type OwnColumn = Partial<Column> & Pick<Column, "id" | "render" | "text">;

const WIDTH: Partial<Record<Field["type"], [least: number, share: number]>> = {
  flag: [60, 1],
  whole: [64, 1],
  port: [60, 1],
  moment: [80, 1],
  choice: [68, 2],
  text: [88, 3],
  many: [84, 3],
  table: [110, 3],
  host: [110, 2],
  prefix: [110, 2],
  address: [110, 2],
};
/** So narrow that the eleven columns of a firewall rule fit beside the menu at 1440 px. */
const USUAL: [least: number, share: number] = [80, 2];
const NUMERIC = new Set<Field["type"]>(["whole", "port"]);
const MONO = new Set<Field["type"]>(["host", "prefix", "address"]);

/** A value with a link where it names another object. */
function Value({ field, value }: { field: Field; value: unknown }) {
  const text = valueWords(field, value);
  if (text === "") return <span className="dim">–</span>;
  if (field.type === "ref" && !field.also?.includes(text))
    return (
      <ObjectLink kind={field.kind} id={text}>
        {text}
      </ObjectLink>
    );
  if (field.type === "flag" && value === false) return <span className="dim">no</span>;
  return MONO.has(field.type) ? <span className="mono">{text}</span> : <>{text}</>;
}

const isChanged = ({ staged, object, before }: Row, field: Field): boolean =>
  staged === "change" &&
  before !== null &&
  valueWords(field, object[field.name]) !== valueWords(field, before[field.name]);

/** A value, with what runs now where another is staged. */
export function Cell({ field, row }: { field: Field; row: Row }) {
  const [now, before] = [row.object[field.name], row.before?.[field.name]];
  if (!isChanged(row, field)) return <Value field={field} value={now} />;
  return (
    <>
      <del className="dim">{valueWords(field, before) || "none"}</del> <span aria-hidden="true">→ </span>
      <ins>{valueWords(field, now) || "none"}</ins>
    </>
  );
}

/** So many characters of a title are shown by one share of the room at 1440 px. */
const TITLE_CHARS = 8;

/** A column's width in its grid: a long title is given more of the room that is left over. */
const widthOf = (leastPx: number, share: number, title: string): string =>
  `minmax(${leastPx}px, ${Math.max(share, title.length / TITLE_CHARS)}fr)`;

export function columnOf(field: Field): Column {
  const [leastPx, share] = WIDTH[field.type] ?? USUAL;
  return {
    id: field.name,
    title: field.label,
    width: widthOf(leastPx, share, field.label),
    leastPx,
    numeric: NUMERIC.has(field.type),
    field,
    render: (row) => <Cell field={field} row={row} />,
    text: (row) => valueWords(field, row.object[field.name]),
  };
}

/** A field's column in other words; those of a change are as everywhere. */
const inWords = (field: Field, own: OwnColumn): Column => ({
  ...columnOf(field),
  ...own,
  render: (row) => (isChanged(row, field) ? <Cell field={field} row={row} /> : own.render(row)),
});

const ADDED = { title: "", width: `minmax(${USUAL[0]}px, ${USUAL[1]}fr)`, leastPx: USUAL[0], numeric: false };

/** Every column that there can be, in the order of the fields; then what is learnt, and what the kind adds. */
export function columnsOf(
  declared: Declared,
  learnt: readonly Column[],
  added: readonly OwnColumn[],
): Column[] {
  const fields = declared.fields.filter(
    (field) => field.name !== declared.namedBy && field.name !== "disabled",
  );
  const names = new Set(fields.map((field) => field.name));
  return [
    ...fields.map((field) => {
      const own = added.find((column) => column.id === field.name);
      return own ? inWords(field, own) : columnOf(field);
    }),
    ...learnt,
    ...added.filter((column) => !names.has(column.id)).map((column) => ({ ...ADDED, ...column })),
  ];
}

/** Room for what stands before the columns: the edge of the table, and the name. */
export const NAME_PX = 200;
const GAP_PX = 10;

export const leastWidthPx = (columns: readonly Column[]): number =>
  columns.reduce((sum, column) => sum + GAP_PX + column.leastPx, NAME_PX);

/** The first of the columns, as many as there is room for; a width that is not known yet has room for all. */
export function fitting(columns: readonly Column[], widthPx: number): readonly Column[] {
  if (widthPx === 0) return columns;
  const count = columns.findIndex((_, index) => leastWidthPx(columns.slice(0, index + 1)) > widthPx);
  return count < 0 ? columns : columns.slice(0, count);
}

/** Whether a column has no value in any of the rows: nothing but "–", or "no". */
export const isWithoutValues = ({ field, text }: Column, rows: readonly Row[]): boolean =>
  field !== undefined &&
  rows.length > 0 &&
  rows.every(
    (row) =>
      (field.type === "flag" ? row.object[field.name] !== true : text(row) === "") && !isChanged(row, field),
  );

const keptUnder = (kind: string): string => `weir.columns.${kind}`;

/** The ids that were chosen: by the address, or else in this browser, or else as declared. */
export function chosenIds(kind: string, declared: Declared, address: string | undefined): readonly string[] {
  const chosen = address ?? localStorage.getItem(keptUnder(kind));
  return chosen === null ? declared.columns : chosen.split(".").filter(Boolean);
}

export const keepColumns = (kind: string, ids: readonly string[] | null): void =>
  ids === null
    ? localStorage.removeItem(keptUnder(kind))
    : localStorage.setItem(keptUnder(kind), ids.join("."));

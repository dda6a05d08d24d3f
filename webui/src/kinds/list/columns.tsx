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
  if (field.type === "ref")
    return (
      <ObjectLink kind={field.kind} id={text}>
        {text}
      </ObjectLink>
    );
  if (field.type === "flag" && value === false) return <span className="dim">no</span>;
  return MONO.has(field.type) ? <span className="mono">{text}</span> : <>{text}</>;
}

/** A value, with what runs now where another is staged. */
export function Cell({ field, row }: { field: Field; row: Row }) {
  const [now, before] = [row.object[field.name], row.before?.[field.name]];
  const isChanged =
    row.staged === "change" && row.before && valueWords(field, now) !== valueWords(field, before);
  if (!isChanged) return <Value field={field} value={now} />;
  return (
    <>
      <del className="dim">{valueWords(field, before) || "none"}</del> <span aria-hidden="true">→ </span>
      <ins>{valueWords(field, now) || "none"}</ins>
    </>
  );
}

export function columnOf(field: Field): Column {
  const [leastPx, share] = WIDTH[field.type] ?? USUAL;
  return {
    id: field.name,
    title: field.label,
    width: `minmax(${leastPx}px, ${share}fr)`,
    leastPx,
    numeric: NUMERIC.has(field.type),
    field,
    render: (row) => <Cell field={field} row={row} />,
    text: (row) => valueWords(field, row.object[field.name]),
  };
}

/** Every column that there can be, in the order of the fields. */
export const columnsOf = (declared: Declared, extra: readonly Column[]): Column[] => [
  ...declared.fields
    .filter((field) => field.name !== declared.namedBy && field.name !== "disabled")
    .map(columnOf),
  ...extra,
];

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

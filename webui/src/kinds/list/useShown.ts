// SPDX-License-Identifier: Apache-2.0
import { useCallback, useMemo, useState } from "react";
import type { Declared, Field } from "../kinds";
import { searchText, type Row } from "../objects";
import { compare } from "../values";

const ID: Field = {
  name: "id",
  label: "Id",
  type: "text",
  most: 63,
  lines: false,
  importance: "shown",
  required: true,
  nullable: false,
};

export const fieldNamed = (declared: Declared, name: string): Field =>
  declared.fields.find((field) => field.name === name) ??
  (declared.assignsIds ? ID : { ...ID, label: "Name" });

/** The rows that match every word of a search, in the order that is asked for: `distance`, or `-distance`. */
export function shownRows(
  declared: Declared,
  rows: readonly Row[],
  q: string | undefined,
  sort: string | undefined,
): readonly Row[] {
  const words = (q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const found =
    words.length === 0
      ? rows
      : rows.filter((row) => {
          const text = searchText(declared, row.object);
          return words.every((word) => text.includes(word));
        });
  if (!sort) return found;
  const falling = sort.startsWith("-");
  const field = fieldNamed(declared, falling ? sort.slice(1) : sort);
  return [...found].sort((a, b) => compare(field, a.object[field.name], b.object[field.name], falling));
}

export const useShown = (
  declared: Declared,
  rows: readonly Row[],
  q: string | undefined,
  sort: string | undefined,
) => useMemo(() => shownRows(declared, rows, q, sort), [declared, rows, q, sort]);

/** Rows that are chosen, by id; those that are gone are chosen no longer. */
export function useChosen(rows: readonly Row[]) {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const chosen = useMemo(() => rows.filter((row) => ids.has(row.object.id)), [rows, ids]);
  const toggle = useCallback(
    (id: string) =>
      setIds((before) => {
        const next = new Set(before);
        if (!next.delete(id)) next.add(id);
        return next;
      }),
    [],
  );
  const take = useCallback((taken: readonly Row[]) => setIds(new Set(taken.map((row) => row.object.id))), []);
  const clear = useCallback(() => setIds(new Set()), []);
  const has = useCallback((id: string) => ids.has(id), [ids]);
  return { chosen, has, toggle, take, clear };
}

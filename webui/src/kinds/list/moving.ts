// SPDX-License-Identifier: Apache-2.0
/** Moves of rows in the list of an ordered kind. */
import { useMemo } from "react";
import type { Place } from "@/api/staging";
import { sayStaged, useStageMove } from "@/api/writes";
import type { Declared } from "../kinds";
import { nameOf, type Row } from "../objects";

const isSameList = (declared: Declared, a: Row, b: Row): boolean =>
  (declared.order ?? []).every((name) => a.object[name] === b.object[name]);

/**
 * Next to whom a row comes to stand that is put before the row at `at` of those shown; their number: behind
 * all. Null: that is in another list, or where it stands already.
 */
export function placeAt(declared: Declared, rows: readonly Row[], moved: Row, at: number): Place | null {
  // What is about to be removed is nobody's neighbour any more.
  const stays = (row: Row) => row.staged !== "remove" && isSameList(declared, row, moved);
  const before = rows.slice(0, at).findLast(stays);
  const next = rows.slice(at).find(stays);
  const isBeside = [rows[at - 1], rows[at]].some((row) => row && isSameList(declared, row, moved));
  if (!isBeside || before === moved || next === moved) return null;
  if (next) return { before: next.object.id, after: null };
  return before ? { before: null, after: before.object.id } : null;
}

/** One place up (-1) or down (1): before which of the rows that is; -1: there is none. */
export function stepFrom(declared: Declared, rows: readonly Row[], moved: Row, by: 1 | -1): number {
  const from = rows.indexOf(moved);
  const stays = (row: Row) => row.staged !== "remove" && isSameList(declared, row, moved);
  if (by < 0) return rows.slice(0, from).findLastIndex(stays);
  const next = rows.findIndex((row, index) => index > from && stays(row));
  return next < 0 ? -1 : next + 1;
}

export interface Moves {
  step: (row: Row, by: 1 | -1) => void;
  /** Before the row that is at this place now. */
  to: (row: Row, at: number) => void;
}

/** `done`: called with the id of a row that was moved. */
export function useMoves(declared: Declared, rows: readonly Row[], done: (id: string) => void): Moves {
  const { mutateAsync, isPending } = useStageMove();
  return useMemo(() => {
    const to = (row: Row, at: number): void => {
      const place = at < 0 || row.staged === "remove" ? null : placeAt(declared, rows, row, at);
      if (!place || isPending) return;
      const way = at > rows.indexOf(row) ? "down" : "up";
      void mutateAsync({ path: declared.path, id: row.object.id, place }).then(
        () => {
          sayStaged(`${nameOf(declared, row.object)}: moved ${way}. Pending until it is committed.`);
          done(row.object.id);
        },
        // An error is said for every staging that shows none itself.
        () => undefined,
      );
    };
    return { to, step: (row, by) => to(row, stepFrom(declared, rows, row, by)) };
  }, [declared, rows, mutateAsync, isPending, done]);
}

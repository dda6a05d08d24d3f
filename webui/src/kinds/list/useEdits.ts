// SPDX-License-Identifier: Apache-2.0
import type { Kind } from "@/api/types";
import { sayStaged, useStage, useUnstage } from "@/api/writes";
import { plural } from "@/ui/format";
import type { Declared } from "../kinds";
import { inputOf, isStored, nameOf, type Row } from "../objects";

/** Whether its removal can be staged. */
export const isRemovable = ({ object, staged }: Row): boolean =>
  isStored(object) && staged !== "add" && staged !== "remove";

/** Stages one edit of several objects: their removal, or that they are enabled or disabled. */
export function useEdits(kind: string, declared: Declared) {
  const stage = useStage();
  const unstage = useUnstage();
  const send = (rows: readonly Row[], next: (row: Row) => object | null, words: string, done: () => void) => {
    if (rows.length === 0 || stage.isPending) return;
    const [first] = rows;
    const what =
      rows.length === 1 && first
        ? nameOf(declared, first.object)
        : plural(rows.length, declared.singular, declared.plural);
    const changes = rows.map((row) => ({
      kind: kind as Kind,
      id: row.object.id,
      new: next(row) as Record<string, unknown> | null,
      base: row.base || null,
    }));
    void stage.mutateAsync(changes).then(
      (whose) => {
        if (whose === "mine") sayStaged(`${what}: ${words}. Pending until it is committed.`);
        done();
      },
      // An error is said for every staging that shows none itself.
      () => undefined,
    );
  };
  return {
    isPending: stage.isPending,
    /** What is only staged is unstaged; what runs is staged for removal. */
    remove: (rows: readonly Row[], done: () => void = () => undefined) => {
      for (const row of rows.filter((item) => item.staged === "add"))
        unstage.mutate({ kind: kind as Kind, id: row.object.id });
      send(rows.filter(isRemovable), () => null, "removal staged", done);
    },
    setDisabled: (rows: readonly Row[], disabled: boolean, done: () => void = () => undefined) =>
      send(
        rows.filter((row) => row.staged !== "remove" && row.object["disabled"] !== disabled),
        (row) => ({ ...inputOf(declared, row.object), disabled }),
        disabled ? "disabled" : "enabled",
        done,
      ),
    undo: (row: Row) => unstage.mutate({ kind: kind as Kind, id: row.object.id }),
  };
}

// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { queuesByIdQuery } from "@/api/queries";
import type { Change, Queue } from "@/api/types";

const parentOf = (change: Change): string | null =>
  (change.new?.["parent"] as string | null | undefined) ?? null;

/** Of a queue that is new or moves: what is stored of it does not say where it will stand. */
const isElsewhere = (change: Change): boolean =>
  change.new !== null && parentOf(change) !== ((change.old?.["parent"] as string | null | undefined) ?? null);

type Path = Queue["path"];

/** What is staged holds its parent's id; people know the name. */
export function withPaths(
  staged: ReadonlyMap<string, Change>,
  stored: readonly Queue[],
): ReadonlyMap<string, Change> {
  const byId = new Map(stored.map((queue) => [queue.id, queue]));
  const pathTo = (id: string): Path => {
    const queue = byId.get(id);
    const name = (staged.get(id)?.new?.["name"] as string | undefined) ?? queue?.name ?? id;
    return [...(queue?.path ?? []), { id, name }];
  };
  const placed = ([id, change]: [string, Change]): [string, Change] => {
    const parent = parentOf(change);
    return isElsewhere(change)
      ? [id, { ...change, new: { ...change.new, path: parent === null ? [] : pathTo(parent) } }]
      : [id, change];
  };
  return new Map([...staged].map(placed));
}

/** The staged changes with the paths of those that will stand elsewhere; their parents may be on no page that was fetched. */
export function usePlaced(staged: ReadonlyMap<string, Change>): ReadonlyMap<string, Change> {
  const ids = useMemo(
    () =>
      [
        ...new Set([...staged.values()].filter(isElsewhere).flatMap((change) => parentOf(change) ?? [])),
      ].sort(),
    [staged],
  );
  const stored = useQuery({ ...queuesByIdQuery(ids), enabled: ids.length > 0 }).data;
  return useMemo(() => withPaths(staged, stored ?? []), [staged, stored]);
}

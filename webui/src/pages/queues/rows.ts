// SPDX-License-Identifier: Apache-2.0
import { useQueries } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { childrenQuery, QUEUE_PAGE, queueWindowQuery, type QueueFilter } from "@/api/queries";
import type { Change, Queue } from "@/api/types";

/** One line of the table: the queue as it will be, where it stands, and what is pending of it. */
export interface QueueRow {
  queue: Queue;
  depth: number;
  /** null: nothing to unfold. */
  expanded: boolean | null;
  staged: Change["action"] | null;
  /** The version that an edit of the row is made on. */
  base?: string;
  /** What runs, where a change of it is staged. */
  before?: Queue;
}

export interface Rows {
  count: number;
  total: number | null;
  get: (index: number) => QueueRow | undefined;
  onRange: (first: number, last: number) => void;
  error: unknown;
  loading: boolean;
  stale: boolean;
}

const NOTHING = { upload: 0, download: 0 };

/** A staged queue as a row; what the API adds to a stored queue is empty. */
function stagedQueue(change: Change, base: Queue | undefined): Queue {
  const fresh: Queue = {
    id: change.id,
    name: change.name,
    target: [],
    dst: null,
    parent: null,
    position: 0,
    max_limit_bps: NOTHING,
    limit_at_bps: NOTHING,
    burst_limit_bps: NOTHING,
    burst_threshold_bps: NOTHING,
    burst_time_ms: NOTHING,
    priority: { upload: 8, download: 8 },
    queue_type: { upload: "default-small", download: "default-small" },
    bucket_size_ms: { upload: 100, download: 100 },
    time: null,
    total: {
      max_limit_bps: 0,
      limit_at_bps: 0,
      burst_limit_bps: 0,
      burst_threshold_bps: 0,
      burst_time_ms: 0,
      priority: 8,
      queue_type: "default-small",
      bucket_size_ms: 100,
    },
    comment: "",
    disabled: false,
    etag: "",
    path: [],
    child_count: 0,
    enforcement: [],
    warnings: [],
  };
  return { ...(base ?? fresh), ...(change.new as Partial<Queue> | null) };
}

export function withStaged(
  queue: Queue,
  staged: ReadonlyMap<string, Change>,
): Pick<QueueRow, "queue" | "staged" | "before" | "base"> {
  const change = staged.get(queue.id);
  if (!change) return { queue, staged: null, base: queue.etag };
  return {
    queue: change.action === "remove" ? queue : stagedQueue(change, queue),
    staged: change.action,
    before: queue,
    base: change.etag,
  };
}

const addedRows = (staged: ReadonlyMap<string, Change>): QueueRow[] =>
  [...staged.values()]
    .filter((change) => change.action === "add")
    .map((change) => ({
      queue: stagedQueue(change, undefined),
      depth: 0,
      expanded: null,
      staged: "add" as const,
      base: change.etag,
    }));

interface Kept {
  stamp: string;
  total: number;
  pages: ReadonlyMap<number, Queue[]>;
}
const NONE_KEPT: Kept = { stamp: "", total: 0, pages: new Map() };

const isLiveSort = (sort: string | undefined): boolean => /rate|drops/.test(sort ?? "");
const LIVE_SORT_MS = 4_000;

/** The flat list: only the windows on the screen are fetched, so that 100,000 rows scroll like 100. */
export function useFlatRows(
  filter: QueueFilter,
  staged: ReadonlyMap<string, Change>,
  hold: boolean,
  enabled: boolean,
): Rows {
  const added = useMemo(() => addedRows(staged), [staged]);
  const offset =
    filter.q || filter.parent !== undefined || filter.warnings || filter.disabled !== undefined
      ? 0
      : added.length;
  const [{ from, to }, setRange] = useState({ from: 0, to: 0 });
  const windows = useMemo(
    () => Array.from({ length: to - from + 1 }, (_, index) => from + index),
    [from, to],
  );
  const interval = isLiveSort(filter.sort) && !hold ? LIVE_SORT_MS : false;
  const results = useQueries({
    queries: windows.map((window) => ({
      ...queueWindowQuery(filter, window),
      enabled,
      refetchInterval: interval,
    })),
  });
  const [kept, setKept] = useState<Kept>(NONE_KEPT);
  const fresh = results.find((result) => result.data)?.data;
  const stamp = results.map((result, index) => `${windows[index] ?? ""}:${result.dataUpdatedAt}`).join();
  // The rows of the last search stay, dimmed, until the first of the next one are here.
  if (fresh && kept.stamp !== stamp) {
    setKept({
      stamp,
      total: fresh.total,
      pages: new Map(
        results.flatMap((result, index) =>
          result.data ? [[windows[index] ?? 0, result.data.items] as const] : [],
        ),
      ),
    });
  }
  const get = useCallback(
    (index: number): QueueRow | undefined => {
      if (index < offset) return added[index];
      const at = index - offset;
      const queue = kept.pages.get(Math.floor(at / QUEUE_PAGE))?.[at % QUEUE_PAGE];
      return queue && { ...withStaged(queue, staged), depth: 0, expanded: null };
    },
    [added, offset, kept, staged],
  );
  // Only another window is news: the page is not rendered for every row that is scrolled by.
  const onRange = useCallback(
    (first: number, last: number) => {
      const windowOf = (index: number): number => Math.max(0, Math.floor((index - offset) / QUEUE_PAGE));
      setRange((before) =>
        before.from === windowOf(first) && before.to === windowOf(last)
          ? before
          : { from: windowOf(first), to: windowOf(last) },
      );
    },
    [offset],
  );
  return {
    count: kept.total + offset,
    total: kept.total,
    get,
    onRange,
    error: results.find((result) => result.isError)?.error,
    loading: !fresh && kept.pages.size === 0,
    stale: !fresh && kept.pages.size > 0,
  };
}

/** What is new, by the queue that it will stand below. */
function addedBelow(staged: ReadonlyMap<string, Change>): ReadonlyMap<string, QueueRow[]> {
  const below = new Map<string, QueueRow[]>();
  for (const row of addedRows(staged)) {
    const parent = row.queue.parent ?? "none";
    below.set(parent, [...(below.get(parent) ?? []), row]);
  }
  return below;
}

/**
 * The tree as lines. What is staged as new stands below its parent, also while that is folded: a change that is not
 * in force yet is seen. Only where the parent itself is out of sight does it stand on top, as new roots do.
 */
export function treeRows(
  children: ReadonlyMap<string, readonly Queue[] | undefined>,
  expanded: ReadonlySet<string>,
  staged: ReadonlyMap<string, Change>,
): QueueRow[] {
  const below = addedBelow(staged);
  const placed = new Set<string>();
  const add = (list: QueueRow[], rows: readonly QueueRow[], depth: number) => {
    for (const row of rows) {
      if (placed.has(row.queue.id)) continue;
      placed.add(row.queue.id);
      list.push({ ...row, depth });
      add(list, below.get(row.queue.id) ?? [], depth + 1);
    }
  };
  const stored: QueueRow[] = [];
  const walk = (parent: string, depth: number) => {
    for (const queue of children.get(parent) ?? []) {
      const open = queue.child_count > 0 ? expanded.has(queue.id) : null;
      stored.push({ ...withStaged(queue, staged), depth, expanded: open });
      if (open) walk(queue.id, depth + 1);
      add(stored, below.get(queue.id) ?? [], depth + 1);
    }
  };
  walk("none", 0);
  const top: QueueRow[] = [];
  const fresh = [...below.values()].flat();
  const isNew = new Set(fresh.map((row) => row.queue.id));
  add(
    top,
    fresh.filter((row) => !isNew.has(row.queue.parent ?? "none")),
    0,
  );
  add(top, fresh, 0);
  return [...top, ...stored];
}

/** The tree: roots, and the children of whatever is unfolded. */
export function useTreeRows(
  expanded: ReadonlySet<string>,
  staged: ReadonlyMap<string, Change>,
  enabled: boolean,
): Rows {
  const ids = ["none", ...expanded];
  const results = useQueries({ queries: ids.map((id) => ({ ...childrenQuery(id), enabled })) });
  const stamps = results.map((result) => result.dataUpdatedAt).join(",");
  // The stamps stand for the results, which are new objects at each render.
  const rows = useMemo(
    () => treeRows(new Map(ids.map((id, index) => [id, results[index]?.data])), expanded, staged),
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [stamps, expanded, staged],
  );
  const onRange = useCallback(() => undefined, []);
  const get = useCallback((index: number) => rows[index], [rows]);
  return {
    count: rows.length,
    total: null,
    get,
    onRange,
    error: results.find((result) => result.isError)?.error,
    loading: results[0]?.data === undefined,
    stale: false,
  };
}

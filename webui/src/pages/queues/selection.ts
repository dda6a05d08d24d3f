// SPDX-License-Identifier: Apache-2.0
import { useCallback, useMemo, useRef, useState } from "react";
import { api, need } from "@/api/client";
import { asProblem } from "@/api/problem";
import type { QueueFilter } from "@/api/queries";
import type { Queue } from "@/api/types";
import { say } from "@/ui/toast";
import type { Rows } from "./rows";

export interface Selection {
  count: number;
  queues: readonly Queue[];
  has: (id: string) => boolean;
  toggle: (queue: Queue) => void;
  toggleAll: () => void;
  /** All that match, whatever is selected now. */
  takeAll: () => void;
  /** The rows from one to the other, in either order, and nothing else. */
  takeRange: (from: number, to: number) => void;
  all: boolean;
}

const MOST_SELECTED = 10_000;

/** Queues that match, page by page, from one row of the list on, up to what one edit may stage. `total`: how many match. */
async function fetchMatching(
  filter: QueueFilter,
  offset = 0,
  most = MOST_SELECTED,
): Promise<{ queues: Queue[]; total: number }> {
  const queues: Queue[] = [];
  let total = 0;
  while (queues.length < most) {
    const page = await need(
      api.GET("/api/v1/queues", {
        params: {
          query: { ...filter, offset: offset + queues.length, limit: Math.min(1000, most - queues.length) },
        },
      }),
    );
    queues.push(...page.items);
    total = page.total;
    if (page.items.length === 0 || offset + queues.length >= total) break;
  }
  return { queues, total };
}

/** The rows of a range; what was never on the screen is asked for. */
async function fetchRange(rows: Rows, filter: QueueFilter, from: number, to: number): Promise<Queue[]> {
  const found = Array.from({ length: to - from + 1 }, (_, index) => rows.get(from + index)?.queue);
  if (found.every((queue) => queue !== undefined)) return found;
  // What is staged as new stands before the list.
  const added = rows.count - (rows.total ?? rows.count);
  const first = Math.max(from, added);
  const { queues } = await fetchMatching(filter, first - added, to - first + 1);
  return [...found.slice(0, first - from).filter((queue) => queue !== undefined), ...queues];
}

export function useSelection(
  filter: QueueFilter,
  rows: Rows,
): Selection & { clear: () => void; matching: number | null } {
  const [chosen, setChosen] = useState<ReadonlyMap<string, Queue>>(new Map());
  // How many matched when "select all" could not take them all.
  const [matching, setMatching] = useState<number | null>(null);
  const asked = useRef(0);
  const put = (queues: readonly Queue[], total: number) => {
    setChosen(new Map(queues.map((queue) => [queue.id, queue])));
    setMatching(total > queues.length ? total : null);
  };
  const clear = useCallback(() => {
    setChosen(new Map());
    setMatching(null);
  }, []);
  const toggle = useCallback((queue: Queue) => {
    setChosen((before) => {
      const next = new Map(before);
      if (!next.delete(queue.id)) next.set(queue.id, queue);
      return next;
    });
  }, []);
  const has = useCallback((id: string) => chosen.has(id), [chosen]);
  // The answer to an older question does not replace that to a newer one.
  const take = (answer: Promise<{ queues: readonly Queue[]; total: number }>) => {
    const mine = ++asked.current;
    answer.then(
      ({ queues, total }) => {
        if (mine === asked.current) put(queues, total);
      },
      (error: unknown) => say("error", asProblem(error).message),
    );
  };
  const takeAll = () => take(fetchMatching(filter));
  const takeRange = (from: number, to: number) => {
    const [first, last] = [Math.min(from, to), Math.max(from, to)];
    const end = Math.min(last, first + MOST_SELECTED - 1);
    take(
      fetchRange(rows, filter, first, end).then((queues) => ({
        queues,
        total: end < last ? last - first + 1 : queues.length,
      })),
    );
  };
  const toggleAll = () => {
    if (chosen.size > 0) clear();
    else takeAll();
  };
  const all = chosen.size > 0 && chosen.size >= rows.count;
  return {
    count: chosen.size,
    has,
    toggle,
    toggleAll,
    takeAll,
    takeRange,
    all,
    clear,
    matching,
    queues: useMemo(() => [...chosen.values()], [chosen]),
  };
}

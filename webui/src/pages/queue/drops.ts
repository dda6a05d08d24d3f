// SPDX-License-Identifier: Apache-2.0
import type { QueueHistory } from "@/api/types";

/** Packets dropped over a history, and the share of each reason. */
export interface Drops {
  packets: number;
  early: number;
  ancestor: number;
  limit: number;
}

const total = (values: readonly (number | null)[]): number => values.reduce<number>((sum, value) => sum + (value ?? 0), 0);

export function dropsOf(history: QueueHistory): Drops {
  const both = (pick: (way: QueueHistory["upload"]) => readonly (number | null)[]) => total(pick(history.upload)) + total(pick(history.download));
  const all = both((way) => way.drops_ps);
  const share = (part: number) => (all > 0 ? part / all : 0);
  const early = share(both((way) => way.early_drops_ps));
  const ancestor = share(both((way) => way.ancestor_drops_ps));
  return { packets: all * history.step_s, early, ancestor, limit: Math.max(0, 1 - early - ancestor) };
}

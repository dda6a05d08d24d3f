// SPDX-License-Identifier: Apache-2.0
import type { QueueHistory } from "@/api/types";

/** Packets dropped over a history, and the share of each reason. */
export interface Drops {
  packets: number;
  early: number;
  ancestor: number;
  limit: number;
  /** How much of the time was measured, and how much was not, in seconds. */
  measuredS: number;
  missingS: number;
  /** When the last measurement ended, in Unix seconds; null: there is none. */
  untilS: number | null;
}

const total = (values: readonly (number | null)[]): number =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0);

export function dropsOf(history: QueueHistory): Drops {
  const both = (pick: (way: QueueHistory["upload"]) => readonly (number | null)[]) =>
    total(pick(history.upload)) + total(pick(history.download));
  const all = both((way) => way.drops_ps);
  const share = (part: number) => (all > 0 ? part / all : 0);
  const early = share(both((way) => way.early_drops_ps));
  const ancestor = share(both((way) => way.ancestor_drops_ps));
  const isMeasured = history.upload.drops_ps.map(
    (value, index) => value !== null || (history.download.drops_ps[index] ?? null) !== null,
  );
  const measured = isMeasured.filter(Boolean).length;
  const last = isMeasured.lastIndexOf(true);
  return {
    packets: all * history.step_s,
    early,
    ancestor,
    limit: Math.max(0, 1 - early - ancestor),
    measuredS: measured * history.step_s,
    missingS: (isMeasured.length - measured) * history.step_s,
    untilS: last < 0 ? null : history.start + (last + 1) * history.step_s,
  };
}

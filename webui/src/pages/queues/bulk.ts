// SPDX-License-Identifier: Apache-2.0
import type { ChangeInput, Pair, Queue } from "@/api/types";
import { queueInput } from "@/api/writes";

/** One edit for many queues; each field that is null is left alone. */
export interface BulkEdit {
  /** Multiplies limits (and bursts and guarantees, so that they keep their proportion). */
  factor: number | null;
  limits: Partial<Pair<number>> | null;
  parent: { id: string | null } | null;
  queueType: string | null;
  disabled: boolean | null;
}

export const NO_EDIT: BulkEdit = {
  factor: null,
  limits: null,
  parent: null,
  queueType: null,
  disabled: null,
};

const STEP_BPS = 1_000;

/** Rounded to whole kbit/s, and never down to 0, which would mean "unlimited". */
export function scaledRate(rateBps: number, factor: number): number {
  if (rateBps === 0) return 0;
  return rateBps < STEP_BPS * 10
    ? Math.max(1, Math.round(rateBps * factor))
    : Math.max(STEP_BPS, Math.round((rateBps * factor) / STEP_BPS) * STEP_BPS);
}

const scaledPair = (pair: Pair<number>, factor: number): Pair<number> => ({
  upload: scaledRate(pair.upload, factor),
  download: scaledRate(pair.download, factor),
});

export function bulkChanges(queues: readonly Queue[], edit: BulkEdit): ChangeInput[] {
  return queues.map((queue) => {
    const next = queueInput(queue);
    if (edit.factor !== null) {
      next.max_limit_bps = scaledPair(queue.max_limit_bps, edit.factor);
      next.limit_at_bps = scaledPair(queue.limit_at_bps, edit.factor);
      next.burst_limit_bps = scaledPair(queue.burst_limit_bps, edit.factor);
      next.burst_threshold_bps = scaledPair(queue.burst_threshold_bps, edit.factor);
    }
    if (edit.limits) next.max_limit_bps = { ...queue.max_limit_bps, ...edit.limits };
    if (edit.parent && edit.parent.id !== queue.id) next.parent = edit.parent.id;
    if (edit.queueType !== null) next.queue_type = { upload: edit.queueType, download: edit.queueType };
    if (edit.disabled !== null) next.disabled = edit.disabled;
    return { kind: "queue", id: queue.id, new: { ...next } };
  });
}

// SPDX-License-Identifier: Apache-2.0
/** What a queue and those above it carry now of their limits. It does not judge: `weir.diagnosis.line` does. */
import type { Pair, QueueStats } from "@/api/types";
import { exactRate, shortRate } from "@/ui/rates";

const DIRECTIONS = ["upload", "download"] as const;
const ARROW = { upload: "↑", download: "↓" } as const;

export interface Measured {
  name: string;
  limits: Pair<number>;
  stats: QueueStats | null;
}

const ratesOf = (rates: Pair<number>, limits: Pair<number>): string =>
  DIRECTIONS.map((direction) => {
    const limit = limits[direction] > 0 ? ` of ${exactRate(limits[direction])}` : "";
    return `${ARROW[direction]} ${shortRate(rates[direction])}${limit}`;
  }).join(", ");

/** `above`: the queue's ancestors. What was not measured is not spoken of. */
export function usedText({ limits, stats }: Measured, above: readonly Measured[]): string {
  if (!stats) return "Not known yet: nothing of this queue was measured.";
  if (!stats.live) return "Not known: the router measures nothing of this queue now.";
  const others = above.flatMap((item) =>
    item.stats?.live ? [`${item.name} above it: ${ratesOf(item.stats.rate_bps, item.limits)}`] : [],
  );
  return `${[ratesOf(stats.rate_bps, limits), ...others].join("; ")}.`;
}

// SPDX-License-Identifier: Apache-2.0
/** What to tell the customer on the phone, in one sentence, from what was measured last. */
import type { Pair, QueueStats } from "@/api/types";
import { perSecond } from "@/table/LiveCell";
import { NEAR_LIMIT } from "@/table/RateBar";
import { delayText, percentText } from "@/ui/format";
import { exactRate, shortRate } from "@/ui/rates";

const DIRECTIONS = ["upload", "download"] as const;
const ARROW = { upload: "↑", download: "↓" } as const;

export interface Measured {
  name: string;
  limits: Pair<number>;
  stats: QueueStats | null;
}

export interface Verdict {
  tone: "ok" | "warn" | "bad" | "dim";
  text: string;
}

interface Near {
  name: string;
  share: number;
  text: string;
}

/** The fullest direction of those that have a limit and are near it. */
function nearLimit({ name, limits, stats }: Measured): Near | null {
  if (!stats?.live) return null;
  const found = DIRECTIONS.filter((direction) => limits[direction] > 0).map((direction): Near => {
    const share = stats.rate_bps[direction] / limits[direction];
    const used = `${shortRate(stats.rate_bps[direction])} of ${exactRate(limits[direction])}`;
    return { name, share, text: `${ARROW[direction]} ${used}` };
  });
  const [fullest] = found.filter((item) => item.share >= NEAR_LIMIT).sort((a, b) => b.share - a.share);
  return fullest ?? null;
}

/** The share of its limit that the fullest of the queues has; null where none has a limit or a figure. */
function fullestOf(queues: readonly Measured[]): { name: string; share: number } | null {
  const shares = queues.flatMap(({ name, limits, stats }) =>
    DIRECTIONS.filter((direction) => limits[direction] > 0 && stats?.live).map((direction) => ({
      name,
      share: (stats?.rate_bps[direction] ?? 0) / limits[direction],
    })),
  );
  return shares.sort((a, b) => b.share - a.share)[0] ?? null;
}

const used = ({ limits, stats }: Measured): string =>
  DIRECTIONS.map((direction) => {
    const rate = shortRate(stats?.rate_bps[direction] ?? 0);
    return `${ARROW[direction]} ${rate}${limits[direction] > 0 ? ` of ${exactRate(limits[direction])}` : ""}`;
  }).join(", ");

/** `above`: the queue's ancestors. What was not measured is not spoken of. */
export function verdictOf(queue: Measured, above: readonly Measured[]): Verdict {
  const { stats } = queue;
  if (!stats) return { tone: "dim", text: "Not known yet: nothing of this queue was measured." };
  if (!stats.live) return { tone: "dim", text: "Not known: the router measures nothing of this queue now." };
  const [full] = above.flatMap((item) => nearLimit(item) ?? []);
  if (full)
    return {
      tone: "warn",
      text: `It is not this line: ${full.name} above it is nearly full, ${full.text}.`,
    };
  const own = nearLimit(queue);
  if (own) return { tone: "warn", text: `The line is used to its limit: ${own.text}.` };
  const drops = stats.drops_ps.upload + stats.drops_ps.download;
  if (drops > 0)
    return { tone: "bad", text: `The line loses ${perSecond(drops)} packets/s: ${used(queue)}.` };
  const delay = stats.delay_us ? Math.max(stats.delay_us.upload, stats.delay_us.download) : null;
  const fullest = fullestOf(above);
  const more = [
    fullest ? `${fullest.name} at ${percentText(fullest.share)}` : "",
    delay === null ? "" : `${delayText(delay)} in the queue`,
  ].filter(Boolean);
  return { tone: "ok", text: `The line has room: ${[used(queue), ...more].join("; ")}.` };
}

// SPDX-License-Identifier: Apache-2.0
/** What to tell the customer on the phone, in one sentence, from what was measured last. */
import type { Pair, QueueStats } from "@/api/types";
import { perSecond } from "@/table/LiveCell";
import { NEAR_LIMIT } from "@/table/RateBar";
import { delayText, percentText } from "@/ui/format";
import { exactRate, shortRate } from "@/ui/rates";

const DIRECTIONS = ["upload", "download"] as const;
const ARROW = { upload: "↑", download: "↓" } as const;

/** The interval of CoDel (RFC 8289): packets that wait longer stand in a queue, and calls and games suffer. */
const LONG_WAIT_US = 100_000;

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

const lossOf = ({ stats }: Measured): number =>
  stats?.live ? stats.drops_ps.upload + stats.drops_ps.download : 0;

const waitOf = (stats: QueueStats): number | null =>
  stats.delay_us ? Math.max(stats.delay_us.upload, stats.delay_us.download) : null;

/** What the customer feels on this line: lost packets, and packets that wait long. */
function felt(queue: Measured, stats: QueueStats): { loss: string; wait: string } {
  const [loss, wait] = [lossOf(queue), waitOf(stats)];
  return {
    loss: loss > 0 ? `loses ${perSecond(loss)} packets/s` : "",
    wait: wait !== null && wait >= LONG_WAIT_US ? `delays packets by ${delayText(wait)}` : "",
  };
}

/** What fills up: an ancestor before the line itself. */
function fullText(queue: Measured, above: readonly Measured[]): string | null {
  const [full] = above.flatMap((item) => nearLimit(item) ?? []);
  if (full) return `It is not this line: ${full.name} above it is nearly full, ${full.text}`;
  const own = nearLimit(queue);
  return own ? `The line is used to its limit: ${own.text}` : null;
}

function roomText(queue: Measured, stats: QueueStats, above: readonly Measured[]): string {
  const fullest = fullestOf(above);
  const wait = waitOf(stats);
  const more = [
    fullest ? `${fullest.name} at ${percentText(fullest.share)}` : "",
    wait === null ? "" : `${delayText(wait)} in the queue`,
  ].filter(Boolean);
  return [used(queue), ...more].join("; ");
}

/** `above`: the queue's ancestors. What was not measured is not spoken of. */
export function verdictOf(queue: Measured, above: readonly Measured[]): Verdict {
  const { stats } = queue;
  if (!stats) return { tone: "dim", text: "Not known yet: nothing of this queue was measured." };
  if (!stats.live) return { tone: "dim", text: "Not known: the router measures nothing of this queue now." };
  const { loss, wait } = felt(queue, stats);
  const troubles = [loss, wait].filter(Boolean).join(" and ");
  const full = fullText(queue, above);
  // A line that is used to its limit loses packets: that is how a limit works. A long wait is not.
  if (full)
    return {
      tone: wait ? "bad" : "warn",
      text: troubles ? `${full}. This line ${troubles}.` : `${full}.`,
    };
  if (troubles) return { tone: "bad", text: `The line ${troubles}: ${used(queue)}.` };
  // An ancestor's figures are the sum of all below it, and this line loses nothing.
  const losing = above.find((item) => lossOf(item) > 0);
  if (losing)
    return {
      tone: "warn",
      text: `This line loses nothing; ${losing.name} above it loses ${perSecond(lossOf(losing))} packets/s on other lines: ${roomText(queue, stats, above)}.`,
    };
  return { tone: "ok", text: `The line has room: ${roomText(queue, stats, above)}.` };
}

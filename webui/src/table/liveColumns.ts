// SPDX-License-Identifier: Apache-2.0
/** What is told of a queue's measurements, column by column; in the page and in the worker that draws. */
import type { Pair, QueueStats } from "@/api/types";
import { delayText, percentText } from "@/ui/format";
import { shortRate } from "@/ui/rates";
import type { Level, Shown } from "./orders";

export type Direction = "upload" | "download";

/** From this share of its limit on, a queue is near it. */
export const NEAR_LIMIT = 0.9;

/** Using what one pays for is no trouble: the hue of the direction, and amber near the limit. */
export const levelOf = (ratio: number, direction: Direction | "plain"): Level =>
  ratio >= NEAR_LIMIT ? "warn" : ratio > 0 ? direction : "none";

export type LiveText = (stats: QueueStats) => string;
/** Why there is no value, or nothing; null where there is nothing to say. */
export type LiveReason = (stats: QueueStats) => string | null;

/** A figure that has no value: the reason stands beside it. */
export const ABSENT = "—";

/** What is nothing is printed paler, so that the rest is found at a glance. */
const NOTHING = /^(0( %| B)?( \/ 0( B)?)?|–|—)$/;
export const isNothing = (shown: string): boolean => NOTHING.test(shown);

/** What who does not see is told: the value, if there is one, and why. */
export const reasonedName = (shown: string, reason: string | null): string =>
  reason === null ? shown : `${shown === ABSENT ? "no value" : shown}: ${reason}`;

export const perSecond = (value: number): string =>
  value === 0 ? "0" : value < 10 ? value.toFixed(1) : String(Math.round(value));

const longer = (us: QueueStats["delay_us"]): string =>
  us ? delayText(Math.max(us.upload, us.download)) : ABSENT;

export const delayOf: LiveText = (stats) => longer(stats.delay_us);
export const worstDelayOf: LiveText = (stats) => longer(stats.worst_delay_us);
export const delayReason: LiveReason = (stats) => stats.delay_reason;
export const dropsOf: LiveText = (stats) =>
  stats.live ? perSecond(stats.drops_ps.upload + stats.drops_ps.download) : "–";
export const fastShareOf: LiveText = (stats) =>
  stats.fast_share === null ? ABSENT : percentText(stats.fast_share);
export const fastShareReason: LiveReason = (stats) => stats.fast_share_reason;
/** Whether the queue loses packets now. */
export const isLosing = (stats: QueueStats): boolean =>
  stats.live && stats.drops_ps.upload + stats.drops_ps.download > 0;

/** A column of measurements: a rate as a bar against its limit, or a text. */
export type LiveColumn =
  { rate: Direction } | { text: LiveText; why?: LiveReason; isLoss?: (stats: QueueStats) => boolean };

/** What a live cell says of a measurement. */
export function shownOf(column: LiveColumn, stats: QueueStats | null, limitBps: Pair<number>): Shown {
  if ("text" in column) {
    const text = stats ? column.text(stats) : "–";
    return {
      text,
      nothing: isNothing(text),
      fill: null,
      level: "none",
      ...(stats && column.isLoss?.(stats) ? { loss: true } : {}),
    };
  }
  const rateBps = stats?.live ? stats.rate_bps[column.rate] : null;
  const limit = limitBps[column.rate];
  const fill = rateBps !== null && limit > 0 ? Math.min(1, rateBps / limit) : 0;
  return {
    text: rateBps === null ? "–" : shortRate(rateBps),
    nothing: false,
    fill,
    level: levelOf(fill, column.rate),
  };
}

export const LIVE_COLUMNS = {
  rate_upload: { rate: "upload" },
  rate_download: { rate: "download" },
  delay: { text: delayOf, why: delayReason },
  worst: { text: worstDelayOf, why: delayReason },
  drops: { text: dropsOf, isLoss: isLosing },
  fast: { text: fastShareOf, why: fastShareReason },
} as const satisfies Record<string, LiveColumn>;
export type LiveColumnId = keyof typeof LIVE_COLUMNS;

export const reasonOf = (column: LiveColumn, stats: QueueStats | null): string | null =>
  "why" in column && stats ? (column.why?.(stats) ?? null) : null;

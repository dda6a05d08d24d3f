// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect, useRef } from "react";
import { live } from "@/api/live";
import type { QueueStats } from "@/api/types";
import { delayText, percentText } from "@/ui/format";
import { RateBar, type Direction } from "./RateBar";

/** A queue's live rate against its limit; for a queue that is only staged there is nothing to show. */
export function LiveRate({
  queueId,
  direction,
  limitBps,
}: {
  queueId: string;
  direction: Direction;
  limitBps: number;
}) {
  const subscribe = useCallback(
    (listener: (rateBps: number | null) => void) =>
      live.watch(queueId, (stats) => listener(stats?.live ? stats.rate_bps[direction] : null)),
    [queueId, direction],
  );
  return <RateBar direction={direction} limitBps={limitBps} subscribe={subscribe} />;
}

export type LiveText = (stats: QueueStats) => string;
/** Why there is no value, or nothing; null where there is nothing to say. */
export type LiveReason = (stats: QueueStats) => string | null;

/** A figure that has no value: the reason stands beside it. */
export const ABSENT = "—";

/** What is nothing is printed paler, so that the rest is found at a glance. */
const NOTHING = /^(0( %| B)?( \/ 0( B)?)?|–|—)$/;
export const isNothing = (shown: string): boolean => NOTHING.test(shown);

/** Touches the document only where something changed: hundreds of cells are written each second. */
function write(cell: HTMLElement, shown: string): void {
  const text = cell.firstChild;
  if (!text || text.nodeValue === shown) return;
  text.nodeValue = shown;
  const zero = String(isNothing(shown));
  if (cell.dataset["zero"] !== zero) cell.dataset["zero"] = zero;
}

/** The reason as the cell's name and under the pointer. */
export function explain(cell: HTMLElement, shown: string, reason: string | null): void {
  const name = reason === null ? null : reasonedName(shown, reason);
  if (cell.getAttribute("aria-label") === name) return;
  if (name === null || reason === null) {
    for (const attribute of ["title", "aria-label", "role"]) cell.removeAttribute(attribute);
    return;
  }
  cell.title = reason;
  cell.setAttribute("role", "note");
  cell.setAttribute("aria-label", name);
}

/** What who does not see is told: the value, if there is one, and why. */
export const reasonedName = (shown: string, reason: string | null): string =>
  reason === null ? shown : `${shown === ABSENT ? "no value" : shown}: ${reason}`;

/** Writes text of the latest measurement straight into its cell. */
export function LiveValue({
  queueId,
  text,
  why,
}: {
  queueId: string;
  text: LiveText;
  why?: LiveReason | undefined;
}) {
  const cell = useRef<HTMLSpanElement>(null);
  useEffect(
    () =>
      live.watch(queueId, (stats) => {
        const shown = stats ? text(stats) : "–";
        if (!cell.current) return;
        write(cell.current, shown);
        if (why) explain(cell.current, shown, stats ? why(stats) : null);
      }),
    [queueId, text, why],
  );
  return (
    <span ref={cell} data-zero="true" data-live>
      –
    </span>
  );
}

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

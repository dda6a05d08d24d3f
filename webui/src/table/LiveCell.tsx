// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect, useRef } from "react";
import { live } from "@/api/live";
import type { QueueStats } from "@/api/types";
import { delayText, percentText } from "@/ui/format";
import { RateBar, type Direction } from "./RateBar";

/** A queue's live rate against its limit; for a queue that is only staged there is nothing to show. */
export function LiveRate({ queueId, direction, limitBps }: { queueId: string; direction: Direction; limitBps: number }) {
  const subscribe = useCallback(
    (listener: (rateBps: number | null) => void) => live.watch(queueId, (stats) => listener(stats?.live ? stats.rate_bps[direction] : null)),
    [queueId, direction],
  );
  return <RateBar direction={direction} limitBps={limitBps} subscribe={subscribe} />;
}

export type LiveText = (stats: QueueStats) => string;

/** What is nothing is printed paler, so that the rest is found at a glance. */
const NOTHING = /^(0( %| B)?( \/ 0( B)?)?|–)$/;
export const isNothing = (shown: string): boolean => NOTHING.test(shown);

/** Touches the document only where something changed: hundreds of cells are written each second. */
function write(cell: HTMLElement, shown: string): void {
  const text = cell.firstChild;
  if (!text || text.nodeValue === shown) return;
  text.nodeValue = shown;
  const zero = String(isNothing(shown));
  if (cell.dataset["zero"] !== zero) cell.dataset["zero"] = zero;
}

/** Writes text of the latest measurement straight into its cell. */
export function LiveValue({ queueId, text }: { queueId: string; text: LiveText }) {
  const cell = useRef<HTMLSpanElement>(null);
  useEffect(
    () =>
      live.watch(queueId, (stats) => {
        const shown = stats ? text(stats) : "–";
        if (cell.current) write(cell.current, shown);
      }),
    [queueId, text],
  );
  return (
    <span ref={cell} data-zero="true" data-live>
      –
    </span>
  );
}

export const perSecond = (value: number): string => (value === 0 ? "0" : value < 10 ? value.toFixed(1) : String(Math.round(value)));

export const delayOf: LiveText = (stats) => (stats.delay_us ? delayText(Math.max(stats.delay_us.upload, stats.delay_us.download)) : "–");
export const worstDelayOf: LiveText = (stats) => (stats.worst_delay_us ? delayText(Math.max(stats.worst_delay_us.upload, stats.worst_delay_us.download)) : "–");
export const dropsOf: LiveText = (stats) => (stats.live ? perSecond(stats.drops_ps.upload + stats.drops_ps.download) : "–");
export const fastShareOf: LiveText = (stats) => (stats.fast_share === null ? "–" : percentText(stats.fast_share));

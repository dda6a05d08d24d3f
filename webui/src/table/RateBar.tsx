// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef } from "react";
import { shortRate } from "@/ui/rates";
import { levelOf, type Direction } from "./liveColumns";
import classes from "./RateBar.module.css";

/** The fill is a background, not an element: a transform for each bar would make the browser compute the layers of the page each second. */
const filledBy = (ratio: number): string => `${(ratio * 100).toFixed(1)}% 100%`;

/** Writes one measurement into a bar without going through React: 200 bars change every second. */
export function paintBar(
  bar: HTMLElement,
  direction: Direction,
  rateBps: number | null,
  limitBps: number,
): void {
  const ratio = rateBps !== null && limitBps > 0 ? Math.min(1, rateBps / limitBps) : 0;
  const text = rateBps === null ? "–" : shortRate(rateBps);
  const words = bar.firstChild;
  if (words && words.nodeValue !== text) words.nodeValue = text;
  const filled = filledBy(ratio);
  if (bar.style.backgroundSize !== filled) bar.style.backgroundSize = filled;
  const level = levelOf(ratio, direction);
  if (bar.dataset["level"] !== level) bar.dataset["level"] = level;
}

/** `62 % of 20Mbit/s`, or nothing where there is no limit. */
export const shareText = (rateBps: number | null, limitBps: number): string =>
  limitBps > 0 && rateBps !== null
    ? `${Math.round((rateBps / limitBps) * 100)} % of ${shortRate(limitBps)}bit/s`
    : "";

export type Subscribe = (listener: (rateBps: number | null) => void) => () => void;

interface RateBarProps {
  direction: Direction;
  limitBps: number;
  /** Calls the listener at once with the last known rate and again with every new one. */
  subscribe: Subscribe;
}

export function RateBar({ direction, limitBps, subscribe }: RateBarProps) {
  const bar = useRef<HTMLDivElement>(null);
  const last = useRef<number | null>(null);
  useEffect(
    () =>
      subscribe((rateBps) => {
        last.current = rateBps;
        if (bar.current) paintBar(bar.current, direction, rateBps, limitBps);
      }),
    [subscribe, direction, limitBps],
  );
  return (
    <div
      ref={bar}
      className={classes.bar}
      data-direction={direction}
      data-testid={`rate-${direction}`}
      onPointerEnter={(event) => (event.currentTarget.title = shareText(last.current, limitBps))}
    >
      –
    </div>
  );
}

/** The same bar for a number that React already holds. */
export function StaticBar({
  direction = "plain",
  rateBps,
  limitBps,
  label,
}: {
  direction?: Direction | "plain";
  rateBps: number;
  limitBps: number;
  label?: string;
}) {
  const ratio = limitBps > 0 ? Math.min(1, rateBps / limitBps) : 0;
  return (
    <div
      className={classes.bar}
      data-level={levelOf(ratio, direction)}
      style={{ backgroundSize: filledBy(ratio) }}
    >
      {label ?? shortRate(rateBps)}
    </div>
  );
}

// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef } from "react";
import { shortRate } from "@/ui/rates";
import classes from "./RateBar.module.css";

export type Direction = "upload" | "download";

/** Green up to 50 % of the limit, yellow up to 75 %, red above: what Winbox users know. */
export const loadLevel = (ratio: number): "ok" | "warn" | "bad" => (ratio > 0.75 ? "bad" : ratio > 0.5 ? "warn" : "ok");

/** Writes one measurement into a bar without going through React: 200 bars change every second. */
export function paintBar(bar: HTMLElement, rateBps: number | null, limitBps: number): void {
  const fill = bar.firstElementChild as HTMLElement;
  const number = bar.lastElementChild as HTMLElement;
  const ratio = rateBps !== null && limitBps > 0 ? Math.min(1, rateBps / limitBps) : 0;
  const text = rateBps === null ? "–" : shortRate(rateBps);
  if (number.textContent !== text) number.textContent = text;
  fill.style.transform = `scaleX(${ratio.toFixed(3)})`;
  const level = ratio === 0 ? "none" : loadLevel(ratio);
  if (bar.dataset["level"] !== level) bar.dataset["level"] = level;
  bar.title = limitBps > 0 && rateBps !== null ? `${Math.round((rateBps / limitBps) * 100)} % of ${shortRate(limitBps)}bit/s` : "";
}

export type Subscribe = (listener: (rateBps: number | null) => void) => () => void;

interface RateBarProps {
  direction: Direction;
  limitBps: number;
  /** Calls the listener at once with the last known rate and again with every new one. */
  subscribe: Subscribe;
}

export function RateBar({ direction, limitBps, subscribe }: RateBarProps) {
  const bar = useRef<HTMLDivElement>(null);
  useEffect(
    () =>
      subscribe((rateBps) => {
        if (bar.current) paintBar(bar.current, rateBps, limitBps);
      }),
    [subscribe, limitBps],
  );
  return (
    <div ref={bar} className={classes.bar} data-direction={direction} data-testid={`rate-${direction}`}>
      <span className={classes.fill} aria-hidden="true" />
      <span className={classes.number}>–</span>
    </div>
  );
}

/** The same bar for a number that React already holds. */
export function StaticBar({ rateBps, limitBps, label }: { rateBps: number; limitBps: number; label?: string }) {
  const ratio = limitBps > 0 ? Math.min(1, rateBps / limitBps) : 0;
  return (
    <div className={classes.bar} data-level={ratio === 0 ? "none" : loadLevel(ratio)}>
      <span className={classes.fill} aria-hidden="true" style={{ transform: `scaleX(${ratio})` }} />
      <span className={classes.number}>{label ?? shortRate(rateBps)}</span>
    </div>
  );
}

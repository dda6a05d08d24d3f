// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect, useRef } from "react";
import { live } from "@/api/live";
import { isNothing, reasonedName, type Direction, type LiveReason, type LiveText } from "./liveColumns";
import { RateBar } from "./RateBar";

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

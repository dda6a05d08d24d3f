// SPDX-License-Identifier: Apache-2.0
import { useMemo, useState } from "react";
import { moved, scaled, zoomOf, zoomText, zoomWithin, type Zoom } from "@/ui/zoom";
import { useKeys, type Binding } from "./keyboard";

export interface Zooming {
  zoom: Zoom | null;
  /** Shows a part of the time, or all of it again. */
  onZoom: (zoom: Zoom | null) => void;
}

interface Wanted {
  /** As it is in the page's address. */
  text: string | undefined;
  /** Puts it there; `replace`: in place of the one before, so that "back" leaves the zoom at once. */
  onText: (text: string | undefined, replace: boolean) => void;
  /** All of the time that there is to see; null while nothing is known. */
  whole: Zoom | null;
}

/** The zoom of a page's graphs: dragged, or by the keys `+`, `-`, `,` and `.`; Escape takes it away. */
export function useZoom({ text, onText, whole }: Wanted): Zooming {
  const zoom = useMemo(() => zoomOf(text), [text]);
  const set = (next: Zoom | null) =>
    onText(next ? zoomText(next) : undefined, zoom !== null && next !== null);
  const wider = () => {
    if (!zoom || !whole) return;
    const next = scaled(zoom, 2);
    set(
      next.toS - next.fromS >= whole.toS - whole.fromS
        ? null
        : zoomWithin({ ...whole, fromS: Math.min(whole.fromS, zoom.fromS) }, next.fromS, next.toS),
    );
  };
  const keys: Binding[] = [
    { keys: "+", label: "Zoom into the graphs", run: () => whole && set(scaled(zoom ?? whole, 0.5)) },
  ];
  if (zoom) {
    keys.push(
      { keys: "-", label: "Zoom out", run: wider },
      { keys: ",", label: "Earlier", run: () => set(moved(zoom, -1, whole?.toS ?? zoom.toS)) },
      { keys: ".", label: "Later", run: () => set(moved(zoom, 1, whole?.toS ?? zoom.toS)) },
      { keys: "Escape", label: "Show all of the time", run: () => set(null) },
    );
  }
  useKeys(keys);
  return { zoom, onZoom: (next) => onText(next ? zoomText(next) : undefined, false) };
}

/** Whether the data begin after the zoom does. */
export const lacks = (data: { at: readonly number[] } | null | undefined, zoom: Zoom | null): boolean =>
  zoom !== null && data !== null && data !== undefined && (data.at[0] ?? Infinity) > zoom.fromS;

/** While a zoom holds, the finest data that it was made on: newer data push it out, and older ones are coarser. */
export function useHeld<T extends { at: readonly number[] }>(
  of: string,
  data: T | null,
  zoom: Zoom | null,
): T | null {
  const key = zoom ? `${of} ${zoomText(zoom)}` : null;
  const [held, setHeld] = useState<{ of: string; key: string | null; data: T | null }>({
    of,
    key,
    data: null,
  });
  const covers = (found: T | null): found is T =>
    found !== null && !lacks(found, zoom) && (found.at.at(-1) ?? 0) >= (zoom?.toS ?? 0) - 1;
  if (held.key !== key) {
    // The next part of the same time lies in the same data, or else in what there is now.
    const kept = held.of === of && covers(held.data) ? held.data : data;
    setHeld({ of, key, data: key !== null && covers(kept) ? kept : null });
  } else if (key !== null && held.data === null && covers(data)) setHeld({ of, key, data });
  return key !== null && held.key === key && held.data ? held.data : data;
}

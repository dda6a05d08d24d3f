// SPDX-License-Identifier: Apache-2.0
/** What stands at the top of the menu: pages and saved views in the order somebody likes, kept as views are. */
import { useSyncExternalStore } from "react";
import { keptViews, type View } from "./views";

const MOST = 20;
const store = keptViews("weir.pins");

export const pins = store.views;
export const usePins = (): readonly View[] => useSyncExternalStore(store.subscribe, store.views);
export const isPinned = (at: string): boolean => pins().some((pin) => pin.at === at);

/** Pinned at the end, or pinned no longer. Whether it is now. */
export function togglePin(view: View): boolean {
  if (isPinned(view.at)) {
    store.write(pins().filter((pin) => pin.at !== view.at));
    return false;
  }
  store.write([...pins(), view].slice(-MOST));
  return true;
}

/** The pin at `at` goes by so many places; not beyond the ends. */
export function movePin(at: string, by: number): void {
  const from = pins().findIndex((pin) => pin.at === at);
  const moved = pins()[from];
  if (!moved) return;
  const rest = pins().filter((pin) => pin !== moved);
  const to = Math.min(Math.max(from + by, 0), rest.length);
  store.write([...rest.slice(0, to), moved, ...rest.slice(to)]);
}

/** The pin at `at` goes where the other one is. */
export function dropPin(at: string, onto: string): void {
  const places = pins().map((pin) => pin.at);
  const [from, to] = [places.indexOf(at), places.indexOf(onto)];
  if (from >= 0 && to >= 0) movePin(at, to - from);
}

// SPDX-License-Identifier: Apache-2.0
/** Lists as somebody likes to see them, kept in this browser: a name, and the address that has all of it. */
import { useSyncExternalStore } from "react";

export interface View {
  name: string;
  /** Path and query. */
  at: string;
}

const KEPT = "weir.views";
const MOST = 50;
const listeners = new Set<() => void>();
let kept: { text: string | null; views: readonly View[] } = { text: null, views: [] };

function read(text: string | null): readonly View[] {
  try {
    const found: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(found) ? found.filter(isView) : [];
  } catch {
    return []; // somebody else's
  }
}

const isView = (item: unknown): item is View =>
  typeof item === "object" &&
  item !== null &&
  "name" in item &&
  "at" in item &&
  typeof item.name === "string" &&
  typeof item.at === "string" &&
  /^\/(?!\/)/.test(item.at);

export function savedViews(): readonly View[] {
  const text = localStorage.getItem(KEPT);
  if (text !== kept.text) kept = { text, views: read(text) };
  return kept.views;
}

function write(views: readonly View[]): void {
  localStorage.setItem(KEPT, JSON.stringify(views));
  for (const listener of listeners) listener();
}

/** Of two with one name the newer stays. */
export const saveView = (view: View): void =>
  write([...savedViews().filter((item) => item.name !== view.name), view].slice(-MOST));

export const forgetView = (name: string): void => write(savedViews().filter((item) => item.name !== name));

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

export const useViews = (): readonly View[] => useSyncExternalStore(subscribe, savedViews);

/** The page as it is shown now, without the drawer that is open. */
export function viewNow(): string {
  const address = new URL(window.location.href);
  address.searchParams.delete("edit");
  return address.pathname + address.search;
}

// SPDX-License-Identifier: Apache-2.0
/** Lists as somebody likes to see them, kept in this browser: a name, and the address that has all of it. */
import { useSyncExternalStore } from "react";

export interface View {
  name: string;
  /** Path and query. */
  at: string;
}

const MOST = 50;

const isView = (item: unknown): item is View =>
  typeof item === "object" &&
  item !== null &&
  "name" in item &&
  "at" in item &&
  typeof item.name === "string" &&
  typeof item.at === "string" &&
  /^\/(?!\/)/.test(item.at);

function read(text: string | null): readonly View[] {
  try {
    const found: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(found) ? found.filter(isView) : [];
  } catch {
    return []; // somebody else's
  }
}

/** A list of views under a key of this browser's storage; other tabs have it, too. */
export function keptViews(key: string) {
  const listeners = new Set<() => void>();
  let kept: { text: string | null; views: readonly View[] } = { text: null, views: [] };
  return {
    views: (): readonly View[] => {
      const text = localStorage.getItem(key);
      if (text !== kept.text) kept = { text, views: read(text) };
      return kept.views;
    },
    write: (views: readonly View[]): void => {
      localStorage.setItem(key, JSON.stringify(views));
      for (const listener of listeners) listener();
    },
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      window.addEventListener("storage", listener);
      return () => {
        listeners.delete(listener);
        window.removeEventListener("storage", listener);
      };
    },
  };
}

const store = keptViews("weir.views");
export const savedViews = store.views;

/** Of two with one name the newer stays. */
export const saveView = (view: View): void =>
  store.write([...savedViews().filter((item) => item.name !== view.name), view].slice(-MOST));

export const forgetView = (name: string): void =>
  store.write(savedViews().filter((item) => item.name !== name));

export const useViews = (): readonly View[] => useSyncExternalStore(store.subscribe, savedViews);

/** The page as it is shown now, without the drawer that is open. */
export function viewNow(): string {
  const address = new URL(window.location.href);
  address.searchParams.delete("edit");
  return address.pathname + address.search;
}

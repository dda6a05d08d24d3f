// SPDX-License-Identifier: Apache-2.0
import { useSyncExternalStore } from "react";

function subscribe(listener: () => void): () => void {
  const query = window.matchMedia("print");
  query.addEventListener("change", listener);
  return () => query.removeEventListener("change", listener);
}

/** Whether the page is being laid out for paper; what hears of it is rendered before the browser takes its picture. */
export const usePrinting = (): boolean =>
  useSyncExternalStore(subscribe, () => window.matchMedia("print").matches);

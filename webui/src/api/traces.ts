// SPDX-License-Identifier: Apache-2.0
/** Two minutes of each interface, kept while the tab is open, so that graphs are there when one comes back. */
import { useSyncExternalStore } from "react";
import { live } from "./live";
import type { InterfaceStats } from "./types";

export const KEEP_S = 120;

/** Times in seconds, rates in bit/s, drops a second; of equal length. */
export interface TraceData {
  at: number[];
  /** What was received. */
  upload: (number | null)[];
  /** What was sent. */
  download: (number | null)[];
  drops?: (number | null)[];
}

export interface Trace {
  data: TraceData;
  last: InterfaceStats;
}

export const NOTHING: TraceData = { at: [], upload: [], download: [], drops: [] };

let traces: ReadonlyMap<string, Trace> = new Map();
const listeners = new Set<() => void>();

live.interfaces.subscribe(() => {
  const answer = live.interfaces.value;
  const items = answer?.items ?? [];
  traces = new Map(items.map((item) => [item.id, extended(traces.get(item.id), item, answer?.at ?? 0)]));
  for (const listener of listeners) listener();
});

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** By interface. */
export const useTraces = (): ReadonlyMap<string, Trace> => useSyncExternalStore(subscribe, () => traces);

function extended(before: Trace | undefined, item: InterfaceStats, at: number): Trace {
  const old = before?.data ?? NOTHING;
  const from = Math.max(
    0,
    old.at.findIndex((time) => time > at - KEEP_S),
  );
  const cut = <T>(list: T[], value: T): T[] => [...list.slice(from), value];
  if (old.at.at(-1) === at) return { data: old, last: item };
  return {
    last: item,
    data: {
      at: cut(old.at, at),
      upload: cut(old.upload, item.rx_bps),
      download: cut(old.download, item.tx_bps),
      drops: cut(old.drops ?? [], item.rx_drops_ps + item.tx_drops_ps),
    },
  };
}

// SPDX-License-Identifier: Apache-2.0
/** Two minutes of each interface, kept while the tab is open, so that graphs are there when one comes back. */
import { useSyncExternalStore } from "react";
import { live } from "./live";
import type { InterfaceHistory, InterfaceStats } from "./types";

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

/** Calls the listener with every measurement; the function that is returned ends it. */
export const watchTraces = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** By interface. */
export const latestTraces = (): ReadonlyMap<string, Trace> => traces;
export const useTraces = (): ReadonlyMap<string, Trace> => useSyncExternalStore(watchTraces, latestTraces);

/** Of one interface; undefined while nothing is measured of it. */
export const useTrace = (id: string): Trace | undefined =>
  useSyncExternalStore(watchTraces, () => traces.get(id));

/** Nothing from before has to be asked for once this tab has followed an interface for so long. */
export const isWhole = ({ at }: TraceData): boolean => (at.at(-1) ?? 0) - (at[0] ?? 0) > KEEP_S - 3;

const MOST_GAP_S = 5;

/** What the router remembers from before this tab was opened, and then what came here. */
export function withPast(past: InterfaceHistory | undefined, data: TraceData): TraceData {
  const since = data.at[0] ?? Infinity;
  const times = past?.rx.rate_bps.map((_, index) => past.start + index * past.step_s) ?? [];
  const count = times.findIndex((at) => at >= since);
  const before = <T>(list: readonly T[]): T[] => (count < 0 ? [...list] : list.slice(0, count));
  // In a tab that has been open for long, the router's memory ends before what is kept here begins.
  if (
    !past ||
    times.length === 0 ||
    (count < 0 && data.at.length > 0 && (times.at(-1) ?? 0) < since - MOST_GAP_S)
  )
    return data;
  const drops = past.rx.drops_ps.map((value, index) => {
    const other = past.tx.drops_ps[index] ?? null;
    return value === null && other === null ? null : (value ?? 0) + (other ?? 0);
  });
  return {
    at: [...before(times), ...data.at],
    upload: [...before(past.rx.rate_bps), ...data.upload],
    download: [...before(past.tx.rate_bps), ...data.download],
    drops: [...before(drops), ...(data.drops ?? [])],
  };
}

/** So many seconds without a measurement are one that was missed; a second is sometimes a bit longer. */
const MISSED_S = 1.5;

/** A value for each second, as a picture without a time axis needs it: null in those that were not measured. */
export function bySecond({ at, upload, download }: TraceData): Pick<TraceData, "upload" | "download"> {
  const seconds: Pick<TraceData, "upload" | "download"> = { upload: [], download: [] };
  at.forEach((time, index) => {
    const sinceS = time - (at[index - 1] ?? time);
    const missed = sinceS > MISSED_S ? Math.round(sinceS) - 1 : 0;
    for (const [out, values] of [
      [seconds.upload, upload],
      [seconds.download, download],
    ] as const)
      out.push(...Array<null>(missed).fill(null), values[index] ?? null);
  });
  return { upload: seconds.upload.slice(-KEEP_S), download: seconds.download.slice(-KEEP_S) };
}

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

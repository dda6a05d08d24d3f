// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { live } from "@/api/live";
import { lacks, useHeld } from "@/app/useZoom";
import { queueStatsHistoryQuery } from "@/api/queries";
import type { QueueHistory, QueueStats } from "@/api/types";
import type { GraphData } from "@/ui/Graph";
import type { Window } from "@/ui/windows";
import type { Zoom } from "@/ui/zoom";

/** Windows that are in the archive. */
export const LONG: readonly Window[] = ["24h", "7d", "30d"];
const KEEP_LIVE_S = 120;

/** Columns of equal length; null: nothing was measured, or the queue had no class at that moment. */
export interface QueueGraphData extends GraphData {
  drops: (number | null)[];
  marks: (number | null)[];
  /** The longest wait, in microseconds. */
  uploadWait: (number | null)[];
  downloadWait: (number | null)[];
  /** In microseconds; only of windows of a day and more. */
  uploadTrip: (number | null)[];
  downloadTrip: (number | null)[];
}

type Column = keyof QueueGraphData;
type Sample = Record<Exclude<Column, "at">, number | null> & { at: number };
const COLUMNS: readonly Column[] = [
  "at",
  "upload",
  "download",
  "drops",
  "marks",
  "uploadWait",
  "downloadWait",
  "uploadTrip",
  "downloadTrip",
];
const NO_SAMPLES: readonly Sample[] = [];

type Values = readonly (number | null)[];
const sums = (ours: Values, others: Values): (number | null)[] =>
  ours.map((value, index) => {
    const other = others[index] ?? null;
    return value === null && other === null ? null : (value ?? 0) + (other ?? 0);
  });

export function fromHistory({ upload, download, start, step_s }: QueueHistory): QueueGraphData {
  return {
    at: upload.rate_bps.map((_, index) => start + index * step_s),
    upload: upload.rate_bps,
    download: download.rate_bps,
    drops: sums(upload.drops_ps, download.drops_ps),
    marks: sums(upload.marks_ps, download.marks_ps),
    uploadWait: upload.worst_delay_us,
    downloadWait: download.worst_delay_us,
    uploadTrip: upload.round_trip_us ?? upload.rate_bps.map(() => null),
    downloadTrip: download.round_trip_us ?? download.rate_bps.map(() => null),
  };
}

const NOTHING = {
  upload: null,
  download: null,
  drops: null,
  marks: null,
  uploadWait: null,
  downloadWait: null,
  uploadTrip: null,
  downloadTrip: null,
};

function sampleOf(stats: QueueStats, at: number): Sample {
  if (!stats.live) return { at, ...NOTHING };
  const both = (pair: { upload: number; download: number }) => pair.upload + pair.download;
  return {
    at,
    upload: stats.rate_bps.upload,
    download: stats.rate_bps.download,
    drops: both(stats.drops_ps),
    marks: both(stats.marks_ps),
    uploadWait: stats.worst_delay_us?.upload ?? null,
    downloadWait: stats.worst_delay_us?.download ?? null,
    uploadTrip: null,
    downloadTrip: null,
  };
}

/** The past, what came since, and of both the last two minutes. */
function joined(past: QueueGraphData, samples: readonly Sample[]): QueueGraphData {
  const last = past.at.at(-1) ?? 0;
  const more = samples.filter((sample) => sample.at > last);
  const end = more.at(-1)?.at ?? last;
  const cut = Math.max(
    0,
    past.at.findIndex((at) => at > end - KEEP_LIVE_S),
  );
  const column = (name: Column) => [...past[name], ...more.map((sample) => sample[name])].slice(cut);
  return Object.fromEntries(COLUMNS.map((name) => [name, column(name)])) as unknown as QueueGraphData;
}

/** The past from the router's memory, and in the two-minute window every new second as it comes. */
export function useGraphData(
  id: string,
  window: Window,
): { data: QueueGraphData | null; history: QueueHistory | undefined; error: unknown } {
  const history = useQuery(queueStatsHistoryQuery(id, window));
  const [kept, setKept] = useState<{ id: string; samples: readonly Sample[] }>({ id, samples: [] });
  const samples = kept.id === id ? kept.samples : NO_SAMPLES;
  useEffect(() => {
    const stopWatching = live.watch(id, () => undefined);
    const stop = live.queuesAt.subscribe(() => {
      const stats = live.latest(id);
      const at = live.queuesAt.value;
      if (!stats || at === null) return;
      setKept((before) => ({
        id,
        samples: [
          ...(before.id === id ? before.samples : []).filter(
            (sample) => sample.at > at - KEEP_LIVE_S && sample.at < at,
          ),
          sampleOf(stats, at),
        ],
      }));
    });
    return () => {
      stop();
      stopWatching();
    };
  }, [id]);
  const data = useMemo(() => {
    if (!history.data) return null;
    const past = fromHistory(history.data);
    return window === "2m" ? joined(past, samples) : past;
  }, [history.data, samples, window]);
  return { data, history: history.data, error: history.error };
}

/** The data of the zoom: of the window, or of a wider one where that begins too late. `isLost`: the router no longer has them. */
export function useZoomedData(
  id: string,
  window: Window,
  zoom: Zoom | null,
): ReturnType<typeof useGraphData> & { whole: Zoom | null; isLost: boolean } {
  const own = useGraphData(id, window);
  const held = useHeld(`${id} ${window}`, own.data, zoom);
  const needsHour = window === "2m" && lacks(held, zoom);
  const hour = useQuery({ ...queueStatsHistoryQuery(id, "1h"), enabled: needsHour });
  const hourData = useMemo(
    () => (needsHour && hour.data ? fromHistory(hour.data) : null),
    [needsHour, hour.data],
  );
  const needsDay = (window === "1h" && lacks(held, zoom)) || lacks(hourData, zoom);
  const day = useQuery({ ...queueStatsHistoryQuery(id, "24h"), enabled: needsDay });
  const dayData = useMemo(() => (needsDay && day.data ? fromHistory(day.data) : null), [needsDay, day.data]);
  const needsMonth = (LONG.includes(window) && window !== "30d" && lacks(held, zoom)) || lacks(dayData, zoom);
  const month = useQuery({ ...queueStatsHistoryQuery(id, "30d"), enabled: needsMonth });
  const monthData = useMemo(
    () => (needsMonth && month.data ? fromHistory(month.data) : null),
    [needsMonth, month.data],
  );
  const data = monthData ?? dayData ?? hourData ?? held;
  const fromS = own.data?.at[0];
  const toS = own.data?.at.at(-1);
  return {
    ...own,
    data,
    whole: fromS === undefined || toS === undefined ? null : { fromS, toS },
    isLost: lacks(monthData ?? (window === "30d" ? held : null), zoom),
  };
}

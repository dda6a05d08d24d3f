// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { live } from "@/api/live";
import { queueStatsHistoryQuery } from "@/api/queries";
import type { QueueHistory, QueueStats } from "@/api/types";
import type { GraphData } from "@/ui/Graph";

export type Window = "2m" | "1h" | "24h";
const KEEP_LIVE_S = 120;

interface Sample {
  at: number;
  /** null: the queue had no class at that moment. */
  upload: number | null;
  download: number | null;
  drops: number | null;
}

const NO_SAMPLES: readonly Sample[] = [];

export function fromHistory(history: QueueHistory): GraphData {
  const at = history.upload.rate_bps.map((_, index) => history.start + index * history.step_s);
  const drops = history.upload.drops_ps.map((value, index) => {
    const other = history.download.drops_ps[index] ?? null;
    return value === null && other === null ? null : (value ?? 0) + (other ?? 0);
  });
  return { at, upload: history.upload.rate_bps, download: history.download.rate_bps, drops };
}

const sampleOf = (stats: QueueStats, at: number): Sample =>
  stats.live ? { at, upload: stats.rate_bps.upload, download: stats.rate_bps.download, drops: stats.drops_ps.upload + stats.drops_ps.download } : { at, upload: null, download: null, drops: null };

/** The past from the router's memory, and in the two-minute window every new second as it comes. */
export function useGraphData(id: string, window: Window): { data: GraphData | null; error: unknown } {
  const history = useQuery(queueStatsHistoryQuery(id, window));
  const [kept, setKept] = useState<{ id: string; samples: readonly Sample[] }>({ id, samples: [] });
  const samples = kept.id === id ? kept.samples : NO_SAMPLES;
  useEffect(() => {
    const stopWatching = live.watch(id, () => undefined);
    const stop = live.queuesAt.subscribe(() => {
      const stats = live.latest(id);
      const at = live.queuesAt.value;
      if (!stats || at === null) return;
      setKept((before) => ({ id, samples: [...(before.id === id ? before.samples : []).filter((sample) => sample.at > at - KEEP_LIVE_S && sample.at < at), sampleOf(stats, at)] }));
    });
    return () => {
      stop();
      stopWatching();
    };
  }, [id]);
  const data = useMemo(() => {
    if (!history.data) return null;
    const past = fromHistory(history.data);
    if (window !== "2m") return past;
    const last = past.at.at(-1) ?? 0;
    const more = samples.filter((sample) => sample.at > last);
    const joined: GraphData = {
      at: [...past.at, ...more.map((sample) => sample.at)],
      upload: [...past.upload, ...more.map((sample) => sample.upload)],
      download: [...past.download, ...more.map((sample) => sample.download)],
      drops: [...(past.drops ?? []), ...more.map((sample) => sample.drops)],
    };
    const cut = Math.max(0, joined.at.findIndex((at) => at > (joined.at.at(-1) ?? 0) - KEEP_LIVE_S));
    return { at: joined.at.slice(cut), upload: joined.upload.slice(cut), download: joined.download.slice(cut), drops: (joined.drops ?? []).slice(cut) };
  }, [history.data, samples, window]);
  return { data, error: history.error };
}

// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { sentence } from "@/ui/format";
import { useDoubt } from "./known";
import { ofSystem, queuesByIdQuery, topQueuesQuery, type TopBy } from "./queries";
import type { Queue, QueueStats, QueueStatsAnswer, System } from "./types";

export interface Entry {
  queue: Queue;
  stats: QueueStats;
}

/** Whether it may be said that nothing is there; a text: why nothing is known of now. */
export type Readiness = "asking" | "measured" | { unknown: string };

const isConnected = (system: System): boolean => system.agent.connected;
const AGENT_AWAY = "Not known: the agent does not answer.";

/** The busiest queues with their limits; names and limits are fetched only when the set changes. */
export function useTop(by: TopBy, top: number): { entries: Entry[]; ready: Readiness } {
  const query = useQuery(topQueuesQuery(by, top));
  const stats = query.data;
  const connected = useQuery(ofSystem(isConnected)).data;
  const items = stats?.items ?? [];
  const ids = items.map((item) => item.id).sort();
  const found = useQuery({ ...queuesByIdQuery(ids), enabled: ids.length > 0 });
  const queues = found.data ?? [];
  const ofStats = useDoubt(query);
  const doubt = useDoubt(found) ?? ofStats;
  const byId = new Map(queues.map((queue) => [queue.id, queue]));
  const entries = items.flatMap((item) => {
    const queue = byId.get(item.id);
    return queue ? [{ queue, stats: item }] : [];
  });
  return {
    entries,
    ready:
      doubt === null
        ? readiness(stats, connected, ids.length > 0 && !found.isFetched, entries.length < items.length)
        : { unknown: `Not known. ${sentence(doubt)}` },
  };
}

/** `missing`: queues that are measured and not configured any more; there are others, of which nothing is known. */
function readiness(
  stats: QueueStatsAnswer | undefined,
  connected: boolean | undefined,
  asking: boolean,
  missing: boolean,
): Readiness {
  if (stats === undefined || asking) return "asking";
  if (connected === false) return { unknown: AGENT_AWAY };
  if (stats.stale_since !== null)
    return { unknown: `No measurements yet. ${sentence(stats.stale_reason ?? "")}` };
  return missing ? { unknown: "No measurements yet. The queues have just changed." } : "measured";
}

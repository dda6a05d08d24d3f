// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { live, useFreshness, useQueuesAt } from "@/api/live";
import { queuesByIdQuery } from "@/api/queries";
import type { Queue } from "@/api/types";
import { clockText } from "@/ui/format";
import classes from "./Queue.module.css";
import { usedText } from "./used";

function useUsed(queue: Queue): string {
  useQueuesAt();
  const freshness = useFreshness();
  const ids = queue.path.map((ancestor) => ancestor.id);
  const above = useQuery({ ...queuesByIdQuery(ids), enabled: ids.length > 0 }).data ?? [];
  if (queue.disabled) return "This queue is disabled: it limits nobody and nothing of it is measured.";
  if (freshness.state === "stale") {
    const since = freshness.since === null ? "" : ` since ${clockText(freshness.since)}`;
    return `Not known: no live data${since}.`;
  }
  const measured = (item: Pick<Queue, "id" | "name" | "max_limit_bps">) => ({
    name: item.name,
    limits: item.max_limit_bps,
    stats: live.latest(item.id),
  });
  return usedText(measured(queue), above.map(measured));
}

/** The live figures of a queue and those above it, in one line and without a judgement. */
export function UsedLine({ queue }: { queue: Queue }) {
  return (
    <p className={classes.used} data-testid="used">
      {useUsed(queue)}
    </p>
  );
}

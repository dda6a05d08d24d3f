// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { live, useFreshness, useQueuesAt } from "@/api/live";
import { queuesByIdQuery } from "@/api/queries";
import type { Queue } from "@/api/types";
import { clockText } from "@/ui/format";
import classes from "./Queue.module.css";
import { verdictOf, type Verdict } from "./verdict";

function useVerdict(queue: Queue): Verdict {
  useQueuesAt();
  const freshness = useFreshness();
  const ids = queue.path.map((ancestor) => ancestor.id);
  const above = useQuery({ ...queuesByIdQuery(ids), enabled: ids.length > 0 }).data ?? [];
  if (queue.disabled)
    return { tone: "dim", text: "This queue is disabled: it limits nobody and nothing of it is measured." };
  if (freshness.state === "stale") {
    const since = freshness.since === null ? "" : ` since ${clockText(freshness.since)}`;
    return { tone: "dim", text: `Not known: no live data${since}.` };
  }
  const measured = (item: Pick<Queue, "id" | "name" | "max_limit_bps">) => ({
    name: item.name,
    limits: item.max_limit_bps,
    stats: live.latest(item.id),
  });
  return verdictOf(measured(queue), above.map(measured));
}

/** The page's answer before anything else on it. */
export function VerdictLine({ queue }: { queue: Queue }) {
  const { tone, text } = useVerdict(queue);
  return (
    <p className={classes.verdict} data-tone={tone} data-testid="verdict">
      {text}
    </p>
  );
}

// SPDX-License-Identifier: Apache-2.0
import { KIND_WORD } from "@/api/queries";
import type { Candidate, Kind } from "@/api/types";
import { plural } from "@/ui/format";

/** "3 changes: 2 queues, 1 route" */
export function candidateText(candidate: Pick<Candidate, "change_count" | "kinds">): string {
  const kinds = Object.entries(candidate.kinds).map(([kind, count]) =>
    plural(count, ...KIND_WORD[kind as Kind]),
  );
  return `${plural(candidate.change_count, "change")}: ${kinds.join(", ")}`;
}

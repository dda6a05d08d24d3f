// SPDX-License-Identifier: Apache-2.0
import type { Candidate } from "@/api/types";
import { kindWords } from "@/kinds/names";
import { plural } from "@/ui/format";

/** "3 changes: 2 queues, 1 route" */
export function candidateText(candidate: Pick<Candidate, "change_count" | "kinds">): string {
  const kinds = Object.entries(candidate.kinds).map(([kind, count]) => plural(count, ...kindWords(kind)));
  return `${plural(candidate.change_count, "change")}: ${kinds.join(", ")}`;
}

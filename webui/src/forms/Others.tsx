// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { othersQuery } from "@/api/queries";
import type { OtherCandidate } from "@/api/types";
import { Note } from "@/ui/blocks";
import { agoText } from "@/ui/format";

const words = ({ author, staged_at, action }: OtherCandidate): string =>
  `${author} staged ${action === "remove" ? "its removal" : "a change of it"}${staged_at ? ` ${agoText(staged_at)}` : ""}`;

/** Who else is at this object: the first to commit makes the other's change a conflict. */
export function Others({ kind, id }: { kind: string; id: string }) {
  const others = useQuery(othersQuery(kind, id)).data?.items ?? [];
  if (others.length === 0) return null;
  return (
    <Note severity="notice" live>
      {others.map(words).join("; ")}.
    </Note>
  );
}

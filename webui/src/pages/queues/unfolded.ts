// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";
import { queueWindowQuery } from "@/api/queries";
import type { QueuesSearch } from "@/app/search";

const LAST = "weir.tree";
/** Longer addresses are cut by some who pass them on; what is unfolded first gives way. */
const MOST_CHARS = 2_000;
/** Nothing is unfolded, and somebody wanted it so. */
const FOLDED = "~";
/** Rows that a tree may have and still open unfolded: about two screens. */
const FEW = 60;

export const unfoldedIn = (open: string | undefined): ReadonlySet<string> =>
  new Set((open ?? "").split("~").filter(Boolean));

/** The address' text with one more queue unfolded, or folded again. */
export function toggled(open: string | undefined, id: string): string {
  const ids = new Set(unfoldedIn(open));
  if (!ids.delete(id)) ids.add(id);
  let kept = [...ids];
  while (kept.join("~").length > MOST_CHARS) kept = kept.slice(1);
  return kept.join("~") || FOLDED;
}

/** What a tree shows that nobody has folded or unfolded yet: everything where that is little, else the roots. */
export function useFirstUnfolded(enabled: boolean): { open: string | undefined; asking: boolean } {
  const query = useQuery({ ...queueWindowQuery({}, 0), enabled });
  const open = useMemo(() => {
    if (!query.data || query.data.total > FEW) return undefined;
    return (
      query.data.items.flatMap((queue) => (queue.child_count > 0 ? queue.id : [])).join("~") || undefined
    );
  }, [query.data]);
  return enabled ? { open, asking: query.isPending } : { open: undefined, asking: false };
}

/**
 * What is unfolded is in the page's address, so that a colleague sees the same tree. The menu leads
 * back to the tree as this tab left it.
 */
export function useUnfolding(
  { view, open, shown }: Pick<QueuesSearch, "view" | "open"> & { shown: string | undefined },
  onSearch: (change: Partial<QueuesSearch>) => void,
): (id: string) => void {
  useEffect(() => {
    if (view !== "tree" || open !== undefined) return;
    const last = sessionStorage.getItem(LAST);
    if (last) onSearch({ open: last });
  }, [view, open, onSearch]);
  return useCallback(
    (id: string) => {
      const next = toggled(shown, id);
      sessionStorage.setItem(LAST, next);
      onSearch({ open: next });
    },
    [shown, onSearch],
  );
}

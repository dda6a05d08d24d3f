// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect } from "react";
import type { QueuesSearch } from "@/app/search";

const LAST = "weir.tree";
/** Longer addresses are cut by some who pass them on; what is unfolded first gives way. */
const MOST_CHARS = 2_000;

export const unfoldedIn = (open: string | undefined): ReadonlySet<string> => new Set((open ?? "").split("~").filter(Boolean));

/** The address' text with one more queue unfolded, or folded again; undefined when none is left. */
export function toggled(open: string | undefined, id: string): string | undefined {
  const ids = new Set(unfoldedIn(open));
  if (!ids.delete(id)) ids.add(id);
  let kept = [...ids];
  while (kept.join("~").length > MOST_CHARS) kept = kept.slice(1);
  return kept.join("~") || undefined;
}

/**
 * What is unfolded is in the page's address, so that a colleague sees the same tree. The menu leads
 * back to the tree as this tab left it.
 */
export function useUnfolding({ view, open }: QueuesSearch, onSearch: (change: Partial<QueuesSearch>) => void): (id: string) => void {
  useEffect(() => {
    if (view !== "tree" || open !== undefined) return;
    const last = sessionStorage.getItem(LAST);
    if (last) onSearch({ open: last });
  }, [view, open, onSearch]);
  return useCallback(
    (id: string) => {
      const next = toggled(open, id);
      sessionStorage.setItem(LAST, next ?? "");
      onSearch({ open: next });
    },
    [open, onSearch],
  );
}

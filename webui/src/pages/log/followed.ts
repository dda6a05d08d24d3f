// SPDX-License-Identifier: Apache-2.0
/** The log as it is read: its newest lines first, and then what is logged meanwhile. */
import { queryOptions, type QueryClient } from "@tanstack/react-query";
import { api, need } from "@/api/client";
import type { LogAnswer, LogLine } from "@/api/types";
import type { LogSearch } from "@/app/search";

/** Lines that a page keeps; the oldest give way. */
export const KEPT = 1_000;
/** The longest text is 4,096 bytes, and few are. */
const KEPT_CHARS = 1_000_000;
const FIRST = 500;
/** Answers one after the other while the log runs ahead; then others have their turn. */
const AT_ONCE = 5;
export const AGAIN_MS = 2_000;

export interface Followed {
  lines: readonly LogLine[];
  cursor: string | null;
  sources: readonly string[];
  /** Whether older lines fit that are not here. */
  hasOlder: boolean;
  /** How many lines the first search looked through, and back to when. */
  lookedAt: number;
  lookedFrom: string | null;
}

/** Both, as much as is kept. */
export function joined(before: readonly LogLine[], came: readonly LogLine[]): readonly LogLine[] {
  if (came.length === 0) return before;
  const all = [...before, ...came].slice(-KEPT);
  let chars = 0;
  const first = all.findLastIndex((line) => (chars += line.text?.length ?? 0) > KEPT_CHARS);
  return all.slice(first + 1);
}

const ask = (filters: LogSearch, after: string | null, signal: AbortSignal): Promise<LogAnswer> =>
  need(
    api.GET("/api/v1/diagnosis/log", {
      params: {
        query: after === null ? { ...filters, limit: FIRST } : { ...filters, after, limit: KEPT },
      },
      signal,
    }),
  );

const begun = (answer: LogAnswer): Followed => ({
  lines: answer.items,
  cursor: answer.cursor,
  sources: answer.sources,
  hasOlder: answer.more,
  lookedAt: answer.looked_at,
  lookedFrom: answer.looked_from,
});

async function goneOn(filters: LogSearch, before: Followed, signal: AbortSignal): Promise<Followed> {
  let now = before;
  for (let times = 0; times < AT_ONCE; times += 1) {
    const answer = await ask(filters, now.cursor, signal);
    const lines = joined(now.lines, answer.items);
    const isCut = lines.length < now.lines.length + answer.items.length;
    now = {
      ...now,
      lines,
      cursor: answer.cursor,
      sources: answer.sources,
      hasOlder: now.hasOlder || isCut,
    };
    if (!answer.more) break;
  }
  return now;
}

export const logQuery = (filters: LogSearch, client: QueryClient) => {
  const queryKey = ["log", filters.q ?? "", filters.source ?? "", filters.severity ?? ""] as const;
  return queryOptions({
    queryKey,
    queryFn: async ({ signal }): Promise<Followed> => {
      const before = client.getQueryData<Followed>(queryKey);
      return before === undefined || before.cursor === null
        ? begun(await ask(filters, null, signal))
        : goneOn(filters, before, signal);
    },
    // Who comes back sees the newest lines, without a gap before them.
    gcTime: 0,
    staleTime: 0,
    retry: false,
    structuralSharing: false,
  });
};

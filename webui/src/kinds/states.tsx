// SPDX-License-Identifier: Apache-2.0
/** What the router learns about the objects of a kind: of one of them, and as columns of their list. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, need } from "@/api/client";
import type { Declared } from "./kinds";
import { columnOf, type Column } from "./list/columns";
import { valueWords } from "./values";

export interface Learnt {
  id: string;
  /** When it was so; null: it was never known. */
  at: string | null;
  stale_reason: string | null;
  fields: Readonly<Record<string, unknown>>;
}

/** Of more objects than one answer has, the state of the others is not shown. */
const MOST = 1000;
const EVERY_MS = 5_000;

async function learntOf(path: string, signal: AbortSignal): Promise<ReadonlyMap<string, Learnt>> {
  // Every list of a kind with state is asked for like this one.
  const page: { states: unknown[] | null } = await need(
    api.GET(`/api/v1/${path}` as "/api/v1/firewall-rules", {
      params: { query: { limit: MOST, with: "state" } },
      signal,
    }),
  );
  return new Map(((page.states ?? []) as Learnt[]).map((state) => [state.id, state]));
}

/** What is learnt about one object, or about the only one of its kind. */
export const stateQuery = (declared: Declared, id: string) =>
  queryOptions({
    queryKey: ["states", declared.path, "of", id],
    queryFn: async ({ signal }): Promise<Learnt> => {
      const path = declared.isSingle ? declared.path : `${declared.path}/${encodeURIComponent(id)}`;
      // Every kind with state is asked for it like this one.
      return need(api.GET(`/api/v1/${path}/state` as "/api/v1/ntp/state", { signal }));
    },
    refetchInterval: EVERY_MS,
  });

/** A column for each field of the state; asked for only while one of them is among `shown`. */
export function useStateColumns(declared: Declared, shown: readonly string[]): readonly Column[] {
  const { data } = useQuery({
    queryKey: ["states", declared.path],
    queryFn: ({ signal }) => learntOf(declared.path, signal),
    enabled: declared.state.some((field) => shown.includes(field.name)),
    refetchInterval: EVERY_MS,
  });
  return useMemo(
    () =>
      declared.state.map((field) => {
        const words = (id: string) => valueWords(field, data?.get(id)?.fields[field.name]);
        return {
          ...columnOf(field),
          field: undefined,
          render: ({ object }) => {
            const stale = data?.get(object.id)?.stale_reason ?? undefined;
            const text = words(object.id);
            return (
              <span className={text === "" || stale ? "dim" : undefined} title={stale}>
                {text || "–"}
              </span>
            );
          },
          text: ({ object }) => words(object.id),
        };
      }),
    [declared, data],
  );
}

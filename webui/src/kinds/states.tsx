// SPDX-License-Identifier: Apache-2.0
/** What the router learns about the objects of a kind: of one of them, and as columns of their list. */
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { api, need } from "@/api/client";
import { live, useFreshness, type Learnt, type StatesEvent } from "@/api/live";
import type { Declared } from "./kinds";
import { columnOf, type Column } from "./list/columns";
import { valueWords } from "./values";

export type { Learnt };

/** Of more objects than one answer has, the state of the others is not shown. */
const MOST = 1000;
/** While no stream tells what changes. */
const EVERY_MS = 5_000;

/** What is known now: what changed as it was told, the rest as before but seen again at that time. */
function after(known: Learnt, event: StatesEvent, told: ReadonlyMap<string, Learnt>): Learnt {
  const changed = told.get(known.id);
  if (changed) return changed;
  return event.at !== null && known.stale_reason === null ? { ...known, at: event.at } : known;
}

const toldOf = (kind: string, event: StatesEvent): ReadonlyMap<string, Learnt> =>
  new Map(event.items.filter((item) => item.kind === kind).map((item) => [item.id, item]));

/** Asked again only while the stream does not say what changes. */
function useAskEvery(): number | false {
  return useFreshness().state === "live" ? false : EVERY_MS;
}

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
  });

/** What is learnt about one object, as it changes. */
export function useLearnt(kind: string, declared: Declared, id: string) {
  const client = useQueryClient();
  const query = stateQuery(declared, id);
  useEffect(
    () =>
      live.watchStates(`${kind}/${id}`, (event) => {
        const told = toldOf(kind, event);
        client.setQueryData(stateQuery(declared, id).queryKey, (known) =>
          known ? after(known, event, told) : told.get(id),
        );
      }),
    [client, kind, declared, id],
  );
  return useQuery({ ...query, refetchInterval: useAskEvery() });
}

/** A column for each field of the state; asked for only while one of them is among `shown`. */
export function useStateColumns(
  kind: string,
  declared: Declared,
  shown: readonly string[],
): readonly Column[] {
  const client = useQueryClient();
  const enabled = declared.state.some((field) => shown.includes(field.name));
  const { data } = useQuery({
    queryKey: ["states", declared.path],
    queryFn: ({ signal }) => learntOf(declared.path, signal),
    enabled,
    refetchInterval: useAskEvery(),
  });
  useEffect(() => {
    if (!enabled) return undefined;
    return live.watchStates(kind, (event) => {
      const told = toldOf(kind, event);
      client.setQueryData(["states", declared.path], (known?: ReadonlyMap<string, Learnt>) => {
        const before = [...(known ?? [])].map(([id, state]) => [id, after(state, event, told)] as const);
        return new Map([...before, ...told]);
      });
    });
  }, [client, kind, declared, enabled]);
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

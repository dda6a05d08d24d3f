// SPDX-License-Identifier: Apache-2.0
/** The objects of a declared kind, with what is staged of them. */
import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, need } from "@/api/client";
import { CONFIG, interfacesQuery } from "@/api/queries";
import type { Change, Finding, Kind } from "@/api/types";
import { baseOf, useStagedChanges } from "@/api/writes";
import type { Declared } from "./kinds";
import { compare, textOf, valueWords } from "./values";

export type Values = Readonly<Record<string, unknown>>;

export type Stored = Values & { id: string; etag: string | null; warnings?: readonly Finding[] };

export interface Row {
  object: Stored;
  /** What runs, where something else is staged. */
  before: Stored | null;
  staged: Change["action"] | null;
  /** The version that an edit of it is made on. */
  base: string;
}

export interface Listed {
  items: Stored[];
  total: number;
}

/** More than these are not read into a list: the router is asked for those that match a search. */
export const MOST_ROWS = 10_000;
const PAGE = 1000;

async function everyObject(path: string, q: string, signal: AbortSignal): Promise<Listed> {
  const items: Stored[] = [];
  let cursor: string | null = null;
  let total = 0;
  do {
    // Every list of a declared kind is asked for like this one.
    const page: { items: unknown[]; next_cursor: string | null; total: number } = await need(
      api.GET(`/api/v1/${path}` as "/api/v1/static-routes", {
        params: {
          query: { limit: PAGE, ...(q === "" ? {} : { q }), ...(cursor === null ? {} : { cursor }) },
        },
        signal,
      }),
    );
    items.push(...(page.items as Stored[]));
    ({ next_cursor: cursor, total } = page);
  } while (cursor !== null && items.length < MOST_ROWS);
  return { items, total };
}

export const objectsQuery = (path: string, q = "") =>
  queryOptions({
    queryKey: [...CONFIG, "objects", path, q],
    queryFn: ({ signal }) => everyObject(path, q, signal),
    staleTime: 30_000,
  });

/** The whole list. That of interfaces is in use elsewhere too, and its state is asked for again and again. */
const wholeQuery = (kind: string, path: string) =>
  (kind === "interface" ? interfacesQuery : objectsQuery(path)) as ReturnType<typeof objectsQuery>;

/** The one object of a kind that has one. */
export const singleQuery = (path: string) =>
  queryOptions({
    queryKey: [...CONFIG, "object", path],
    queryFn: async () => (await need(api.GET(`/api/v1/${path}` as "/api/v1/firewall"))) as unknown as Stored,
  });

function rowOf(object: Stored, change: Change | undefined): Row {
  if (!change) return { object, before: null, staged: null, base: baseOf(undefined, object.etag) };
  const after = change.new ? { ...object, ...change.new } : object;
  return { object: after, before: object, staged: change.action, base: baseOf(change, object.etag) };
}

/** Stored objects as they will be, then the staged new ones. */
export function rowsOf(
  declared: Declared,
  items: readonly Stored[],
  staged: ReadonlyMap<string, Change>,
): Row[] {
  const known = new Set(items.map((item) => item.id));
  const added = [...staged.values()].filter((change) => change.new && !known.has(change.id));
  const rows = [
    ...added.map((change): Row => ({
      object: { ...declared.defaults, ...change.new, id: change.id, etag: null },
      before: null,
      staged: "add",
      base: baseOf(change, null),
    })),
    ...items.map((item) => rowOf(item, staged.get(item.id))),
  ];
  return declared.order ? rows.sort(inOrder(declared.order)) : rows;
}

const TEXT = { type: "text", most: 0, lines: false } as const;

/** One list after the other, each as its objects apply: equal positions by id, as the router does. */
const inOrder =
  (within: readonly string[]) =>
  (a: Row, b: Row): number => {
    for (const name of [...within, "position"]) {
      const order = compare(TEXT, a.object[name], b.object[name], false);
      if (order !== 0) return order;
    }
    return a.object.id < b.object.id ? -1 : 1;
  };

/** `isCut`: there are more than are read. Then the rows of a search are those that the router finds (`isAsked`). */
export function useRows(kind: string, declared: Declared, q = "") {
  const whole = useQuery(wholeQuery(kind, declared.path));
  const isCut = whole.data !== undefined && whole.data.total > whole.data.items.length;
  const words = q.trim();
  const isAsked = isCut && words !== "";
  const asked = useQuery({
    ...objectsQuery(declared.path, words),
    enabled: isAsked,
    placeholderData: keepPreviousData,
  });
  const query = isAsked ? asked : whole;
  const staged = useStagedChanges(kind as Kind);
  const items = query.data?.items;
  const rows = useMemo(() => rowsOf(declared, items ?? [], staged), [declared, items, staged]);
  return { query, rows, isCut, isAsked };
}

/** Whether it is configured, so that it can be removed: what the router merely has, or comes with, cannot. */
export const isStored = ({ etag }: Pick<Stored, "etag">): boolean =>
  etag !== null && !etag.includes("built-in");

/** What people know an object by. */
export const nameOf = (declared: Declared, object: Values): string =>
  textOf(object[declared.namedBy] ?? object["id"]);

/** What may be sent back of an object that was read. */
export const inputOf = (declared: Declared, object: Values): Record<string, unknown> =>
  Object.fromEntries(
    declared.fields.filter((field) => field.name in object).map((field) => [field.name, object[field.name]]),
  );

/** All that a search looks at, in lower case. */
export const searchText = (declared: Declared, object: Values): string =>
  [object["id"], ...declared.fields.map((field) => valueWords(field, object[field.name]))]
    .join("\n")
    .toLowerCase();

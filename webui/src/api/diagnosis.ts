// SPDX-License-Identifier: Apache-2.0
/** What the router says of itself, of packets and of customers: keys of the cache, and how often it is asked. */
import { queryOptions, skipToken } from "@tanstack/react-query";
import { api, need } from "./client";
import { type ApiProblem, asProblem, isRefused } from "./problem";
import { CONFIG } from "./queries";
import type { PacketPathQuery, Why } from "./types";

export const findingsQuery = queryOptions({
  queryKey: ["findings"],
  queryFn: () => need(api.GET("/api/v1/diagnosis/findings")),
  refetchInterval: 5_000,
});

/** What was dropped in the last minutes, by owner. */
export const dropsQuery = (minutes: number) =>
  queryOptions({
    queryKey: ["drops", minutes],
    queryFn: () => need(api.GET("/api/v1/diagnosis/drops", { params: { query: { minutes } } })),
    refetchInterval: 10_000,
  });

/** What the router itself did, by the minute; these figures of so many minutes. */
export const figuresQuery = (minutes: number, figures: readonly string[]) =>
  queryOptions({
    queryKey: ["figures", minutes, figures],
    queryFn: () =>
      need(
        api.GET("/api/v1/diagnosis/figures", { params: { query: { minutes, figures: figures.join(",") } } }),
      ),
    refetchInterval: 60_000,
  });

/** Commits, rollbacks and incidents of so many minutes, for graphs; a commit asks for them again. */
export const marksQuery = (minutes: number) =>
  queryOptions({
    queryKey: [...CONFIG, "marks", minutes],
    queryFn: () => need(api.GET("/api/v1/diagnosis/marks", { params: { query: { minutes } } })),
    refetchInterval: 60_000,
  });

/** What began lately, the newest first. */
export const incidentsQuery = queryOptions({
  queryKey: ["incidents"],
  queryFn: () => need(api.GET("/api/v1/diagnosis/incidents")),
  refetchInterval: 10_000,
});

/** One of them with its seconds; while it is recorded there are more of them later. */
export const incidentQuery = (number: number) =>
  queryOptions({
    queryKey: ["incidents", number],
    queryFn: () => need(api.GET("/api/v1/diagnosis/incidents/{number}", { params: { path: { number } } })),
    refetchInterval: (query) => (query.state.data?.state === "recording" ? 10_000 : false),
  });

/**
 * Why the customer of a queue, or who has an address, is slow. The router looks at its cores every 5 s and at
 * the load of the last 10 s, so a verdict can be another one after 5 s; an answer takes it some 30 ms.
 */
export const whyQuery = (asked: { queue: string } | { address: string }) =>
  queryOptions({
    queryKey: ["why", asked],
    queryFn: () =>
      need(api.GET("/api/v1/diagnosis/why", { params: { query: asked } })).then(
        (found): WhyAsked => ({ found, problem: null }),
        (error: unknown): WhyAsked => ({ found: null, problem: asProblem(error) }),
      ),
    refetchInterval: ({ state }) => (isRefused(state.data?.problem) ? false : 5_000),
  });

/** A problem is an answer, too: it stands until the next one, and replaces what was known before it. */
export type WhyAsked = { found: Why; problem: null } | { found: null; problem: ApiProblem };

/** What the router would do with a packet; null asks nothing. Its answer is of the moment, and not asked again. */
export const pathQuery = (asked: PacketPathQuery | null) =>
  queryOptions({
    queryKey: [...CONFIG, "path", asked],
    queryFn: asked ? () => need(api.GET("/api/v1/diagnosis/path", { params: { query: asked } })) : skipToken,
    retry: false,
  });

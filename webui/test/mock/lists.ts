// SPDX-License-Identifier: Apache-2.0
/** Pages of lists, as the router answers them. */
import { HttpResponse } from "msw";
import type { StaticRoute } from "@/api/types";
import { problem } from "./answers";
import type { MockState } from "./state";

export function hostsAnswer(state: MockState, query: URLSearchParams) {
  if (state.hosts === null) return problem(503, "agent-down", "The agent does not answer.");
  const words = query.get("q") ?? "";
  const items = state.hosts.filter((host) => JSON.stringify(host).includes(words));
  return HttpResponse.json({ items, next_cursor: null, total: items.length, left_out: 0 });
}

/** The one route, and more entries of sets than are shown. */
export function searchAnswer(route: StaticRoute, query: URLSearchParams) {
  const words = query.get("q") ?? "";
  const group = (kind: string, path: string, items: object[], total: number) => ({
    kind,
    path,
    items,
    total,
    next_cursor: total > items.length ? "more" : null,
  });
  const detail = [route.gateway, route.comment].join(", ");
  const groups = [
    JSON.stringify(route).includes(words)
      ? [group("static-route", "static-routes", [{ id: route.id, name: route.destination, detail }], 1)]
      : [],
    words.startsWith("192.0.2.")
      ? [group("set-entry", "set-entries", [{ id: "e7", name: "192.0.2.7/32", detail: "blocked" }], 30)]
      : [],
  ].flat();
  return HttpResponse.json({ groups });
}

const SEVERITIES = ["emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"];

export function logAnswer(state: MockState, query: URLSearchParams) {
  if (state.log === null) return problem(503, "agent-down", "The agent does not answer.");
  const at = state.log.findIndex((line) => line.cursor === query.get("after"));
  const least = SEVERITIES.indexOf(query.get("severity") ?? "info");
  const looked = state.log
    .slice(at + 1)
    .filter((line) => SEVERITIES.indexOf(line.severity) <= least)
    .filter((line) => query.get("source") === null || line.source === query.get("source"));
  const fits = looked.filter((line) => JSON.stringify(line).includes(query.get("q") ?? ""));
  const limit = Number(query.get("limit"));
  const items = at < 0 ? fits.slice(-limit) : fits.slice(0, limit);
  return HttpResponse.json({
    items,
    cursor: (at < 0 ? looked : items).at(-1)?.cursor ?? query.get("after"),
    more: items.length < fits.length || (at < 0 && state.logIsCut),
    looked_at: looked.length,
    looked_from: looked[0]?.at ?? null,
    sources: ["kernel", ...new Set(state.log.map((line) => line.source))],
  });
}

export function leasesAnswer(state: MockState, query: URLSearchParams) {
  if (state.leases === null) return problem(503, "agent-down", "The agent does not answer.");
  const words = query.get("q") ?? "";
  const items = state.leases.filter((lease) => JSON.stringify(lease).includes(words));
  return HttpResponse.json({ items, next_cursor: null, total: items.length });
}

/** A page of so many routes, the first of which is the way to the provider. */
export function routesAnswer(route: StaticRoute, count: number, query: URLSearchParams) {
  const [start, limit] = [Number(query.get("cursor") ?? 0), Number(query.get("limit") ?? 100)];
  const end = Math.min(count, start + limit);
  const items = Array.from({ length: Math.max(0, end - start) }, (_, index): StaticRoute => {
    const number = start + index;
    if (number === 0) return route;
    const destination = `10.${number >> 8}.${number & 255}.0/24`;
    return {
      ...route,
      id: `r${number + 1}`,
      destination,
      distance: 1 + (number % 9),
      comment: `site ${number}`,
    };
  });
  return HttpResponse.json({ items, next_cursor: end < count ? String(end) : null, total: count });
}

// SPDX-License-Identifier: Apache-2.0
import { http, HttpResponse, type HttpHandler } from "msw";
import type { DropsAnswer, Findings, System, Why } from "@/api/types";
import { API, now } from "./answers";
import { dayHandlers } from "./day";
import { incidentHandlers } from "./incidents";
import { interfaceStats, statsOf, systemStats } from "./live";
import { head, pendingNow, type MockState } from "./state";

const FINDINGS: Findings = {
  at: "2026-11-24T12:00:00Z",
  period_s: 5,
  cpu_ms_per_sample: 2,
  findings: [],
  looked_at: [{ id: "cores", what: "each core's packets", figure: null }],
  not_looked_at: [{ id: "waits", what: "how long softirqs wait", reason: "the kernel refuses the probe" }],
  trials: [],
};

const DROPS: DropsAnswer = {
  since: "2026-11-24T11:00:00Z",
  until: "2026-11-24T12:00:00Z",
  packets: 125,
  items: [
    {
      kind: "queue",
      id: "q1",
      reason: "limit",
      text: "over its limit",
      way: "upload",
      interface: null,
      packets: 100,
      share: 0.8,
    },
    {
      kind: "router",
      id: "router",
      reason: "no-route",
      text: "no route leads there",
      way: null,
      interface: null,
      packets: 25,
      share: 0.2,
    },
  ],
  rest_packets: 0,
  unseen: [],
  not_counted: ["packets for a neighbor that does not answer"],
};

const place = (
  name: Why["line"][number]["place"],
  state: Why["line"][number]["state"],
  text: string,
): Why["line"][number] => ({
  place: name,
  subject: name,
  state,
  sentence: text,
  code: null,
  numbers: [],
  fixes: [],
  not_known: [],
});

/** A line on which nothing is wrong; nobody saw a round trip. */
export const WELL: Why = {
  at: "2026-11-24T12:00:00Z",
  queue: { id: "q", name: "q" },
  address: "10.64.0.2",
  towards: "1.1.1.1",
  uplink: null,
  sentence: "It is not this router. Not known: the internet.",
  culprit: null,
  line: [
    place("device", "clear", "10.64.0.2 sends packets."),
    place("access", "clear", "lan0 is up, 1 Gbit/s, 0 errors in 120 s."),
    place("queue", "clear", "It is within its limits."),
    place("router", "clear", "No core dropped a packet; the busiest spends 12% of its time on packets."),
    place("uplink", "clear", "wan0 is up, 1 Gbit/s, 0 errors in 120 s."),
    place("internet", "unknown", "Not known: no round trip was seen in the last minute."),
  ],
  losses: [],
};

export function system(state: MockState): HttpHandler[] {
  const answer = (): System => ({
    version: "0.1.0",
    hostname: "weir-mock",
    kernel: "6.12.0",
    uptime_s: 400_000,
    health: "ok",
    checks: [
      ...(state.unwritable === null
        ? []
        : [{ id: "writing", state: "failed" as const, message: state.unwritable }]),
      { id: "agent", state: "ok", message: "The agent answers." },
    ],
    agent: { connected: true, state: "ok", version: "0.1.0", revision: head(state), since: now() - 1_000 },
    revision: head(state),
    queue_count: state.queues.size,
    warning_count: [...state.queues.values()].filter((queue) => queue.warnings.length > 0).length,
    capabilities: [
      { id: "fq", available: false, reason: "this kernel has no fq; limits are policed instead" },
      { id: "tcx", available: true, reason: null },
    ],
    shapers: [
      {
        interface: "lan0",
        mode: "police",
        reason: "no fq",
        fast_path: false,
        fast_path_reason: "turned off",
      },
    ],
    drift: [],
  });
  return [
    http.get(`${API}/diagnosis/findings`, () => HttpResponse.json(FINDINGS)),
    http.get(`${API}/diagnosis/drops`, () => HttpResponse.json(DROPS)),
    ...dayHandlers(),
    ...incidentHandlers(),
    http.get(`${API}/diagnosis/why`, () => HttpResponse.json(WELL)),
    http.get(`${API}/system`, () => HttpResponse.json(answer())),
    http.get(`${API}/stats/interfaces/:name/history`, ({ params, request }) => {
      const window = new URL(request.url).searchParams.get("window") ?? "1h";
      const step = { "2m": 1, "1h": 60, "24h": 600, "7d": 3_600, "30d": 14_400 }[window] ?? 1;
      const wave = (most: number) =>
        Array.from({ length: 120 }, (_, index) =>
          index > 30 && index < 40 && step > 1 ? null : most * (1 + 0.4 * Math.sin(index / 9)),
        );
      const drops = wave(0);
      return HttpResponse.json({
        id: params["name"],
        window,
        start: now() - 120 * step,
        step_s: step,
        rx: { rate_bps: wave(1e8), drops_ps: drops },
        tx: { rate_bps: wave(2e8), drops_ps: drops },
      });
    }),
    http.get(`${API}/stats/queues`, ({ request }) => {
      const query = new URL(request.url).searchParams;
      const by = query.get("by");
      const items = [...state.queues.values()]
        .map((queue) => statsOf(queue, now()))
        .sort((a, b) =>
          by === "drops"
            ? b.drops_ps.download - a.drops_ps.download
            : b.rate_bps.download - a.rate_bps.download,
        );
      return HttpResponse.json({
        at: now(),
        stale_since: state.staleSince,
        stale_reason: state.staleSince === null ? null : "the agent does not answer",
        items: state.staleSince === null ? items.slice(0, Number(query.get("top") ?? 10)) : [],
      });
    }),
    http.get(`${API}/stats/queues/:id/details`, ({ params }) =>
      HttpResponse.json({
        id: params["id"],
        subqueues: {
          bound: 65_536,
          used: 40,
          upload: null,
          download: {
            rate_bps: 500_000,
            active: 3,
            evicted: 12,
            shared_packets: 0,
            busiest: [
              { address: "10.64.0.7/32", rate_bps: 480_000 },
              { address: null, rate_bps: 9_000 },
            ],
          },
        },
        losses: {
          upload: null,
          download: {
            seen_bytes: 900_000,
            before_bytes: 0,
            before_packets: 0,
            after_bytes: 3_000,
            after_packets: 2,
            age_s: 2.5,
          },
        },
        round_trips: {
          upload: null,
          download: { min_us: 21_000, median_us: 24_000, samples: 5, age_s: 2.5 },
          below: { upload: null, download: { queues: 14, min_us: 1_500, median_us: 18_000, age_s: 0.5 } },
        },
      }),
    ),
    http.get(`${API}/stats/queues/:id/history`, ({ params, request }) => {
      const window = new URL(request.url).searchParams.get("window") ?? "2m";
      const queue = state.queues.get(String(params["id"]));
      const rates = Array.from({ length: 120 }, (_, index) =>
        queue ? statsOf(queue, now() - 120 + index).rate_bps : { upload: 0, download: 0 },
      );
      const side = (direction: "upload" | "download") => ({
        rate_bps: rates.map((rate) => rate[direction]),
        drops_ps: rates.map((_, index) => (index % 30 === 0 ? 4 : 0)),
        early_drops_ps: rates.map((_, index) => (index % 30 === 0 ? 3 : 0)),
        ancestor_drops_ps: rates.map(() => 0),
        marks_ps: rates.map((_, index) => index % 7),
        worst_delay_us: rates.map((_, index) => index * 100),
        round_trip_us: window === "2m" ? null : rates.map((_, index) => 20_000 + index * 100),
      });
      return HttpResponse.json({
        id: params["id"],
        window: "2m",
        start: now() - 120,
        step_s: 1,
        upload: side("upload"),
        download: side("download"),
        delay_reason: null,
        limit_bps: queue?.max_limit_bps ?? { upload: 0, download: 0 },
      });
    }),
    http.get(
      `${API}/stats/stream`,
      ({ request }) =>
        new HttpResponse(
          events(state, new URL(request.url).searchParams.get("ids")?.split(",") ?? [], request.signal),
          { headers: { "Content-Type": "text/event-stream" } },
        ),
    ),
  ];
}

function events(state: MockState, ids: readonly string[], signal: AbortSignal): ReadableStream<Uint8Array> {
  const encode = (name: string, data: unknown) =>
    new TextEncoder().encode(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  return new ReadableStream({
    start(controller) {
      const send = () => {
        const at = Date.now() / 1000;
        const items = ids.flatMap((id) => {
          const queue = state.queues.get(id);
          return queue ? [statsOf(queue, at)] : [];
        });
        if (ids.length > 0)
          controller.enqueue(encode("queues", { at, stale_since: null, stale_reason: null, items }));
        controller.enqueue(
          encode("interfaces", { at, stale_since: null, stale_reason: null, items: interfaceStats(at) }),
        );
        controller.enqueue(encode("system", systemStats(at)));
        controller.enqueue(encode("config", { revision: head(state), pending: pendingNow(state) }));
      };
      send();
      const timer = setInterval(send, 1_000);
      signal.addEventListener("abort", () => clearInterval(timer));
    },
  });
}

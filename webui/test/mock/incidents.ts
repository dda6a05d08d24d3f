// SPDX-License-Identifier: Apache-2.0
import { http, HttpResponse, type HttpHandler } from "msw";
import type { Incident, IncidentHead, Incidents } from "@/api/types";
import { API } from "./answers";

const AT_S = Date.parse("2026-11-24T11:30:00Z") / 1000;
const SECONDS = 240;
const HALF = SECONDS / 2;

const HEADS: IncidentHead[] = [
  {
    id: 2,
    code: "port-down",
    subject: "wan0",
    severity: "error",
    sentence: "wan0 lost its carrier.",
    at: "2026-11-24T11:30:00Z",
    times: 3,
    last_at: "2026-11-24T11:34:00Z",
    state: "whole",
    recorded_until: "2026-11-24T11:32:00Z",
  },
  {
    id: 1,
    code: "commit-failed",
    subject: "configuration",
    severity: "error",
    sentence: "A commit by admin failed, and nothing was changed: wan0 takes no more classes",
    at: "2026-11-24T10:00:00Z",
    times: 1,
    last_at: "2026-11-24T10:00:00Z",
    state: "cut",
    recorded_until: "2026-11-24T10:00:30Z",
  },
];

export const LIST: Incidents = {
  since: "2026-11-24T09:00:00Z",
  kept: 200,
  around_s: 120,
  problems: [],
  items: HEADS,
};

/** So much before it began and so much after; of the ten seconds after it, nothing is known. */
const series = (before: number, after: number): (number | null)[] =>
  Array.from({ length: SECONDS }, (_, second) => {
    const wave = 1 + Math.sin(second / 9) / 10;
    return second >= HALF && second < HALF + 10 ? null : Math.round((second < HALF ? before : after) * wave);
  });

const way = (before: number, after: number, drops: number) => ({
  rate_bps: series(before, after),
  drops_ps: series(0, drops),
});

const detailOf = (head: IncidentHead): Incident => ({
  ...head,
  start: AT_S - HALF,
  cores: Array.from({ length: SECONDS }, (_, second) => (second < HALF ? [0.2, 0.1] : [0.1, 0.9])),
  interfaces: [
    { id: "wan0", rx: way(80e6, 0, 0), tx: way(20e6, 0, 0) },
    { id: "lan0", rx: way(20e6, 4e6, 0), tx: way(80e6, 0, 0) },
  ],
  queues: [
    {
      id: "q1",
      name: "acme",
      upload: { ...way(5e6, 4e6, 30), worst_delay_us: series(4_000, 40_000) },
      download: { ...way(30e6, 0, 0), worst_delay_us: series(9_000, 0) },
    },
  ],
  events: [
    {
      at: "2026-11-24T11:28:30Z",
      code: "commit",
      subject: "revision 7",
      severity: "notice",
      sentence: "Revision 7 was committed by admin: more for acme",
      begins: false,
    },
    {
      at: head.at,
      code: head.code,
      subject: head.subject,
      severity: head.severity,
      sentence: head.sentence,
      begins: true,
    },
  ],
  left_out: 0,
});

export const incidentHandlers = (): HttpHandler[] => [
  http.get(`${API}/diagnosis/incidents`, () => HttpResponse.json(LIST)),
  http.get(`${API}/diagnosis/incidents/:number`, ({ params }) => {
    const head = HEADS.find((item) => String(item.id) === params["number"]);
    return head
      ? HttpResponse.json(detailOf(head))
      : HttpResponse.json(
          {
            code: "no-incident",
            title: "Not Found",
            detail: `There is no incident ${String(params["number"])}.`,
          },
          { status: 404, headers: { "Content-Type": "application/problem+json" } },
        );
  }),
];

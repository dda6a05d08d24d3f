// SPDX-License-Identifier: Apache-2.0
import { http, HttpResponse, type HttpHandler } from "msw";
import type { FiguresAnswer, FigureSeries, Marks } from "@/api/types";
import { API } from "./answers";

const END_S = Date.parse("2026-11-24T12:00:00Z") / 1000;
const MINUTES = 1440;

/** A day's wave between two values; of the ten minutes after noon of the day before, nothing is known. */
const wave = (least: number, most: number): (number | null)[] =>
  Array.from({ length: MINUTES }, (_, minute) =>
    minute < 10 ? null : least + ((most - least) * (1 + Math.sin(minute / 200))) / 2,
  );

const series = (
  figure: FigureSeries["figure"],
  unit: FigureSeries["unit"],
  [least, most]: readonly [number, number],
): FigureSeries => ({
  figure,
  subject: null,
  text: figure,
  unit,
  of: null,
  adds_up: figure === "dropped",
  values: wave(least, most),
  most: figure === "dropped" ? null : wave(least, most * 1.2),
});

export const FIGURES_OF_A_DAY: FiguresAnswer = {
  start: END_S - MINUTES * 60,
  step_s: 60,
  minutes: MINUTES,
  items: [
    series("cores", "share", [0.1, 0.5]),
    series("memory", "share", [0.4, 0.4]),
    series("connections", "count", [1_000, 9_000]),
    series("dropped", "packets", [0, 60]),
  ],
  unseen: [{ id: "neighbours-v4", reason: "the tables of neighbors are the first namespace's" }],
  problems: [],
};

export const MARKS_OF_A_DAY: Marks = {
  whole_since: "2026-11-23T12:00:00Z",
  items: [
    {
      at: "2026-11-23T18:00:00Z",
      kind: "commit",
      severity: "notice",
      sentence: "Revision 7 was committed by admin: more for acme",
      revision: 7,
      incident: null,
    },
    {
      at: "2026-11-24T10:00:00Z",
      kind: "incident",
      severity: "error",
      sentence: "A commit by admin failed, and nothing was changed: wan0 takes no more classes",
      revision: null,
      incident: 1,
    },
    {
      at: "2026-11-24T10:04:00Z",
      kind: "rollback",
      severity: "warning",
      sentence: "The configuration was rolled back",
      revision: 9,
      incident: null,
    },
  ],
};

export const dayHandlers = (): HttpHandler[] => [
  http.get(`${API}/diagnosis/figures`, () => HttpResponse.json(FIGURES_OF_A_DAY)),
  http.get(`${API}/diagnosis/marks`, () => HttpResponse.json(MARKS_OF_A_DAY)),
];

// SPDX-License-Identifier: Apache-2.0
/** The times that graphs show, all of which the router keeps. */
export type Window = "2m" | "1h" | "24h" | "7d" | "30d";

export const SPAN_S: Readonly<Record<Window, number>> = {
  "2m": 120,
  "1h": 3_600,
  "24h": 86_400,
  "7d": 604_800,
  "30d": 2_592_000,
};
export const WINDOWS = [
  { value: "2m", label: "2 min" },
  { value: "1h", label: "1 h" },
  { value: "24h", label: "24 h" },
  { value: "7d", label: "7 d" },
  { value: "30d", label: "30 d" },
];

// SPDX-License-Identifier: Apache-2.0
/** What each page keeps in its address. Unknown or broken values fall back instead of failing. */
import type { QueueSort } from "@/api/queries";
import { zoomOf } from "@/ui/zoom";

type Raw = Record<string, unknown>;

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : typeof value === "number" ? String(value) : undefined;
const flag = (value: unknown): boolean | undefined =>
  value === true || value === 1 || value === "1" || value === "true"
    ? true
    : value === false || value === 0 || value === "0" || value === "false"
      ? false
      : undefined;
const whole = (value: unknown): number | undefined =>
  Number.isInteger(Number(value)) && value !== "" && value !== null && value !== undefined
    ? Number(value)
    : undefined;
const positive = (value: unknown): number | undefined => {
  const number = whole(value);
  return number !== undefined && number > 0 ? number : undefined;
};
function oneOf<T extends string>(value: unknown, choices: readonly T[]): T | undefined {
  return choices.find((choice) => choice === value);
}

export const QUEUE_SORTS: readonly QueueSort[] = [
  "position",
  "name",
  "id",
  "max_limit_upload",
  "max_limit_download",
  "rate_upload",
  "rate_download",
  "drops",
];
const SIGNED_SORTS = QUEUE_SORTS.flatMap((sort) => [sort, `-${sort}` as const]);

export interface QueuesSearch {
  q?: string;
  sort?: QueueSort | `-${QueueSort}`;
  parent?: string;
  disabled?: boolean;
  warnings?: boolean;
  view?: "tree";
  /** The unfolded queues of the tree, by id, with a "~" between them: no id has one. */
  open?: string;
  cols?: string;
  /** The open drawer: a queue's id, `new`, or `selected` for the edit of many. */
  edit?: string;
  /** What a new queue limits. */
  target?: string;
}

export const queues = (raw: Raw): QueuesSearch => ({
  q: text(raw["q"]),
  sort: oneOf(raw["sort"], SIGNED_SORTS),
  parent: text(raw["parent"]),
  disabled: flag(raw["disabled"]),
  warnings: flag(raw["warnings"]),
  view: oneOf(raw["view"], ["tree"]),
  open: text(raw["open"]),
  cols: text(raw["cols"]),
  edit: text(raw["edit"]),
  target: text(raw["target"]),
});

/** `make`: the address of the lease that becomes a reservation. */
export const leases = (raw: Raw): { q?: string; make?: string } => ({
  q: text(raw["q"]),
  make: text(raw["make"]),
});
/** `target`: whom a tool is to look at; `interface` and `queue` where it takes one of these. */
export interface ToolsSearch {
  tool?: string;
  target?: string;
  interface?: string;
  queue?: string;
}
export const tools = (raw: Raw): ToolsSearch => ({
  tool: text(raw["tool"]),
  target: text(raw["target"]),
  interface: text(raw["interface"]),
  queue: text(raw["queue"]),
});
/** The packet whose way is asked about. */
export interface PathSearch {
  from?: string;
  to?: string;
  protocol?: string;
  port?: string;
  /** An interface, or "-": the router itself sends it. */
  in?: string;
  /** With what is pending. */
  pending?: boolean;
}
/** `address`: the customer whose line is looked at. */
export const diagnostics = (raw: Raw): { address?: string; incident?: number } & PathSearch => ({
  address: text(raw["address"]),
  incident: positive(raw["incident"]),
  from: text(raw["from"]),
  to: text(raw["to"]),
  protocol: text(raw["protocol"]),
  port: text(raw["port"]),
  in: text(raw["in"]),
  pending: flag(raw["pending"]),
});
export const LOG_SEVERITIES = [
  "emergency",
  "alert",
  "critical",
  "error",
  "warning",
  "notice",
  "info",
  "debug",
] as const;
/** Which lines of the log; without a severity "info" and worse. */
export interface LogSearch {
  q?: string;
  source?: string;
  severity?: (typeof LOG_SEVERITIES)[number];
}
export const log = (raw: Raw): LogSearch => ({
  q: text(raw["q"]),
  source: text(raw["source"]),
  severity: oneOf(raw["severity"], LOG_SEVERITIES),
});
export const hosts = (raw: Raw): { q?: string } => ({ q: text(raw["q"]) });

/** A part of the graphs' time, as `1700000000-1700000060`. */
const zoom = (value: unknown): string | undefined => (zoomOf(text(value)) ? text(value) : undefined);

export const traffic = (raw: Raw): { direction?: "upload" } => ({
  direction: oneOf(raw["direction"], ["upload"]),
});
export const overview = (raw: Raw): { zoom?: string } => ({ zoom: zoom(raw["zoom"]) });
export const queue = (raw: Raw): { window?: "1h" | "24h" | "7d" | "30d"; edit?: boolean; zoom?: string } => ({
  window: oneOf(raw["window"], ["1h", "24h", "7d", "30d"]),
  edit: flag(raw["edit"]),
  zoom: zoom(raw["zoom"]),
});
/** The list of a declared kind, and the drawer beside it: an id, or `new`. */
export interface KindSearch {
  q?: string;
  /** A field, with "-" before it from the largest on. */
  sort?: string;
  /** Shown columns with a "." between them. */
  cols?: string;
  edit?: string;
}

export const kind = (raw: Raw): KindSearch => ({
  q: text(raw["q"]),
  sort: text(raw["sort"]),
  cols: text(raw["cols"]),
  edit: text(raw["edit"]),
});
export const tuning = (raw: Raw): { show?: "differs" | "overridden"; edit?: string } => ({
  show: oneOf(raw["show"], ["differs", "overridden"]),
  edit: text(raw["edit"]),
});
export const signIn = (raw: Raw): { next?: string } => ({ next: text(raw["next"]) });
export const importReport = (
  raw: Raw,
): { report?: string; fate?: "imported" | "changed" | "warning" | "left_out"; q?: string } => ({
  report: text(raw["report"]),
  fate: oneOf(raw["fate"], ["imported", "changed", "warning", "left_out"]),
  q: text(raw["q"]),
});
export const history = (raw: Raw): { from?: number; to?: number; restore?: number } => ({
  from: whole(raw["from"]),
  to: whole(raw["to"]),
  restore: whole(raw["restore"]),
});
export const users = (raw: Raw): { tab?: "tokens" | "audit" } => ({
  tab: oneOf(raw["tab"], ["tokens", "audit"]),
});

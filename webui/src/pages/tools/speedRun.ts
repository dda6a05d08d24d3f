// SPDX-License-Identifier: Apache-2.0
/**
 * The speed test as the browser sees it: the run is the answer to a request (`runTool.ts`); while it is held, bytes go
 * each way and round trips are timed. What is downloaded is counted here, what is uploaded by the router.
 */
import { problemOf, unreachable } from "@/api/problem";
import { csrf, sessionRefused } from "@/api/session";
import { eventsOf, startTool, type ToolEvent } from "./runTool";

export interface Trips {
  count: number;
  /** Null: too few answers came. */
  medianMs: number | null;
  p95Ms: number | null;
}

export interface Load extends Trips {
  /** Of the time behind the first second; null: that was too short. */
  rateBps: number | null;
}

/** As the router tells it: docs/api/openapi.json. */
export interface Way {
  address: string;
  interface: string | null;
  queue: { id: string; name: string; limit_bps: number } | null;
  unknown: string | null;
}

export interface Told {
  step?: "idle" | "download" | "upload";
  way?: Way;
  idle?: Trips;
  download?: Load;
  upload?: Load;
  /** Whether all requests share one connection; null: the browser does not say. */
  isShared?: boolean | null;
}

/** Bytes so far, by milliseconds. */
type Mark = readonly [ms: number, bytes: number];

const IDLE_MS = 2_000;
/** Between an answer and the next question. */
const EVERY_MS = 100;
/** TCP finds out how fast it may be. */
const SETTLE_MS = 1_000;
/** A browser opens six to one address by HTTP/1.1: these, the run, the round trips and the live figures. */
const CONNECTIONS = 3;
const UPLOAD_BYTES = 8 << 20;
const MOST_RANDOM_BYTES = 65_536;

/** Resolves when all is measured; fails with an `ApiProblem`, or with the signal's reason. */
export async function measureSpeed(seconds: number, signal: AbortSignal, tell: (told: Told) => void) {
  const held = new AbortController();
  const both = AbortSignal.any([signal, held.signal]);
  try {
    const answer = await startTool("speed", { seconds }, both);
    const run = await follow(eventsOf(answer, both));
    const path = `/api/v1/tools/speed/${run.id}`;
    const timed = timer(path, both);
    tell({ way: run.way, step: "idle" });
    await timed.echo();
    tell({ idle: tripsOf(await timed.during(IDLE_MS, () => undefined)), isShared: sharesOne() });
    const down = (load: Load) => tell({ step: "download", download: load });
    await loaded(timed, seconds, both, down, download(path));
    const up = (load: Load) => tell({ step: "upload", upload: load });
    await loaded(timed, seconds, both, up, upload(path, run.uploaded));
  } finally {
    held.abort();
  }
}

interface Run {
  id: string;
  way: Way;
  /** What the router has counted, by its clock. */
  uploaded: readonly Mark[];
}

/** The run's beginning; its events are read on. */
async function follow(events: AsyncGenerator<ToolEvent>): Promise<Run> {
  const uploaded: Mark[] = [];
  for (;;) {
    const next = await events.next();
    if (next.done) throw unreachable();
    if (next.value.event !== "run") continue;
    const { id, path } = next.value.data as { id: string; path: Way };
    void keep(events, uploaded);
    return { id, way: path, uploaded };
  }
}

async function keep(events: AsyncGenerator<ToolEvent>, uploaded: Mark[]): Promise<void> {
  try {
    for await (const { event, data } of events)
      if (event === "counted") uploaded.push([Number(data.ms), Number(data.received_bytes)]);
  } catch {
    // The run is over; the next request of it says so.
  }
}

interface Work {
  /** One of several that transfer at once, until the signal. */
  transfer: (signal: AbortSignal) => Promise<void>;
  marks: () => readonly Mark[];
}

/** Round trips while the work is done; each tells what was measured so far. */
async function loaded(
  timed: Timer,
  seconds: number,
  signal: AbortSignal,
  tell: (load: Load) => void,
  work: Work,
): Promise<void> {
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const failed: { why?: unknown } = {};
  const transfers = Array.from({ length: CONNECTIONS }, () =>
    work.transfer(until).catch((why: unknown) => {
      if (!until.aborted) failed.why = why;
    }),
  );
  try {
    await timed.during(seconds * 1000, (found) => {
      if (failed.why !== undefined) throw failed.why;
      tell({ ...tripsOf(found), rateBps: rateOf(work.marks()) });
    });
  } finally {
    over.abort();
    await Promise.all(transfers);
  }
}

function download(path: string): Work {
  const marks: Mark[] = [];
  let came = 0;
  return {
    transfer: async (signal) => {
      const answer = await ask(`${path}/download`, { signal });
      const reader = answer.body?.getReader();
      signal.addEventListener("abort", () => void reader?.cancel().catch(() => undefined));
      for (;;) {
        const part = await reader?.read();
        if (!part || part.done) return;
        came += part.value.byteLength;
      }
    },
    marks: () => {
      marks.push([performance.now(), came]);
      return marks;
    },
  };
}

function upload(path: string, uploaded: readonly Mark[]): Work {
  const body = randomBytes();
  const from = uploaded.length;
  return {
    transfer: async (signal) => {
      const headers = { "Content-Type": "application/octet-stream", "X-CSRF-Token": csrf() ?? "" };
      while (!signal.aborted)
        await (await ask(`${path}/upload`, { method: "POST", body, headers, signal })).arrayBuffer();
    },
    marks: () => uploaded.slice(from),
  };
}

/** Two pieces again and again: more than compression looks back. */
function randomBytes(): Blob {
  const pieces = [0, 1].map(() => crypto.getRandomValues(new Uint8Array(MOST_RANDOM_BYTES)));
  const count = UPLOAD_BYTES / MOST_RANDOM_BYTES / pieces.length;
  return new Blob(Array.from({ length: count }, () => pieces).flat());
}

interface Timer {
  echo: () => Promise<number>;
  during: (ms: number, tell: (found: readonly number[]) => void) => Promise<number[]>;
}

function timer(path: string, signal: AbortSignal): Timer {
  const echo = async () => {
    const began = performance.now();
    await ask(`${path}/echo`, { signal });
    return performance.now() - began;
  };
  const during = async (ms: number, tell: (found: readonly number[]) => void) => {
    const found: number[] = [];
    const until = performance.now() + ms;
    while (performance.now() < until) {
      found.push(await echo());
      tell(found);
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
    return found;
  };
  return { echo, during };
}

async function ask(path: string, init: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await globalThis.fetch(new URL(path, window.location.origin), {
      credentials: "same-origin",
      cache: "no-store",
      ...init,
    });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw unreachable();
  }
  if (answer.status === 401) sessionRefused();
  if (!answer.ok) throw problemOf(await answer.json().catch(() => null), answer);
  return answer;
}

export function rateOf(marks: readonly Mark[]): number | null {
  const settled = marks.filter(([ms]) => ms >= (marks[0]?.[0] ?? 0) + SETTLE_MS);
  const [first, last] = [settled[0], settled.at(-1)];
  if (!first || !last || last[0] <= first[0]) return null;
  return Math.round(((last[1] - first[1]) * 8_000) / (last[0] - first[0]));
}

export function tripsOf(found: readonly number[]): Trips {
  if (found.length < 2) return { count: found.length, medianMs: null, p95Ms: null };
  const sorted = [...found].sort((a, b) => a - b);
  return { count: found.length, medianMs: quantile(sorted, 0.5), p95Ms: quantile(sorted, 0.95) };
}

/** Between the two nearest, as the command does it. */
function quantile(sorted: readonly number[], share: number): number {
  const at = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)] ?? 0, sorted[Math.ceil(at)] ?? 0];
  return low + (high - low) * (at - Math.floor(at));
}

/** Whether the requests go by HTTP/2 or 3, which need one connection for all; null: the browser does not say. */
function sharesOne(): boolean | null {
  const seen = (performance as Partial<Performance>).getEntriesByType?.("resource") ?? [];
  const own = (seen as PerformanceResourceTiming[]).filter((item) =>
    item.name.startsWith(window.location.origin),
  );
  const protocol = own.map((item) => item.nextHopProtocol).find((name) => name !== "");
  return protocol === undefined ? null : /^h[23]/.test(protocol);
}

/** What load adds to the median, mean of both directions; null: it was not measured. */
export function addedMs({ idle, download, upload }: Told): number | null {
  const all = [idle?.medianMs, download?.medianMs, upload?.medianMs];
  const [still, down, up] = all;
  if (still == null || down == null || up == null) return null;
  return Math.max(0, (down + up) / 2 - still);
}

/** Bufferbloat by the milliseconds that load adds, mean of both directions (dslreports.com/faq/17930). */
const GRADES = [
  ["A+", 5],
  ["A", 30],
  ["B", 60],
  ["C", 200],
  ["D", 400],
] as const;
export const gradeOf = (added: number): string => GRADES.find(([, below]) => added < below)?.[0] ?? "F";

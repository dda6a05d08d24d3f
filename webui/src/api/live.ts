// SPDX-License-Identifier: Apache-2.0
import { useSyncExternalStore } from "react";
import type { InterfaceStatsAnswer, Pending, QueueStats, QueueStatsAnswer, SystemStats } from "./types";

/**
 * One event stream for the whole page. What shows a queue subscribes to it; the stream is asked
 * for the union of what is on the screen, and the new stream is open before the old one closes.
 * Measurements do not pass through React: a listener writes its own cell.
 */

/** `silent`: the router itself says nothing, not even that its measurements are old. */
export type Freshness =
  | { state: "connecting" }
  | { state: "live" }
  | { state: "stale"; since: number | null; reason: string; silent: boolean };

interface ConfigEvent {
  revision: number;
  pending: Pending | null;
}

/** What is learnt about one object, as `/{collection}/{id}/state` has it. */
export interface Learnt {
  id: string;
  /** When it was so; null: it was never known. */
  at: string | null;
  stale_reason: string | null;
  fields: Readonly<Record<string, unknown>>;
}

/** What changed; `at` is when all that is not stale was so, also what is not among the items. */
export interface StatesEvent {
  at: string | null;
  items: readonly (Learnt & { kind: string })[];
}

const STALE_AFTER_MS = 3_500;
const ASK_AFTER_MS = 200;
const RETRY_AFTER_MS = 2_000;
export const MAX_WATCHED = 400;

type QueueListener = (stats: QueueStats | null) => void;

class Topic<T> {
  value: T | null = null;
  private readonly listeners = new Set<() => void>();
  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  set(value: T | null): void {
    this.value = value;
    for (const listener of this.listeners) listener();
  }
}

export class LiveFeed {
  readonly freshness = new Topic<Freshness>();
  readonly interfaces = new Topic<InterfaceStatsAnswer>();
  readonly system = new Topic<SystemStats>();
  readonly config = new Topic<ConfigEvent>();
  readonly queuesAt = new Topic<number>();
  private readonly queues = new Map<string, QueueStats>();
  private readonly watchers = new Map<string, Set<QueueListener>>();
  /** How many rows follow a queue's measurements, which somebody else reads. */
  private readonly followed = new Map<string, number>();
  private reader: ((text: string | null) => void) | null = null;
  /** The last measurement, while nobody here has asked for what is in it. */
  private unread: string | null = null;
  /** By `kind/id`, or a kind for all of it. */
  private readonly stateWatchers = new Map<string, Set<(event: StatesEvent) => void>>();
  private source: EventSource | null = null;
  private asked = "";
  private askTimer: number | undefined;
  private retryTimer: number | undefined;
  private watchdog: number | undefined;
  private heardMs = 0;
  private running = false;
  private lastAt: number | null = null;

  start(): void {
    if (this.running) return;
    this.running = true;
    this.freshness.set({ state: "connecting" });
    document.addEventListener("visibilitychange", this.onVisibility);
    this.open();
  }

  /** The router serves a bounded number of streams: a hidden tab gives its own back. */
  private readonly onVisibility = (): void => {
    if (document.hidden) this.close();
    else if (this.source === null) {
      this.freshness.set({ state: "connecting" });
      this.open();
    }
  };

  /** Figures that are not followed any more are not known any more. */
  stop(): void {
    this.running = false;
    document.removeEventListener("visibilitychange", this.onVisibility);
    this.close();
    this.lastAt = null;
    this.queues.clear();
    this.unread = null;
    this.reader?.(null);
    for (const topic of [this.freshness, this.interfaces, this.system, this.config, this.queuesAt])
      topic.set(null);
  }

  private close(): void {
    this.source?.close();
    this.source = null;
    window.clearTimeout(this.askTimer);
    window.clearTimeout(this.retryTimer);
    window.clearTimeout(this.watchdog);
    this.watchdog = undefined;
  }

  latest(id: string): QueueStats | null {
    this.readNow();
    return this.queues.get(id) ?? null;
  }

  /** Measurements of queues are also given to `reader` as they came, while rows follow them; null: none is known any more. */
  readElsewhere(reader: (text: string | null) => void): void {
    this.reader = reader;
  }

  /** The reader has read a measurement. */
  wasRead({ at, stale_since, stale_reason }: Omit<QueueStatsAnswer, "items">): void {
    // The page itself may have read the same.
    if (!this.running || (this.queuesAt.value === at && stale_since === null)) return;
    this.queuesAt.set(at);
    this.fresh(at, stale_since, stale_reason);
  }

  /** Asks for a queue's measurements, for a row that the reader shows. */
  follow(id: string): () => void {
    const rows = this.followed.get(id) ?? 0;
    this.followed.set(id, rows + 1);
    if (rows === 0) this.askSoon();
    return () => {
      const left = (this.followed.get(id) ?? 1) - 1;
      if (left > 0) this.followed.set(id, left);
      else {
        this.followed.delete(id);
        this.askSoon();
      }
    };
  }

  /** The listener is called at once with what is known, then with every measurement. */
  watch(id: string, listener: QueueListener): () => void {
    let listeners = this.watchers.get(id);
    if (!listeners) {
      listeners = new Set();
      this.watchers.set(id, listeners);
      this.askSoon();
    }
    listeners.add(listener);
    listener(this.latest(id));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.watchers.get(id) === listeners) {
        this.watchers.delete(id);
        this.askSoon();
      }
    };
  }

  /** The listener is told what changes about a kind, or about `kind/id`: everything at first. */
  watchStates(asked: string, listener: (event: StatesEvent) => void): () => void {
    const listeners = this.stateWatchers.get(asked) ?? new Set();
    this.stateWatchers.set(asked, listeners.add(listener));
    this.askSoon();
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.stateWatchers.get(asked) === listeners) {
        this.stateWatchers.delete(asked);
        this.askSoon();
      }
    };
  }

  private askSoon(): void {
    window.clearTimeout(this.askTimer);
    this.askTimer = window.setTimeout(() => {
      if (this.running && !document.hidden && this.address() !== this.asked) this.open();
    }, ASK_AFTER_MS);
  }

  private address(): string {
    const ids = [...new Set([...this.watchers.keys(), ...this.followed.keys()])].sort().slice(0, MAX_WATCHED);
    const states = [...this.stateWatchers.keys()].sort().slice(0, MAX_WATCHED);
    const topics = ["interfaces", "system", "config"];
    if (ids.length > 0) topics.unshift("queues");
    if (states.length > 0) topics.push("states");
    const query = new URLSearchParams({ topics: topics.join(",") });
    if (ids.length > 0) query.set("ids", ids.join(","));
    if (states.length > 0) query.set("states", states.join(","));
    return `/api/v1/stats/stream?${query.toString()}`;
  }

  private open(): void {
    window.clearTimeout(this.retryTimer);
    const previous = this.source;
    this.asked = this.address();
    const source = new EventSource(this.asked);
    this.source = source;
    const onText = (name: string, take: (text: string) => void) => {
      source.addEventListener(name, (event: MessageEvent<string>) => {
        if (this.source !== source) return;
        previous?.close();
        take(event.data);
      });
    };
    const on = (name: string, take: (data: never) => void) =>
      onText(name, (text) => take(JSON.parse(text) as never));
    onText("queues", (text) => this.takeQueues(text));
    on("interfaces", (data: InterfaceStatsAnswer) => {
      this.interfaces.set(data);
      this.fresh(data.at, data.stale_since, data.stale_reason);
    });
    on("system", (data: SystemStats) => this.system.set(data));
    on("states", (data: StatesEvent) => {
      for (const listeners of this.stateWatchers.values()) for (const listener of listeners) listener(data);
    });
    on("config", (data: ConfigEvent) => this.config.set(data));
    on("stale", (data: { at: number; since: number; reason: string }) =>
      this.fresh(data.at, data.since, data.reason),
    );
    source.onerror = () => {
      previous?.close();
      if (this.source === source) this.lost(source);
    };
    this.armWatchdog();
  }

  /** What only rows of a list show is not read here, unless somebody asks. */
  private takeQueues(text: string): void {
    this.unread = text;
    const isRead = this.reader !== null && this.followed.size > 0;
    if (!isRead || this.watchers.size > 0) {
      const data = this.readNow();
      for (const item of data?.items ?? [])
        for (const listener of this.watchers.get(item.id) ?? []) listener(item);
      if (data) this.wasRead(data);
    }
    if (isRead) this.reader?.(text);
    this.armWatchdog();
  }

  private readNow(): QueueStatsAnswer | null {
    if (this.unread === null) return null;
    const data = JSON.parse(this.unread) as QueueStatsAnswer;
    this.unread = null;
    for (const item of data.items) this.queues.set(item.id, item);
    return data;
  }

  private fresh(at: number, staleSince: number | null, reason: string | null): void {
    this.lastAt = staleSince ?? at;
    if (staleSince !== null)
      this.freshness.set({
        state: "stale",
        since: staleSince,
        reason: reason ?? "no new measurements",
        silent: false,
      });
    else if (this.freshness.value?.state !== "live") this.freshness.set({ state: "live" });
    this.armWatchdog();
  }

  /** The timer is not set again with each event: when it ends, it looks how long ago the last one was. */
  private armWatchdog(): void {
    this.heardMs = performance.now();
    this.watchdog ??= window.setTimeout(() => this.bark(), STALE_AFTER_MS);
  }

  private bark(): void {
    const leftMs = this.heardMs + STALE_AFTER_MS - performance.now();
    this.watchdog = leftMs > 0 ? window.setTimeout(() => this.bark(), leftMs) : undefined;
    if (leftMs <= 0)
      this.freshness.set({ state: "stale", since: this.lastAt, reason: "reconnecting", silent: true });
  }

  /** The browser retries a broken stream by itself, but gives up on an answer other than 200. */
  private lost(source: EventSource): void {
    if (source.readyState !== EventSource.CLOSED || !this.running) return;
    this.retryTimer = window.setTimeout(() => this.open(), RETRY_AFTER_MS);
  }
}

export const live = new LiveFeed();

export const useFreshness = (): Freshness =>
  useSyncExternalStore(live.freshness.subscribe, () => live.freshness.value) ?? { state: "connecting" };
/** Whether what is shown may be long untrue, because nobody answers. */
export const useSilence = (): boolean => {
  const freshness = useFreshness();
  return freshness.state === "stale" && freshness.silent;
};
export const useLiveInterfaces = (): InterfaceStatsAnswer | null =>
  useSyncExternalStore(live.interfaces.subscribe, () => live.interfaces.value);
export const useLiveSystem = (): SystemStats | null =>
  useSyncExternalStore(live.system.subscribe, () => live.system.value);
/** Changes with every batch of queue measurements; for the few places that show them through React. */
export const useQueuesAt = (): number | null =>
  useSyncExternalStore(live.queuesAt.subscribe, () => live.queuesAt.value);

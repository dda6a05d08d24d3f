// SPDX-License-Identifier: Apache-2.0
import type { Pair, Queue, QueueInput } from "@/api/types";
import { durationText, exactRate, parseDuration, parseRate, type Parsed } from "@/ui/rates";

/** What both directions share, one text for each field. */
export interface TotalValues {
  max_limit_bps: string;
  limit_at_bps: string;
  burst_limit_bps: string;
  burst_threshold_bps: string;
  burst_time_ms: string;
  priority: string;
  queue_type: string;
  bucket_size_ms: string;
}

/** The queue form as it is typed: text everywhere, so that nothing half-typed is lost or "corrected". */
export interface QueueValues {
  name: string;
  target: string;
  dst: string;
  parent: string | null;
  position: string;
  comment: string;
  disabled: boolean;
  max_limit_bps: Pair<string>;
  limit_at_bps: Pair<string>;
  priority: Pair<string>;
  burst_limit_bps: Pair<string>;
  burst_threshold_bps: Pair<string>;
  burst_time_ms: Pair<string>;
  queue_type: Pair<string>;
  bucket_size_ms: Pair<string>;
  scheduled: boolean;
  start: string;
  end: string;
  days: string[];
  total: TotalValues;
}

export const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
const both = (text: string): Pair<string> => ({ upload: text, download: text });

const EMPTY_TOTAL: TotalValues = {
  max_limit_bps: "",
  limit_at_bps: "",
  burst_limit_bps: "",
  burst_threshold_bps: "",
  burst_time_ms: "",
  priority: "8",
  queue_type: "default-small",
  bucket_size_ms: "100ms",
};

export const EMPTY_QUEUE: QueueValues = {
  name: "",
  target: "",
  dst: "",
  parent: null,
  position: "",
  comment: "",
  disabled: false,
  max_limit_bps: both(""),
  limit_at_bps: both(""),
  priority: both("8"),
  burst_limit_bps: both(""),
  burst_threshold_bps: both(""),
  burst_time_ms: both(""),
  queue_type: both("default-small"),
  bucket_size_ms: both("100ms"),
  scheduled: false,
  start: "08:00",
  end: "18:00",
  days: [...DAYS],
  total: EMPTY_TOTAL,
};

const rateText = (rateBps: number): string => (rateBps === 0 ? "" : exactRate(rateBps));
const mapPair = <A, B>(pair: Pair<A>, map: (value: A) => B): Pair<B> => ({
  upload: map(pair.upload),
  download: map(pair.download),
});

const timeText = (ms: number): string => (ms === 0 ? "" : durationText(ms));

const totalOf = (total: Queue["total"]): TotalValues => ({
  max_limit_bps: rateText(total.max_limit_bps),
  limit_at_bps: rateText(total.limit_at_bps),
  burst_limit_bps: rateText(total.burst_limit_bps),
  burst_threshold_bps: rateText(total.burst_threshold_bps),
  burst_time_ms: timeText(total.burst_time_ms),
  priority: String(total.priority),
  queue_type: total.queue_type,
  bucket_size_ms: durationText(total.bucket_size_ms),
});

export function valuesOf(queue: Queue): QueueValues {
  return {
    name: queue.name,
    target: queue.target.join("\n"),
    dst: queue.dst ?? "",
    parent: queue.parent,
    position: String(queue.position),
    comment: queue.comment,
    disabled: queue.disabled,
    max_limit_bps: mapPair(queue.max_limit_bps, rateText),
    limit_at_bps: mapPair(queue.limit_at_bps, rateText),
    priority: mapPair(queue.priority, String),
    burst_limit_bps: mapPair(queue.burst_limit_bps, rateText),
    burst_threshold_bps: mapPair(queue.burst_threshold_bps, rateText),
    burst_time_ms: mapPair(queue.burst_time_ms, timeText),
    queue_type: { ...queue.queue_type },
    bucket_size_ms: mapPair(queue.bucket_size_ms, durationText),
    scheduled: queue.time !== null,
    start: queue.time?.start ?? "08:00",
    end: queue.time?.end ?? "18:00",
    days: [...(queue.time?.days ?? DAYS)],
    total: totalOf(queue.total),
  };
}

/** Empty means none: no limit, no guarantee, no burst. */
export const optionalRate = (text: string): Parsed<number> =>
  text.trim() === "" ? { ok: true, value: 0 } : parseRate(text);
const optionalDuration = (text: string): Parsed<number> =>
  text.trim() === "" ? { ok: true, value: 0 } : parseDuration(text);
const priorityOf = (text: string): Parsed<number> =>
  /^[1-8]$/.test(text.trim())
    ? { ok: true, value: Number(text) }
    : { ok: false, message: "1 (first) to 8 (last)." };

export const splitTargets = (text: string): string[] => text.split(/[\s,;]+/).filter(Boolean);

export type Messages = Record<string, string>;

type Take = (field: string, parsed: Parsed<number>) => number;

const readTotal = (total: TotalValues, take: Take): NonNullable<QueueInput["total"]> => ({
  max_limit_bps: take("total.max_limit_bps", optionalRate(total.max_limit_bps)),
  limit_at_bps: take("total.limit_at_bps", optionalRate(total.limit_at_bps)),
  burst_limit_bps: take("total.burst_limit_bps", optionalRate(total.burst_limit_bps)),
  burst_threshold_bps: take("total.burst_threshold_bps", optionalRate(total.burst_threshold_bps)),
  burst_time_ms: take("total.burst_time_ms", optionalDuration(total.burst_time_ms)),
  priority: take("total.priority", priorityOf(total.priority)),
  queue_type: total.queue_type,
  bucket_size_ms: take("total.bucket_size_ms", optionalDuration(total.bucket_size_ms)),
});

/** The queue to send, or what is wrong with which field; the API checks the rest. */
export function readQueue(
  values: QueueValues,
  base: QueueInput | null,
): { input: QueueInput; messages: Messages } {
  const messages: Messages = {};
  const take: Take = (field, parsed) => {
    if (parsed.ok) return parsed.value;
    messages[field] = parsed.message;
    return 0;
  };
  const pair = (
    field: string,
    texts: Pair<string>,
    parse: (text: string) => Parsed<number>,
  ): Pair<number> => ({
    upload: take(`${field}.upload`, parse(texts.upload)),
    download: take(`${field}.download`, parse(texts.download)),
  });
  if (values.name.trim() === "") messages["name"] = "A queue needs a name.";
  const input: QueueInput = {
    ...base,
    name: values.name,
    target: splitTargets(values.target),
    dst: values.dst.trim() || null,
    parent: values.parent,
    max_limit_bps: pair("max_limit_bps", values.max_limit_bps, optionalRate),
    limit_at_bps: pair("limit_at_bps", values.limit_at_bps, optionalRate),
    priority: pair("priority", values.priority, priorityOf),
    burst_limit_bps: pair("burst_limit_bps", values.burst_limit_bps, optionalRate),
    burst_threshold_bps: pair("burst_threshold_bps", values.burst_threshold_bps, optionalRate),
    burst_time_ms: pair("burst_time_ms", values.burst_time_ms, optionalDuration),
    queue_type: values.queue_type,
    bucket_size_ms: pair("bucket_size_ms", values.bucket_size_ms, optionalDuration),
    time: values.scheduled
      ? { start: values.start, end: values.end, days: DAYS.filter((day) => values.days.includes(day)) }
      : null,
    total: readTotal(values.total, take),
    comment: values.comment,
    disabled: values.disabled,
  };
  if (values.position.trim() !== "") {
    if (/^\d+$/.test(values.position.trim())) input.position = Number(values.position);
    else messages["position"] = "A whole number; lower comes first.";
  }
  if (values.scheduled && input.time?.days?.length === 0) messages["time.days"] = "Choose at least one day.";
  return { input, messages };
}

/**
 * The longest burst from idle in seconds, in whole slots of burst-time/16 (MikroTik manual,
 * "Queue Burst"): threshold x burst-time / burst-limit. 0 when it never bursts.
 */
export function longestBurstS(burstLimitBps: number, thresholdBps: number, burstTimeMs: number): number {
  if (burstLimitBps === 0 || thresholdBps === 0 || burstTimeMs === 0) return 0;
  const slotMs = burstTimeMs / 16;
  return (Math.ceil((thresholdBps * burstTimeMs) / burstLimitBps / slotMs - 1e-9) * slotMs) / 1000;
}

// SPDX-License-Identifier: Apache-2.0
/** Numbers and times as text. Rates are in rates.ts. */

const BYTE_UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/** Decimal bytes with three significant digits: `1.24 GB`. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < BYTE_UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value.toFixed(0) : value.toPrecision(3)} ${BYTE_UNITS[unit] ?? "B"}`;
}

/** `10,026`: grouped as the router groups numbers in its messages. */
export const countText = (count: number): string => count.toLocaleString("en-US");

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${countText(count)} ${count === 1 ? one : many}`;

/** A share 0..1 as whole percent; small but present shares do not read as nothing. */
export function percentText(share: number): string {
  if (share > 0 && share < 0.01) return "<1 %";
  return `${Math.round(share * 100)} %`;
}

/** Words that a name never is: only these may be given a capital letter. */
const OPENER = /^(the|a|an|there|this|no|it|its|nobody|another|only|more|each|not|nothing)\b/;
export const capital = (text: string): string =>
  text.trim().replace(OPENER, (word) => word.charAt(0).toUpperCase() + word.slice(1));

/** `The agent is away: the agent is away since noon` is `The agent is away since noon`: a reason that begins with the remark says it all. */
export const saidOnce = (text: string): string =>
  capital(text.replace(/^(?<remark>.{8,}?): (?=\k<remark>)/i, ""));

/** The router's remark with one full stop at its end, however it came. */
export const sentence = (text: string): string => `${capital(text).replace(/[.]+$/, "")}.`;

/** The same behind a colon. */
export const clause = (text: string): string =>
  sentence(text).replace(new RegExp(OPENER, "i"), (word) => word.toLowerCase());

/** A target as a table shows it: one host needs no prefix length. */
export const targetText = (target: string): string => target.replace(/(?<=^[\d.]+)\/32$|(?<=:.*)\/128$/, "");

/** Microseconds as `0.4 ms`, `12 ms`, `1.2 s`. */
export function delayText(delayUs: number): string {
  if (delayUs < 0.5) return "0";
  if (delayUs < 1_000) return `${Math.round(delayUs)} µs`;
  if (delayUs < 10_000) return `${(delayUs / 1_000).toFixed(1)} ms`;
  if (delayUs < 1_000_000) return `${Math.round(delayUs / 1_000)} ms`;
  return `${(delayUs / 1_000_000).toFixed(1)} s`;
}

/** `3 d 4 h`, `12 min`, `8 s`: two units at most. */
export function spanText(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3_600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3_600)} h ${Math.floor((s % 3_600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3_600)} h`;
}

/** Accepts seconds since 1970 or an ISO text, as the API may give either. */
export const toDate = (at: number | string): Date => new Date(typeof at === "number" ? at * 1000 : at);

export const clockText = (at: number | string): string => toDate(at).toLocaleTimeString("en-GB");

export const stampText = (at: number | string): string => {
  const date = toDate(at);
  const day = date.toLocaleDateString("en-CA");
  return `${day} ${date.toLocaleTimeString("en-GB")}`;
};

/** Clocks of browser and router differ by as much; what is later than that is to come. */
const APART_S = 60;

/** `just now`, `5 min ago`, `3 h ago`, then the date; `in 3 h` of what is to come. */
export function agoText(at: number | string, nowMs = Date.now()): string {
  const seconds = (nowMs - toDate(at).getTime()) / 1000;
  if (seconds < -86_400) return stampText(at).slice(0, 16);
  if (seconds < -APART_S) return `in ${spanText(-seconds).replace(/ \d+ min$/, "")}`;
  if (seconds < 10) return "just now";
  if (seconds < 86_400) return `${spanText(seconds).replace(/ \d+ min$/, "")} ago`;
  return stampText(at).slice(0, 16);
}

/** Hours of a day on some days, in local time. */
export interface Hours {
  start: string;
  end: string;
  days: string[];
}

/** `08:00-18:00 mon, tue`. */
export const hoursText = ({ start, end, days }: Hours): string => `${start}-${end} ${days.join(", ")}`;

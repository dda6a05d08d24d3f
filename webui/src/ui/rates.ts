// SPDX-License-Identifier: Apache-2.0
/** Rates as people type them. The vectors in tests/vectors/rates.json hold for this parser and for the API's. */

export type Parsed<T> = { ok: true; value: T } | { ok: false; message: string };

const MULTIPLIER: Record<string, bigint> = {
  "": 1n,
  k: 1_000n,
  m: 1_000_000n,
  g: 1_000_000_000n,
  t: 1_000_000_000_000n,
};
const MAX_RATE_BPS = 1_000_000_000_000n;
const RATE = /^([0-9]{0,15})(?:\.([0-9]{0,12}))?\s*([kmgt]?)\s*(?:bits?(?:\/s|ps)?|bps|b\/s)?$/i;
const BYTES = /^[0-9.\s]+[kKmMgGtT]?i?(?:B|bytes?)(?:\/s|ps)?$/;
const UNLIMITED = new Set(["unlimited", "none", "off"]);

const fail = (message: string): { ok: false; message: string } => ({ ok: false, message });

/** Reads one rate in bit/s; 0 means unlimited. The message of a failure is a sentence for the field. */
export function parseRate(text: string): Parsed<number> {
  const input = text.trim();
  if (input === "") return fail("Type a rate, such as 10M.");
  if (UNLIMITED.has(input.toLowerCase())) return { ok: true, value: 0 };
  if (BYTES.test(input)) return fail(`"${input}" looks like bytes; rates are bits per second, as in 10M.`);
  if (input.includes(",")) return fail(`"${input}": use a point for decimals, as in 1.5M.`);
  const match = RATE.exec(input);
  const whole = match?.[1] ?? "";
  const fraction = match?.[2] ?? "";
  if (!match || whole + fraction === "")
    return fail(`"${input}" is not a rate; write it as 10M, 1.5G, 512k or 10000000.`);
  const multiplier = MULTIPLIER[(match[3] ?? "").toLowerCase()] ?? 1n;
  const divisor = 10n ** BigInt(fraction.length);
  const rateBps = (BigInt(whole + fraction) * multiplier * 2n + divisor) / (divisor * 2n);
  if (rateBps > MAX_RATE_BPS) return fail(`"${input}" is above the highest rate, 1 Tbit/s.`);
  return { ok: true, value: Number(rateBps) };
}

const UNITS: readonly (readonly [number, string])[] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** With one or two decimals; hundreds are printed each second, and toFixed takes three times as long. */
function decimals(value: number, ten: 10 | 100): string {
  const parts = Math.round(value * ten);
  const rest = parts % ten;
  return `${(parts - rest) / ten}.${ten === 100 && rest < 10 ? "0" : ""}${rest}`;
}

/** `12.4M`: three significant digits, for measured rates in tables. */
export function shortRate(rateBps: number): string {
  for (const [size, letter] of UNITS) {
    if (rateBps >= size * 0.9995) {
      const value = rateBps / size;
      return `${value >= 99.95 ? Math.round(value) : decimals(value, value >= 9.995 ? 10 : 100)}${letter}`;
    }
  }
  return String(Math.round(rateBps));
}

/** `12.4 Mbit/s`, for measured rates in details. */
export function longRate(rateBps: number): string {
  const short = shortRate(rateBps);
  const letter = /[A-Za-z]$/.exec(short)?.[0] ?? "";
  return `${letter ? short.slice(0, -1) : short} ${letter}bit/s`;
}

/** Exact and short: `10M`, `1.5G`, `1234567`. What it prints is read back as the same rate. */
export function exactRate(rateBps: number): string {
  for (const [size, letter] of UNITS) {
    if (rateBps >= size && (rateBps * 1000) % size === 0) return `${rateBps / size}${letter}`;
  }
  return String(rateBps);
}

/** A configured limit; 0 is no limit. */
export const limitText = (rateBps: number): string => (rateBps === 0 ? "–" : exactRate(rateBps));

/** A configured limit in words, as the forms repeat it. */
export function limitWords(rateBps: number): string {
  if (rateBps === 0) return "unlimited";
  const exact = exactRate(rateBps);
  const letter = /[A-Za-z]$/.exec(exact)?.[0] ?? "";
  return `${letter ? exact.slice(0, -1) : exact} ${letter}bit/s`;
}

const TIME_UNITS_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads `8`, `8s`, `1m30s`, `500ms` to milliseconds; a bare number is seconds. */
export function parseDuration(text: string): Parsed<number> {
  const input = text.trim().toLowerCase();
  if (input === "") return fail("Type a time, such as 8s.");
  if (/^\d+(\.\d+)?$/.test(input)) return { ok: true, value: Math.round(Number(input) * 1000) };
  const parts = [...input.matchAll(/(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*/g)];
  if (parts.length === 0 || parts.map((part) => part[0]).join("") !== input)
    return fail(`"${text.trim()}" is not a time; write 8s, 1m30s or 500ms.`);
  return {
    ok: true,
    value: Math.round(
      parts.reduce((sum, part) => sum + Number(part[1]) * (TIME_UNITS_MS[part[2] ?? "s"] ?? 0), 0),
    ),
  };
}

/** `8s`, `1m30s`, `100ms`; read back by `parseDuration` as the same time. */
export function durationText(milliseconds: number): string {
  if (milliseconds === 0) return "0s";
  let rest = milliseconds;
  let text = "";
  for (const unit of ["d", "h", "m", "s", "ms"]) {
    const size = TIME_UNITS_MS[unit] ?? 1;
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * size;
  }
  return text;
}

// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import {
  durationText,
  exactRate,
  limitWords,
  longRate,
  parseDuration,
  parseRate,
  shortRate,
} from "@/ui/rates";
import vectors from "../../tests/vectors/rates.json";

describe("a rate as typed", () => {
  it.each(vectors.accepted)("reads $input as $rate_bps bit/s", ({ input, rate_bps }) => {
    expect(parseRate(input)).toEqual({ ok: true, value: rate_bps });
  });
  it.each(vectors.rejected)("refuses '$input': $why", ({ input }) => {
    expect(parseRate(input).ok).toBe(false);
  });
  it("prints limits so that they are read back unchanged", () => {
    for (const bps of [0, 1, 400, 64_000, 1_500_000, 10_000_000, 1_234_567, 2_400_000_000, 999_999_999_999]) {
      expect(parseRate(exactRate(bps))).toEqual({ ok: true, value: bps });
    }
  });
});

describe("rates as shown", () => {
  it.each([
    [0, "0"],
    [950, "950"],
    [12_400_000, "12.4M"],
    [9_870_000, "9.87M"],
    [999_900_000, "1.00G"],
    [124_000, "124k"],
    [2.5e9, "2.50G"],
  ])("%d is %s", (bps, text) => {
    expect(shortRate(bps)).toBe(text);
  });
  it("spells units out in details", () => {
    expect(longRate(12_400_000)).toBe("12.4 Mbit/s");
    expect(limitWords(10_000_000)).toBe("10 Mbit/s");
    expect(limitWords(0)).toBe("unlimited");
  });
});

describe("times as typed", () => {
  it.each([
    ["8", 8_000],
    ["8s", 8_000],
    ["1m30s", 90_000],
    ["500ms", 500],
    ["0.1", 100],
    ["1d2h", 93_600_000],
  ])("reads %s as %d ms", (text, ms) => {
    expect(parseDuration(text)).toEqual({ ok: true, value: ms });
    expect(parseDuration(durationText(ms))).toEqual({ ok: true, value: ms });
  });
  it("refuses what is no time", () => {
    expect(parseDuration("soon").ok).toBe(false);
    expect(parseDuration("8x").ok).toBe(false);
  });
});

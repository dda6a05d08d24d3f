// SPDX-License-Identifier: Apache-2.0
/** The router's short names in an operator's words. */

export const SHAPER_WORDS: Record<string, string> = {
  edt: "paced: packets wait for their departure time in fq",
  police: "policed: what is above the limit is dropped",
  htb: "HTB: a class of the classic tree for each queue",
  none: "not at all",
};

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/Edg\/(\d+)/, "Edge"],
  [/OPR\/(\d+)/, "Opera"],
  [/Chrom(?:e|ium)\/(\d+)/, "Chrome"],
  [/Firefox\/(\d+)/, "Firefox"],
  [/Version\/(\d+).*Safari/, "Safari"],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/Linux|X11/, "Linux"],
];

/** `Chrome 128 on Linux`; what is none of the known ones stays as it came. */
export function browserWords(userAgent: string | null): string {
  if (!userAgent) return "unknown";
  const browser = BROWSERS.flatMap(([pattern, name]) =>
    pattern.exec(userAgent)?.[1] ? [`${name} ${pattern.exec(userAgent)?.[1]}`] : [],
  )[0];
  const system = SYSTEMS.find(([pattern]) => pattern.test(userAgent))?.[1];
  return browser ? `${browser}${system ? ` on ${system}` : ""}` : userAgent;
}

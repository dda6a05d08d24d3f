// SPDX-License-Identifier: Apache-2.0
/** What a change costs those who send packets through the router, in words. */
import type { Counts, KernelEffect, ObjectEffect } from "@/api/types";
import { kindWords } from "@/kinds/names";
import { countText, sentence } from "./format";

export const HITLESS = "hitless, no packet is lost for it";
export const NOT_KNOWN = "not known";

/** `drops sessions (at least 3): wan0 loses the address 192.0.2.7/24`. */
export function effectText(effect: ObjectEffect | null | undefined): string {
  if (!effect) return NOT_KNOWN;
  if (effect.effect === "hitless") return HITLESS;
  const least = effect.sessions_complete === false ? "at least " : "";
  const counted = effect.sessions === null ? "" : ` (${least}${effect.sessions})`;
  const time = effect.lasts_ms === null ? "" : `, at most ${effect.lasts_ms / 1000} s`;
  return `${effect.effect.replace("-", " ")}${counted}${time}: ${effect.text}`;
}

export const effectTone = (effect: ObjectEffect | null | undefined): "ok" | "warn" | "bad" =>
  !effect || effect.effect === "resets" ? "warn" : effect.effect === "hitless" ? "ok" : "bad";

/** What a commit cost, or will cost, as a whole; the objects are named that cost something. */
export function costText(kernel: KernelEffect, most = 3): string {
  if (kernel.effect === null) return "Whether packets or sessions are lost for it is not known.";
  if (kernel.effect === "hitless") return sentence(HITLESS);
  const named = kernel.effects
    .slice(0, most)
    .map((item) => `${kindWords(item.kind)[0]} ${item.id} ${effectText(item)}`);
  const more = kernel.effects.length > most ? `; and ${kernel.effects.length - most} more` : "";
  return sentence(named.join("; ") + more);
}

/** `2 added, 1 removed`. */
export const countsText = (counts: Counts): string =>
  [
    counts.added ? `${countText(counts.added)} added` : "",
    counts.changed ? `${countText(counts.changed)} changed` : "",
    counts.removed ? `${countText(counts.removed)} removed` : "",
  ]
    .filter(Boolean)
    .join(", ") || "nothing";

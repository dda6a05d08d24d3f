// SPDX-License-Identifier: Apache-2.0
import type { Setting } from "@/api/types";

export type PlaceState = Setting["places"][number]["state"];

/** The worst comes first: what the list says of a setting with several places. */
const ORDER: readonly PlaceState[] = ["refused", "differs", "restart", "absent", "left", "applied"];

/** What the router has is not what it is to have. */
const DIFFERING: readonly PlaceState[] = ["refused", "differs", "restart"];

export const STATE_WORDS: Record<PlaceState, string> = {
  applied: "active",
  differs: "differs",
  absent: "not there",
  left: "left as it is",
  refused: "refused",
  restart: "with the next start",
};

export const SCOPE_WORDS: Record<Setting["scope"], string> = {
  sysctl: "kernel",
  interface: "network card",
  cmdline: "kernel's command line",
  service: "service",
};

export const MEASURED_WORDS: Record<Setting["measured"], string> = {
  figure: "measured: a figure of ours stands behind it",
  function: "seen to act, its gain not measured",
  no: "taken from its documentation, not measured by us",
};

/** null: there is no such place here, as with a card of another maker. */
export const stateOf = (setting: Setting): PlaceState | null =>
  ORDER.find((state) => setting.places.some((place) => place.state === state)) ?? null;

/** What the router is to have, with what is pending; null: as the product says. */
export const valueWords = (setting: Setting, override: string | undefined): string =>
  override === "" ? "left to the kernel" : (override ?? setting.value);

export type Show = "all" | "differs" | "overridden";

export function chosen(
  settings: readonly Setting[],
  overrides: Record<string, string>,
  show: Show,
  words: string,
): Setting[] {
  const wanted = words.trim().toLowerCase();
  return settings.filter((setting) => {
    const state = stateOf(setting);
    if (show === "differs" && !(state && DIFFERING.includes(state))) return false;
    if (show === "overridden" && !(setting.id in overrides)) return false;
    return wanted === "" || `${setting.id} ${setting.key} ${setting.reason}`.toLowerCase().includes(wanted);
  });
}

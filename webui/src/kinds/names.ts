// SPDX-License-Identifier: Apache-2.0
/**
 * How the kinds are called and where they are found: what navigation, search, links and messages need, so it is
 * in the first load. What their lists and forms are made of comes with the page that needs it (kinds.ts).
 */
import file from "./names.json";

export const AREAS = ["Shaping", "Network", "Routing", "Firewall", "VPN", "Services", "System"] as const;
export type Area = (typeof AREAS)[number];

export interface Named {
  /** One of a kind and several of it, as sentences say it. */
  singular: string;
  plural: string;
  short: string;
  /** Where the API has it. */
  path: string;
  /** Where the browser has it. */
  page: string;
  area: Area;
  isSingle: boolean;
}

/** All kinds, in the order of the navigation. */
export const NAMED: ReadonlyMap<string, Named> = new Map(
  Object.entries(file.kinds as Readonly<Record<string, Named>>),
);

/** One of a kind and several of it, as sentences say it. */
export const kindWords = (kind: string): readonly [one: string, several: string] => {
  const said = NAMED.get(kind);
  return said ? [said.singular, said.plural] : [kind, kind];
};

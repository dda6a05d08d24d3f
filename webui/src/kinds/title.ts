// SPDX-License-Identifier: Apache-2.0
import type { Named } from "./names";

/** A kind's page by its name, written as the kind is: "Routes", "BGP neighbors"; of a kind with one object by
 * its singular: "Time service". */
export function pageTitle(named: Pick<Named, "page" | "plural" | "singular" | "isSingle">): string {
  const { page, plural, singular, isSingle } = named;
  const written = new Map(plural.split(" ").map((word) => [word.toLowerCase(), word]));
  const words = page.split("-").map((word) => written.get(word) ?? word);
  const title = isSingle && !written.has(page) ? singular : words.join(" ");
  return title.charAt(0).toUpperCase() + title.slice(1);
}

/** What one object is called where its area is clear, written as the kind is: "route" of a static route, and
 * "BGP neighbor", as a command is written "bgp-neighbor". */
export const objectTitle = ({ short, singular }: Pick<Named, "short" | "singular">): string =>
  singular.endsWith(short) ? short : singular;

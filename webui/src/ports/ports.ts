// SPDX-License-Identifier: Apache-2.0
/** Which interfaces are ports of the box, and what each shows. */
import type { Interface } from "@/api/types";
import { exactRate } from "@/ui/rates";

const OF_THE_BOX = ["physical", "veth"];

/** Sockets that a cable goes into, in the order of their names; one that is configured and gone is a gap among them. */
export function portsOf(items: readonly Interface[]): readonly Interface[] {
  const isPort = ({ id, type, state }: Interface): boolean =>
    id !== "lo" && type === "ethernet" && (state === null || OF_THE_BOX.includes(state.kind));
  const order = new Intl.Collator("en", { numeric: true });
  return items.filter(isPort).sort((a, b) => order.compare(a.id, b.id));
}

export type Link = "up" | "down" | "off" | "missing" | "unknown";

/** `isKnown`: the agent has told which interfaces there are. */
export function linkOf({ state, disabled }: Interface, isKnown: boolean): Link {
  if (!isKnown) return "unknown";
  if (state === null) return "missing";
  if (disabled) return "off";
  return state.up ? "up" : "down";
}

/** Whether somebody relies on a link that is not there; an empty socket that nobody configured is no trouble. */
export const isTrouble = ({ role }: Interface, link: Link): boolean =>
  role !== "none" && (link === "down" || link === "missing");

/** The speed where there is a link and the driver tells it; otherwise the link in a word. */
export const linkText = (link: Link, speedBps: number | null | undefined): string =>
  link === "up" && speedBps ? exactRate(speedBps) : link;

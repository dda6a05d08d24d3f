// SPDX-License-Identifier: Apache-2.0
/** Queues as a flow: what each parent carries, divided among its children. */

export interface Carried {
  id: string;
  name: string;
  parent: string | null;
  rateBps: number;
}

export interface FlowNode {
  key: string;
  /** null: not one queue, but all of them, or what the smaller ones of a parent carry. */
  id: string | null;
  name: string;
  rateBps: number;
  /** 0 is all queues. */
  depth: number;
  top: number;
  height: number;
}

/** From a part of its parent's right side to the whole left side of a child. */
export interface FlowLink {
  key: string;
  depth: number;
  from: number;
  to: number;
  height: number;
}

export interface Flow {
  nodes: readonly FlowNode[];
  links: readonly FlowLink[];
  depth: number;
  height: number;
}

const GAP = 6;
/** What is thinner is drawn with its sisters, as "others". */
const LEAST_PX = 3;
/** A queue's counters and its parent's are not read at the same instant. */
const SKEW = 0.02;

interface Part {
  key: string;
  id: string | null;
  name: string;
  rateBps: number;
  parts: readonly Part[];
}

const OTHERS = "others";

/** Children by rate. Those below `least` are one part, together with what is not in `items`. */
function partsOf(
  parent: string | null,
  rateBps: number | null,
  byParent: ReadonlyMap<string | null, readonly Carried[]>,
  least: number,
): readonly Part[] {
  const children = byParent.get(parent) ?? [];
  const drawn = children.filter((child) => child.rateBps >= least).sort((a, b) => b.rateBps - a.rateBps);
  const named = drawn.reduce((sum, child) => sum + child.rateBps, 0);
  const whole = rateBps ?? children.reduce((sum, child) => sum + child.rateBps, 0);
  const rest = whole - named;
  const parts: Part[] = drawn.map((child) => ({
    key: child.id,
    id: child.id,
    name: child.name,
    rateBps: child.rateBps,
    parts: partsOf(child.id, child.rateBps, byParent, least),
  }));
  if (children.length > 0 && rest >= least && rest > SKEW * whole)
    parts.push({ key: `${parent ?? ""}/${OTHERS}`, id: null, name: OTHERS, rateBps: rest, parts: [] });
  return parts;
}

const depthOf = (part: Part): number => 1 + Math.max(0, ...part.parts.map(depthOf));
const countAt = (part: Part, depth: number): number =>
  depth === 0 ? 1 : part.parts.reduce((sum, child) => sum + countAt(child, depth - 1), 0);

/** Where everything is drawn in so many pixels; null where nothing flows. */
export function flowOf(items: readonly Carried[], height: number): Flow | null {
  const known = new Set(items.map((item) => item.id));
  const byParent = new Map<string | null, Carried[]>();
  for (const item of items) {
    const parent = item.parent !== null && known.has(item.parent) ? item.parent : null;
    byParent.set(parent, [...(byParent.get(parent) ?? []), item]);
  }
  const totalBps = (byParent.get(null) ?? []).reduce((sum, item) => sum + item.rateBps, 0);
  if (totalBps <= 0) return null;
  const least = (LEAST_PX / height) * totalBps;
  const root: Part = {
    key: "/",
    id: null,
    name: "All queues",
    rateBps: totalBps,
    parts: partsOf(null, null, byParent, least),
  };
  const depth = depthOf(root);
  const widest = Math.max(...Array.from({ length: depth }, (_, at) => countAt(root, at)));
  const scale = height / totalBps;
  const cursors = Array.from({ length: depth }, () => 0);
  const nodes: FlowNode[] = [];
  const links: FlowLink[] = [];
  const place = (part: Part, at: number, from: number | null): void => {
    const top = Math.max(cursors[at] ?? 0, from ?? 0);
    const thick = part.rateBps * scale;
    cursors[at] = top + thick + GAP;
    nodes.push({ ...part, depth: at, top, height: thick });
    if (from !== null) links.push({ key: part.key, depth: at - 1, from, to: top, height: thick });
    let start = top;
    for (const child of part.parts) {
      place(child, at + 1, start);
      start += child.rateBps * scale;
    }
  };
  place(root, 0, null);
  return { nodes, links, depth, height: Math.max(...cursors, height + widest) - GAP };
}

// SPDX-License-Identifier: Apache-2.0
/** What a painter tells the drawer, and what the drawer answers. */
import type { Pair, QueueStatsAnswer } from "@/api/types";
import type { SparkValues } from "@/ui/sparkPaths";
import type { LiveColumnId } from "./liveColumns";

/** A bar has the hue of its direction, amber near its limit; "plain" has no direction, "none" is empty. */
export type Level = "none" | "upload" | "download" | "plain" | "warn";

export interface Shown {
  text: string;
  /** Printed paler, so that the rest is found at a glance. */
  nothing: boolean;
  /** What the bar behind the number is filled to, 0..1; null: there is no bar. */
  fill: number | null;
  level: Level;
  /** Something was lost: the only red there is. */
  loss?: boolean;
  /** A sparkline instead of a text. */
  spark?: SparkValues;
}

/** A bar that is wider by less than this is the same bar. */
const FILL_STEPS = 256;

export const same = (a: Shown | undefined, b: Shown): boolean =>
  a?.text === b.text &&
  a.level === b.level &&
  a.nothing === b.nothing &&
  a.loss === b.loss &&
  a.spark === b.spark &&
  (a.fill === b.fill ||
    (a.fill !== null &&
      b.fill !== null &&
      Math.round(a.fill * FILL_STEPS) === Math.round(b.fill * FILL_STEPS)));

/** Where a column stands, in CSS pixels from the left edge of the rows. */
export interface Span {
  left: number;
  width: number;
}

export interface Palette {
  text: string;
  dim: string;
  loss: string;
  fill: Record<Level, string>;
  /** Of a sparkline: its areas and its line of zero. */
  area: { upload: string; download: string; zero: string };
  font: string;
  boldFont: string;
  /** The system's own few colours: a filled bar would hide its number. */
  outlined: boolean;
}

/** What all canvases have in common. Their left edge and width are the columns', on whole pixels of the screen. */
export interface Sheet {
  /** Of rows that are followed. */
  columns: readonly LiveColumnId[];
  spans: readonly Span[];
  rowPx: number;
  palette: Palette;
  left: number;
  width: number;
  /** Pixels of the screen for one of the page. */
  scale: number;
}

export type Canvas = HTMLCanvasElement | OffscreenCanvas;

/** A row of a canvas and the columns that differ from what stands there; no columns: the row is empty now. */
export type Line = readonly [
  block: number,
  row: number,
  ...cells: (readonly [column: number, cell: Shown])[],
];

/** A row of a canvas whose cells follow the measurements of a queue, and which row of the list it is. */
export type Follow = readonly [
  block: number,
  row: number,
  index: number,
  queueId: string,
  limitBps: Pair<number>,
];

/** What the cells of a row of the list show, for who does not see them. */
export type Named = readonly [painter: number, index: number, names: readonly string[]];

export type Head = Pick<QueueStatsAnswer, "at" | "stale_since" | "stale_reason">;

/** Of one painter, in this order: canvases that are new, what all of them look like, those to wipe, and the rows. */
export interface Order {
  painter: number;
  canvases: readonly (readonly [block: number, canvas: Canvas])[];
  sheet: Sheet | null;
  wiped: readonly number[];
  dropped: readonly number[];
  lines: readonly Line[];
  follows: readonly Follow[];
}

export const BLOCK_ROWS = 16;

/** What the drawer says: which canvases show their new rows, what cells show now, when what it read was measured;
 * or that the letters have come and all is to be drawn again. */
export type Said = { shown?: readonly number[]; names?: readonly Named[]; head?: Head } | "letters";
/** An order, or a measurement as the router sent it; null: none is known any more. */
export type Told = Order | string | null;

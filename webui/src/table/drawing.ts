// SPDX-License-Identifier: Apache-2.0
/** What the live columns of a grid look like, cell by cell; in a worker where there is one, else in the page. */
import type { Pair, QueueStats, QueueStatsAnswer } from "@/api/types";
import { SPARK_HEIGHT_PX, sparkPaths, type SparkValues } from "@/ui/sparkPaths";
import { LIVE_COLUMNS, reasonedName, reasonOf, shownOf, type LiveColumnId } from "./liveColumns";

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
const LINE_PX = 1;
const BAR_PX = 20;
const BAR_PADDING_PX = 6;
const ANOTHER_FONT = "10px monospace";

/** A pen's own font and colour are written out as text when they are asked for: what it has is remembered here. */
interface Block {
  canvas: Canvas;
  pen: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;
  font: string;
  colour: string;
}

function setColour(block: Block, colour: string): void {
  if (block.colour !== colour) block.pen.fillStyle = block.colour = colour;
}

function setFont(block: Block, font: string): void {
  if (block.font !== font) block.pen.font = block.font = font;
}

function drawSpark(block: Block, { area }: Palette, values: SparkValues, left: number, top: number): void {
  const { pen } = block;
  const paths = sparkPaths(values);
  pen.save();
  pen.translate(left, top);
  for (const direction of ["download", "upload"] as const) {
    pen.fillStyle = area[direction];
    pen.fill(new Path2D(paths[direction]));
  }
  pen.strokeStyle = area.zero;
  pen.lineWidth = 0.5;
  pen.stroke(new Path2D(paths.zero));
  pen.restore();
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

/** Nobody is read a number each second; to write hundreds of names each second costs more than to draw their numbers. */
const NAMES_EVERY_MS = 5_000;
const SECOND_MS = 1_000;

interface Followed {
  follow: Follow;
  shown: readonly Shown[];
  namedMs: number;
  wasKnown: boolean | null;
}

/** What one painter's canvases show. */
class Drawing {
  private sheet: Sheet | null = null;
  /** By block and row. */
  private readonly followed = new Map<number, Followed>();
  /** From the middle of a line to its base. */
  private drop = 0;
  private readonly blocks = new Map<number, Block>();

  constructor(private readonly painter: number) {}

  /** The names of rows that are followed from now on. */
  take({ canvases, sheet, wiped, dropped, lines, follows }: Order, latest: Latest): Named[] {
    for (const [number, canvas] of canvases) {
      const pen = canvas.getContext("2d");
      if (pen) this.blocks.set(number, { canvas, pen, font: "", colour: "" });
    }
    if (sheet) this.sheet = sheet;
    for (const number of sheet ? this.blocks.keys() : wiped) this.wipe(number);
    for (const number of dropped) {
      this.blocks.delete(number);
      this.unfollow(number);
    }
    for (const line of lines) this.draw(line);
    return follows.flatMap((follow) => this.follow(follow, latest.get(follow[3]) ?? null));
  }

  /** Shows what was measured; the names that are due. */
  measured(items: Latest): Named[] {
    return [...this.followed.values()].flatMap((row) => {
      const stats = items.get(row.follow[3]);
      return stats ? this.update(row, stats) : [];
    });
  }

  forget(): Named[] {
    return [...this.followed.values()].flatMap((row) => this.update(row, null));
  }

  private follow(follow: Follow, stats: QueueStats | null): Named[] {
    const [block, row, index] = follow;
    // Some rows each second.
    const namedMs = performance.now() - (index % (NAMES_EVERY_MS / SECOND_MS)) * SECOND_MS;
    const followed = { follow, shown: [], namedMs, wasKnown: null };
    this.followed.set(block * BLOCK_ROWS + row, followed);
    return this.update(followed, stats);
  }

  private unfollow(block: number): void {
    for (let row = 0; row < BLOCK_ROWS; row++) this.followed.delete(block * BLOCK_ROWS + row);
  }

  private update(row: Followed, stats: QueueStats | null): Named[] {
    const { sheet } = this;
    if (!sheet) return [];
    const [block, line, index, , limitBps] = row.follow;
    const columns = sheet.columns.map((id) => LIVE_COLUMNS[id]);
    const cells = columns.map((column) => shownOf(column, stats, limitBps));
    cells.forEach((cell, at) => {
      if (!same(row.shown[at], cell)) this.drawAt(block, line, at, cell);
    });
    row.shown = cells;
    const [isKnown, nowMs] = [stats?.live ?? false, performance.now()];
    if (isKnown === row.wasKnown) {
      if (nowMs - row.namedMs < NAMES_EVERY_MS) return [];
      row.namedMs = nowMs;
    }
    row.wasKnown = isKnown;
    const names = columns.map((column, at) => reasonedName(cells[at]?.text ?? "", reasonOf(column, stats)));
    return [[this.painter, index, names]];
  }

  get isEmpty(): boolean {
    return this.blocks.size + this.followed.size === 0;
  }

  /** Gives the canvas its size, where that is another one, and empties it. */
  private wipe(number: number): void {
    this.unfollow(number);
    const { sheet } = this;
    const block = this.blocks.get(number);
    if (!sheet || !block) return;
    const { canvas, pen } = block;
    const height = BLOCK_ROWS * sheet.rowPx;
    const pixels = [Math.round(sheet.width * sheet.scale), Math.round(height * sheet.scale)] as const;
    pen.resetTransform();
    if (canvas.width === pixels[0] && canvas.height === pixels[1]) pen.clearRect(0, 0, ...pixels);
    else [canvas.width, canvas.height] = pixels;
    pen.setTransform(pixels[0] / sheet.width, 0, 0, pixels[1] / height, 0, 0);
    pen.textAlign = "right";
    pen.textRendering = "optimizeSpeed";
    block.font = block.colour = "";
    // A context that is given the font it already has does not look it up again, even if the font has loaded since.
    pen.font = ANOTHER_FONT;
    setFont(block, sheet.palette.font);
    const { fontBoundingBoxAscent, fontBoundingBoxDescent } = pen.measureText("0");
    this.drop = (fontBoundingBoxAscent - fontBoundingBoxDescent) / 2;
  }

  private draw([number, row, ...cells]: Line): void {
    const { sheet } = this;
    const block = this.blocks.get(number);
    if (!sheet || !block) return;
    if (cells.length === 0) {
      this.followed.delete(number * BLOCK_ROWS + row);
      block.pen.clearRect(0, row * sheet.rowPx, sheet.width, sheet.rowPx);
    }
    for (const [column, cell] of cells) this.drawAt(number, row, column, cell);
  }

  private drawAt(number: number, row: number, column: number, cell: Shown): void {
    const { sheet } = this;
    const [block, span] = [this.blocks.get(number), sheet?.spans[column]];
    if (sheet && block && span) this.drawCell(block, sheet, span, row * sheet.rowPx, cell);
  }

  private drawCell(
    block: Block,
    { rowPx, palette, left: edge }: Sheet,
    span: Span,
    top: number,
    cell: Shown,
  ): void {
    const left = span.left - edge;
    const middle = top + (rowPx - LINE_PX) / 2;
    const { pen } = block;
    pen.clearRect(left, top, span.width, rowPx);
    if (cell.spark) {
      drawSpark(block, palette, cell.spark, left, top + (rowPx - SPARK_HEIGHT_PX) / 2);
      return;
    }
    if (cell.fill) {
      setColour(block, palette.fill[cell.level]);
      if (palette.outlined)
        pen.strokeRect(left + 0.5, middle - BAR_PX / 2, span.width * cell.fill - 1, BAR_PX);
      else pen.fillRect(left, middle - BAR_PX / 2, span.width * cell.fill, BAR_PX);
    }
    setFont(block, cell.level === "warn" || cell.loss ? palette.boldFont : palette.font);
    setColour(block, cell.nothing ? palette.dim : cell.loss ? palette.loss : palette.text);
    pen.fillText(
      cell.text,
      left + span.width - (cell.fill === null ? 0 : BAR_PADDING_PX),
      Math.round(middle + this.drop),
    );
  }
}

type Latest = ReadonlyMap<string, QueueStats>;

/** Of so many queues the last measurement is kept, for rows that are scrolled back to. */
const MOST_KEPT = 1_000;

/** What all painters of the page show. */
export class Drawings {
  private readonly drawings = new Map<number, Drawing>();
  private readonly latest = new Map<string, QueueStats>();

  take(order: Order): readonly Named[] {
    const drawing = this.drawings.get(order.painter) ?? new Drawing(order.painter);
    this.drawings.set(order.painter, drawing);
    const names = drawing.take(order, this.latest);
    if (drawing.isEmpty && order.sheet === null) this.drawings.delete(order.painter);
    return names;
  }

  /** Shows a measurement as the router sent it. */
  read(text: string): { head: Head; names: readonly Named[] } {
    const { items, at, stale_since, stale_reason } = JSON.parse(text) as QueueStatsAnswer;
    const measured = new Map(items.map((item) => [item.id, item]));
    for (const [id, item] of measured) {
      this.latest.delete(id);
      this.latest.set(id, item);
    }
    for (const id of this.latest.keys()) {
      if (this.latest.size <= MOST_KEPT) break;
      this.latest.delete(id);
    }
    const names = [...this.drawings.values()].flatMap((drawing) => drawing.measured(measured));
    return { head: { at, stale_since, stale_reason }, names };
  }

  /** What was measured is not known any more. */
  forget(): readonly Named[] {
    this.latest.clear();
    return [...this.drawings.values()].flatMap((drawing) => drawing.forget());
  }
}

/** What the drawer says: which canvases show their new rows, what cells show now, when what it read was measured;
 * or that the letters have come and all is to be drawn again. */
export type Said = { shown?: readonly number[]; names?: readonly Named[]; head?: Head } | "letters";
/** An order, or a measurement as the router sent it; null: none is known any more. */
export type Told = Order | string | null;

/** Does what is told; null: there is nothing to say of it. */
export function answered(drawings: Drawings, told: Told): Said | null {
  if (told === null) return { names: drawings.forget() };
  if (typeof told === "string") return drawings.read(told);
  const names = drawings.take(told);
  return names.length + told.wiped.length > 0 ? { shown: told.wiped, names } : null;
}

// SPDX-License-Identifier: Apache-2.0
/** What the live columns of a grid look like, cell by cell; in a worker where there is one, else in the page. */
import type { QueueStats, QueueStatsAnswer } from "@/api/types";
import { SPARK_HEIGHT_PX, sparkPaths, type SparkValues } from "@/ui/sparkPaths";
import { FollowedRows } from "./followedRows";
import {
  BLOCK_ROWS,
  type Canvas,
  type Head,
  type Line,
  type Named,
  type Order,
  type Palette,
  type Said,
  type Sheet,
  type Shown,
  type Span,
  type Told,
} from "./orders";

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

/** What one painter's canvases show. */
class Drawing {
  private sheet: Sheet | null = null;
  /** From the middle of a line to its base. */
  private drop = 0;
  private readonly blocks = new Map<number, Block>();

  readonly followed: FollowedRows;

  constructor(painter: number) {
    this.followed = new FollowedRows(painter, (block, row, column, cell) =>
      this.drawAt(block, row, column, cell),
    );
  }

  take({ canvases, sheet, wiped, dropped, lines }: Order): void {
    for (const [number, canvas] of canvases) {
      const pen = canvas.getContext("2d");
      if (pen) this.blocks.set(number, { canvas, pen, font: "", colour: "" });
    }
    if (sheet) {
      this.sheet = sheet;
      this.followed.columns = sheet.columns;
    }
    for (const number of sheet ? this.blocks.keys() : wiped) this.wipe(number);
    for (const number of dropped) {
      this.blocks.delete(number);
      this.followed.drop(number);
    }
    for (const line of lines) this.draw(line);
  }

  get isEmpty(): boolean {
    return this.blocks.size === 0 && this.followed.isEmpty;
  }

  /** Gives the canvas its size, where that is another one, and empties it. */
  private wipe(number: number): void {
    this.followed.drop(number);
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
      this.followed.dropRow(number, row);
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

/** Of so many queues the last measurement is kept, for rows that are scrolled back to. */
const MOST_KEPT = 1_000;

/** What all painters of the page show. */
export class Drawings {
  private readonly drawings = new Map<number, Drawing>();
  private readonly latest = new Map<string, QueueStats>();

  take(order: Order): readonly Named[] {
    const drawing = this.drawings.get(order.painter) ?? new Drawing(order.painter);
    this.drawings.set(order.painter, drawing);
    drawing.take(order);
    const names = order.follows.flatMap((follow) => drawing.followed.follow(follow, this.latest));
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
    const names = [...this.drawings.values()].flatMap((drawing) => drawing.followed.measured(measured));
    return { head: { at, stale_since, stale_reason }, names };
  }

  /** What was measured is not known any more. */
  forget(): readonly Named[] {
    this.latest.clear();
    return [...this.drawings.values()].flatMap((drawing) => drawing.followed.forget());
  }
}

/** Does what is told; null: there is nothing to say of it. */
export function answered(drawings: Drawings, told: Told): Said | null {
  if (told === null) return { names: drawings.forget() };
  if (typeof told === "string") return drawings.read(told);
  const names = drawings.take(told);
  return names.length + told.wiped.length > 0 ? { shown: told.wiped, names } : null;
}

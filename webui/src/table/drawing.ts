// SPDX-License-Identifier: Apache-2.0
/** What the live columns of a grid look like, cell by cell; in a worker where there is one, else in the page. */
import { SPARK_HEIGHT_PX, sparkPaths, type SparkValues } from "@/ui/sparkPaths";

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

/** Of one painter, in this order: canvases that are new, what all of them look like, those to wipe, and the rows. */
export interface Order {
  painter: number;
  canvases: readonly (readonly [block: number, canvas: Canvas])[];
  sheet: Sheet | null;
  wiped: readonly number[];
  dropped: readonly number[];
  lines: readonly Line[];
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

/** What one painter's canvases show. */
class Drawing {
  private sheet: Sheet | null = null;
  /** From the middle of a line to its base. */
  private drop = 0;
  private readonly blocks = new Map<number, Block>();

  take({ canvases, sheet, wiped, dropped, lines }: Order): void {
    for (const [number, canvas] of canvases) {
      const pen = canvas.getContext("2d");
      if (pen) this.blocks.set(number, { canvas, pen, font: "", colour: "" });
    }
    if (sheet) this.sheet = sheet;
    for (const number of sheet ? this.blocks.keys() : wiped) this.wipe(number);
    for (const number of dropped) this.blocks.delete(number);
    for (const line of lines) this.draw(line);
  }

  get isEmpty(): boolean {
    return this.blocks.size === 0;
  }

  /** Gives the canvas its size, where that is another one, and empties it. */
  private wipe(number: number): void {
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
    const top = row * sheet.rowPx;
    if (cells.length === 0) block.pen.clearRect(0, top, sheet.width, sheet.rowPx);
    for (const [column, cell] of cells) {
      const span = sheet.spans[column];
      if (span) this.drawCell(block, sheet, span, top, cell);
    }
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

/** What all painters of the page show. */
export class Drawings {
  private readonly drawings = new Map<number, Drawing>();

  take(order: Order): void {
    const drawing = this.drawings.get(order.painter) ?? new Drawing();
    this.drawings.set(order.painter, drawing);
    drawing.take(order);
    if (drawing.isEmpty && order.sheet === null) this.drawings.delete(order.painter);
  }
}

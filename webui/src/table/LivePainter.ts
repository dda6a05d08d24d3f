// SPDX-License-Identifier: Apache-2.0
import type { Level } from "./RateBar";

/**
 * Draws the live columns of a grid on canvases that lie above its rows, without the page's layout.
 *
 * A number in an element of its own costs its shaping, its layout, its clip and the painting of everything beside it;
 * two hundred of them change each second (docs/adr/0064). A canvas holds BLOCK_ROWS rows, stays where those rows are,
 * and goes to other rows when they leave: what scrolls is drawn once, when it comes in.
 */
export interface Shown {
  text: string;
  /** Printed paler, so that the rest is found at a glance. */
  nothing: boolean;
  /** What the bar behind the number is filled to, 0..1; null: there is no bar. */
  fill: number | null;
  level: Level;
}

/** Where a column stands, in CSS pixels from the left edge of the rows. */
export interface Span {
  left: number;
  width: number;
}

export interface Palette {
  text: string;
  dim: string;
  fill: Record<Level, string>;
  font: string;
  boldFont: string;
  /** The system's own few colours: a filled bar would hide its number. */
  outlined: boolean;
}

export interface PainterLayout {
  spans: readonly Span[];
  rowPx: number;
  palette: Palette;
}

/** A pen's own font and colour are written out as text when they are asked for: what it has is remembered here. */
interface Block {
  canvas: HTMLCanvasElement;
  pen: CanvasRenderingContext2D;
  font: string;
  colour: string;
}

const BLOCK_ROWS = 16;
const LINE_PX = 1;
const BAR_PX = 20;
const BAR_PADDING_PX = 6;

/** On whole pixels of the screen also where a pixel of the page is 1.25, 1.5 or 1.75 of them: else the text blurs. */
const snapped = (px: number, round: (value: number) => number): number => 4 * round(px / 4);

function setColour(block: Block, colour: string): void {
  if (block.colour !== colour) block.pen.fillStyle = block.colour = colour;
}

function setFont(block: Block, font: string): void {
  if (block.font !== font) block.pen.font = block.font = font;
}

const same = (a: Shown | undefined, b: Shown): boolean => a?.text === b.text && a.fill === b.fill && a.level === b.level;

export class LivePainter {
  private host: HTMLElement | null = null;
  private layout: PainterLayout | null = null;
  private left = 0;
  private width = 0;
  private scale = 1;
  /** From the middle of a line to its base. */
  private drop = 0;
  private readonly rows = new Map<number, readonly Shown[]>();
  private readonly blocks = new Map<number, Block>();
  private readonly spare: Block[] = [];

  attach(host: HTMLElement | null): void {
    this.host = host;
    for (const block of [...this.blocks.values(), ...this.spare]) block.canvas.remove();
    this.blocks.clear();
    this.spare.length = 0;
  }

  /** Draws everything anew: columns were moved, colours changed, the page was zoomed or a font has come. */
  layOut(layout: PainterLayout): void {
    this.layout = layout;
    const last = layout.spans.at(-1);
    this.left = snapped(layout.spans[0]?.left ?? 0, Math.floor);
    this.width = last ? snapped(last.left + last.width - this.left, Math.ceil) : 0;
    this.scale = window.devicePixelRatio || 1;
    for (const [number, block] of this.blocks) this.place(block, number);
    for (const [index, cells] of this.rows) this.drawRow(index, cells, undefined);
  }

  /** Shows a row's numbers; touches only the cells that differ from what stands there. */
  draw(index: number, cells: readonly Shown[]): void {
    const before = this.rows.get(index);
    this.rows.set(index, cells);
    this.drawRow(index, cells, before);
  }

  /** The row is no longer on the screen. */
  clear(index: number): void {
    if (!this.rows.delete(index)) return;
    const number = Math.floor(index / BLOCK_ROWS);
    const block = this.blocks.get(number);
    if (!block || !this.layout) return;
    if (this.inUse(number)) {
      block.pen.clearRect(0, (index % BLOCK_ROWS) * this.layout.rowPx, this.width, this.layout.rowPx);
      return;
    }
    this.blocks.delete(number);
    block.canvas.hidden = true;
    this.spare.push(block);
  }

  private drawRow(index: number, cells: readonly Shown[], before: readonly Shown[] | undefined): void {
    const { layout } = this;
    if (!layout || !this.host || layout.spans.length === 0) return;
    const block = this.blockOf(Math.floor(index / BLOCK_ROWS));
    if (!block) return;
    const top = (index % BLOCK_ROWS) * layout.rowPx;
    cells.forEach((cell, column) => {
      const span = layout.spans[column];
      if (span && !same(before?.[column], cell)) this.drawCell(block, layout, span, top, cell);
    });
  }

  private drawCell(block: Block, { rowPx, palette }: PainterLayout, span: Span, top: number, cell: Shown): void {
    const left = span.left - this.left;
    const middle = top + (rowPx - LINE_PX) / 2;
    const { pen } = block;
    pen.clearRect(left, top, span.width, rowPx);
    if (cell.fill) {
      setColour(block, palette.fill[cell.level]);
      if (palette.outlined) pen.strokeRect(left + 0.5, middle - BAR_PX / 2, span.width * cell.fill - 1, BAR_PX);
      else pen.fillRect(left, middle - BAR_PX / 2, span.width * cell.fill, BAR_PX);
    }
    setFont(block, cell.level === "bad" ? palette.boldFont : palette.font);
    setColour(block, cell.nothing ? palette.dim : palette.text);
    pen.fillText(cell.text, left + span.width - (cell.fill === null ? 0 : BAR_PADDING_PX), Math.round(middle + this.drop));
  }

  private inUse(number: number): boolean {
    for (let index = number * BLOCK_ROWS; index < (number + 1) * BLOCK_ROWS; index++) if (this.rows.has(index)) return true;
    return false;
  }

  private blockOf(number: number): Block | null {
    const standing = this.blocks.get(number);
    const block = standing ?? this.spare.pop() ?? this.newBlock();
    if (!standing && block) {
      this.blocks.set(number, block);
      this.place(block, number);
    }
    return block;
  }

  private newBlock(): Block | null {
    const canvas = document.createElement("canvas");
    const pen = canvas.getContext("2d");
    if (!pen) return null;
    this.host?.append(canvas);
    return { canvas, pen, font: "", colour: "" };
  }

  /** Gives the canvas its size and place; that also wipes it. */
  private place(block: Block, number: number): void {
    const { canvas, pen } = block;
    const rowPx = this.layout?.rowPx ?? 0;
    const height = BLOCK_ROWS * rowPx;
    const pixels = [Math.round(this.width * this.scale), Math.round(height * this.scale)] as const;
    Object.assign(canvas.style, { left: `${this.left}px`, top: `${number * height}px`, width: `${this.width}px`, height: `${height}px` });
    canvas.hidden = false;
    pen.resetTransform();
    if (canvas.width === pixels[0] && canvas.height === pixels[1]) pen.clearRect(0, 0, ...pixels);
    else [canvas.width, canvas.height] = pixels;
    pen.setTransform(pixels[0] / this.width, 0, 0, pixels[1] / height, 0, 0);
    pen.textAlign = "right";
    pen.textRendering = "optimizeSpeed";
    block.font = block.colour = "";
    setFont(block, this.layout?.palette.font ?? "");
    const { fontBoundingBoxAscent, fontBoundingBoxDescent } = pen.measureText("0");
    this.drop = (fontBoundingBoxAscent - fontBoundingBoxDescent) / 2;
  }
}

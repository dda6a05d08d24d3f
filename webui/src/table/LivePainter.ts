// SPDX-License-Identifier: Apache-2.0
import type { Pair } from "@/api/types";
import {
  BLOCK_ROWS,
  same,
  type Canvas,
  type Follow,
  type Line,
  type Order,
  type Palette,
  type Said,
  type Sheet,
  type Shown,
  type Span,
} from "./orders";
import { theDrawer, type Drawer } from "./drawer";
import type { LiveColumnId } from "./liveColumns";

/**
 * Shows the live columns of a grid on canvases that lie above its rows, without the page's layout.
 *
 * A number in an element of its own costs its shaping, its layout, its clip and the painting of everything beside it;
 * two hundred of them change each second (docs/adr/0064). A canvas holds BLOCK_ROWS rows, stays where those rows are,
 * and goes to other rows when they leave. What is on it is drawn elsewhere (drawer.ts): here is only kept what stands
 * where, so that no more than the cells that differ are told.
 */
export interface PainterLayout {
  columns: readonly LiveColumnId[];
  spans: readonly Span[];
  rowPx: number;
  palette: Palette;
}

/** A row that follows the measurements of a queue. */
export interface FollowedRow {
  id: string;
  limitBps: Pair<number>;
  /** Called with what its cells show: at once, every few seconds, and when they begin or cease to be known. */
  name: (names: readonly string[]) => void;
}

interface Block {
  id: number;
  element: HTMLCanvasElement;
}

/** An order that is not given yet. */
interface Orders extends Order {
  canvases: (readonly [number, Canvas])[];
  wiped: number[];
  dropped: number[];
  lines: Line[];
  follows: Follow[];
}

const noOrders = (painter: number): Orders => ({
  painter,
  canvases: [],
  sheet: null,
  wiped: [],
  dropped: [],
  lines: [],
  follows: [],
});

/** On whole pixels of the screen also where a pixel of the page is 1.25, 1.5 or 1.75 of them: else the text blurs. */
const snapped = (px: number, round: (value: number) => number): number => 4 * round(px / 4);

let lastId = 0;

export class LivePainter {
  private host: HTMLElement | null = null;
  private drawer: Drawer | null = null;
  private stopListening: () => void = () => undefined;
  private sheet: Sheet | null = null;
  private readonly rows = new Map<number, readonly Shown[] | FollowedRow>();
  private readonly blocks = new Map<number, Block>();
  private readonly spare: Block[] = [];
  private readonly id = ++lastId;
  private orders = noOrders(this.id);
  private flushing = false;

  attach(host: HTMLElement | null, drawer: Drawer = theDrawer()): void {
    this.stopListening();
    const old = [...this.blocks.values(), ...this.spare];
    for (const block of old) block.element.remove();
    this.orders.dropped.push(...old.map((block) => block.id));
    if (old.length > 0) this.flushSoon();
    this.blocks.clear();
    this.spare.length = 0;
    this.host = host;
    if (!host) return;
    this.drawer = drawer;
    this.stopListening = drawer.listen((said) => this.hear(said));
  }

  /** Draws everything again: columns were moved, colours changed, the page was zoomed or a font was loaded. */
  layOut({ columns, spans, rowPx, palette }: PainterLayout): void {
    const last = spans.at(-1);
    const left = snapped(spans[0]?.left ?? 0, Math.floor);
    this.sheet = {
      columns,
      spans,
      rowPx,
      palette,
      left,
      width: last ? snapped(last.left + last.width - left, Math.ceil) : 0,
      scale: window.devicePixelRatio || 1,
    };
    this.drawAll();
  }

  /** Shows a row's numbers; tells only of the cells that differ from what stands there. */
  draw(index: number, cells: readonly Shown[]): void {
    const before = this.rows.get(index);
    this.rows.set(index, cells);
    this.drawRow(index, cells, before && "id" in before ? undefined : before);
  }

  /** Shows what is measured of a queue from now on, past the page. */
  follow(index: number, row: FollowedRow): void {
    this.rows.set(index, row);
    this.followRow(index, row);
  }

  /** The row is no longer on the screen. */
  clear(index: number): void {
    if (!this.rows.delete(index)) return;
    const number = Math.floor(index / BLOCK_ROWS);
    const block = this.blocks.get(number);
    if (!block) return;
    const row = index % BLOCK_ROWS;
    // Lines are drawn before rows are followed: one that came and went meanwhile is not.
    this.orders.follows = this.orders.follows.filter((follow) => follow[0] !== block.id || follow[1] !== row);
    this.orders.lines.push([block.id, row]);
    this.flushSoon();
    if (this.inUse(number)) return;
    this.blocks.delete(number);
    block.element.hidden = true;
    this.spare.push(block);
  }

  private drawAll(): void {
    this.orders.sheet = this.sheet;
    this.orders.lines = [];
    this.orders.follows = [];
    for (const [number, block] of this.blocks) this.place(block, number);
    for (const [index, row] of this.rows)
      if ("id" in row) this.followRow(index, row);
      else this.drawRow(index, row, undefined);
    this.flushSoon();
  }

  private drawRow(index: number, cells: readonly Shown[], before: readonly Shown[] | undefined): void {
    if (!this.host || !this.sheet || this.sheet.spans.length === 0) return;
    const block = this.blockOf(Math.floor(index / BLOCK_ROWS));
    const changed = cells.flatMap((cell, column) =>
      same(before?.[column], cell) ? [] : [[column, cell] as const],
    );
    if (changed.length === 0) return;
    this.orders.lines.push([block.id, index % BLOCK_ROWS, ...changed]);
    this.flushSoon();
  }

  private followRow(index: number, { id, limitBps }: FollowedRow): void {
    if (!this.host || !this.sheet || this.sheet.spans.length === 0) return;
    const block = this.blockOf(Math.floor(index / BLOCK_ROWS));
    this.orders.follows.push([block.id, index % BLOCK_ROWS, index, id, limitBps]);
    this.flushSoon();
  }

  private inUse(number: number): boolean {
    for (let index = number * BLOCK_ROWS; index < (number + 1) * BLOCK_ROWS; index++)
      if (this.rows.has(index)) return true;
    return false;
  }

  private blockOf(number: number): Block {
    const standing = this.blocks.get(number);
    if (standing) return standing;
    const block = this.spare.pop() ?? this.newBlock();
    this.blocks.set(number, block);
    this.place(block, number);
    return block;
  }

  private newBlock(): Block {
    const element = document.createElement("canvas");
    const block = { id: ++lastId, element };
    element.hidden = true;
    this.host?.append(element);
    if (this.drawer) this.orders.canvases.push([block.id, this.drawer.handOver(element)]);
    return block;
  }

  /** It is seen when its new rows stand on it: until then it would show those of its last place. */
  private place({ id, element }: Block, number: number): void {
    if (!this.sheet) return;
    const { left, width, rowPx } = this.sheet;
    const height = BLOCK_ROWS * rowPx;
    Object.assign(element.style, {
      left: `${left}px`,
      top: `${number * height}px`,
      width: `${width}px`,
      height: `${height}px`,
    });
    this.orders.wiped.push(id);
    this.flushSoon();
  }

  private hear(said: Said): void {
    if (said === "letters") {
      if (this.sheet) this.drawAll();
      return;
    }
    for (const { id, element } of this.blocks.values()) if (said.shown?.includes(id)) element.hidden = false;
    for (const [painter, index, names] of said.names ?? []) {
      const row = this.rows.get(index);
      if (painter === this.id && row && "id" in row) row.name(names);
    }
  }

  /** All that one measurement changes goes in one message. */
  private flushSoon(): void {
    if (this.flushing) return;
    this.flushing = true;
    queueMicrotask(() => {
      this.flushing = false;
      const { orders } = this;
      this.orders = noOrders(this.id);
      this.drawer?.take(orders);
    });
  }
}

// SPDX-License-Identifier: Apache-2.0
/** Rows of a painter whose cells follow the measurements of queues: what they show, and what they are called. */
import type { QueueStats } from "@/api/types";
import { BLOCK_ROWS, same, type Follow, type Named, type Shown } from "./orders";
import { LIVE_COLUMNS, reasonedName, reasonOf, shownOf, type LiveColumnId } from "./liveColumns";

type Latest = ReadonlyMap<string, QueueStats>;
type Draw = (block: number, row: number, column: number, cell: Shown) => void;

/** Nobody is read a number each second; to write hundreds of names each second costs more than to draw their numbers. */
const NAMES_EVERY_MS = 5_000;
const SECOND_MS = 1_000;

interface Followed {
  follow: Follow;
  shown: readonly Shown[];
  namedMs: number;
  wasKnown: boolean | null;
}

export class FollowedRows {
  columns: readonly LiveColumnId[] = [];
  /** By block and row. */
  private readonly rows = new Map<number, Followed>();

  constructor(
    private readonly painter: number,
    private readonly draw: Draw,
  ) {}

  get isEmpty(): boolean {
    return this.rows.size === 0;
  }

  /** Shows the row from now on; its names. */
  follow(follow: Follow, latest: Latest): Named[] {
    const [block, row, index, queueId] = follow;
    // Some rows each second.
    const namedMs = performance.now() - (index % (NAMES_EVERY_MS / SECOND_MS)) * SECOND_MS;
    const followed = { follow, shown: [], namedMs, wasKnown: null };
    this.rows.set(block * BLOCK_ROWS + row, followed);
    return this.update(followed, latest.get(queueId) ?? null);
  }

  /** All rows of a canvas have gone. */
  drop(block: number): void {
    for (let row = 0; row < BLOCK_ROWS; row++) this.dropRow(block, row);
  }

  dropRow(block: number, row: number): void {
    this.rows.delete(block * BLOCK_ROWS + row);
  }

  /** Shows what was measured; the names that are due. */
  measured(items: Latest): Named[] {
    return [...this.rows.values()].flatMap((row) => {
      const stats = items.get(row.follow[3]);
      return stats ? this.update(row, stats) : [];
    });
  }

  /** What was measured is not known any more. */
  forget(): Named[] {
    return [...this.rows.values()].flatMap((row) => this.update(row, null));
  }

  private update(row: Followed, stats: QueueStats | null): Named[] {
    const [block, line, index, , limitBps] = row.follow;
    const columns = this.columns.map((id) => LIVE_COLUMNS[id]);
    const cells = columns.map((column) => shownOf(column, stats, limitBps));
    cells.forEach((cell, at) => {
      if (!same(row.shown[at], cell)) this.draw(block, line, at, cell);
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
}

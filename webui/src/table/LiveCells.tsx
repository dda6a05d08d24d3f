// SPDX-License-Identifier: Apache-2.0
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useLayoutEffect, useRef } from "react";
import { live } from "@/api/live";
import type { Pair, QueueStats } from "@/api/types";
import { resolvedColour } from "@/ui/colour";
import { shortRate } from "@/ui/rates";
import { isNothing, reasonedName, type LiveReason, type LiveText } from "./LiveCell";
import type { Palette, Shown, Span } from "./drawing";
import classes from "./LiveCells.module.css";
import type { LivePainter } from "./LivePainter";
import { levelOf, shareText, type Direction } from "./RateBar";

/** A column of measurements: a rate as a bar against its limit, or a text. */
export type LiveColumn =
  { rate: Direction } | { text: LiveText; why?: LiveReason; isLoss?: (stats: QueueStats) => boolean };

/** What a live cell says of a measurement. */
export function shownOf(column: LiveColumn, stats: QueueStats | null, limitBps: Pair<number>): Shown {
  if ("text" in column) {
    const text = stats ? column.text(stats) : "–";
    return {
      text,
      nothing: isNothing(text),
      fill: null,
      level: "none",
      ...(stats && column.isLoss?.(stats) ? { loss: true } : {}),
    };
  }
  const rateBps = stats?.live ? stats.rate_bps[column.rate] : null;
  const limit = limitBps[column.rate];
  const fill = rateBps !== null && limit > 0 ? Math.min(1, rateBps / limit) : 0;
  return {
    text: rateBps === null ? "–" : shortRate(rateBps),
    nothing: false,
    fill,
    level: levelOf(fill, column.rate),
  };
}

const reasonOf = (column: LiveColumn | undefined, stats: QueueStats | null): string | null =>
  column && "why" in column && stats ? (column.why?.(stats) ?? null) : null;

interface LiveCellsProps {
  index: number;
  queueId: string;
  limitBps: Pair<number>;
  /** Neighbours, in their order. */
  columns: readonly LiveColumn[];
  painter: LivePainter;
}

/** Nobody is read a number each second; to write hundreds of names each second costs more than to draw their numbers. */
const NAMES_EVERY_MS = 5_000;
const SECOND_MS = 1_000;

/** Writes the names of a row's cells: every few seconds, some rows each second, and at once when they begin or cease to be known. */
function namer(index: number, columns: readonly LiveColumn[], cells: readonly (HTMLSpanElement | null)[]) {
  let sinceMs = performance.now() - (index % (NAMES_EVERY_MS / SECOND_MS)) * SECOND_MS;
  let wasKnown: boolean | null = null;
  return (stats: QueueStats | null, shown: readonly Shown[]) => {
    const isKnown = stats?.live ?? false;
    const nowMs = performance.now();
    if (isKnown === wasKnown && nowMs - sinceMs < NAMES_EVERY_MS) return;
    if (isKnown === wasKnown) sinceMs = nowMs;
    wasKnown = isKnown;
    shown.forEach(({ text }, at) => {
      const name = reasonedName(text, reasonOf(columns[at], stats));
      const cell = cells[at];
      if (cell && cell.ariaLabel !== name) cell.ariaLabel = name;
    });
  };
}

/**
 * The live cells of a row. What is seen is drawn by the painter; the cells carry it as their names, for who does not see.
 * An effect before the frame is shown: a row that was scrolled in has its numbers at once.
 */
export function LiveCells({ index, queueId, limitBps, columns, painter }: LiveCellsProps) {
  const cells = useRef<(HTMLSpanElement | null)[]>([]);
  const { upload, download } = limitBps;
  useLayoutEffect(() => {
    const name = namer(index, columns, cells.current);
    const stop = live.watch(queueId, (stats) => {
      const shown = columns.map((column) => shownOf(column, stats, { upload, download }));
      name(stats, shown);
      painter.draw(index, shown);
    });
    return () => {
      stop();
      painter.clear(index);
    };
  }, [index, queueId, upload, download, columns, painter]);
  return columns.map((column, at) => (
    <span
      key={at}
      ref={(cell) => void (cells.current[at] = cell)}
      role="gridcell"
      aria-label="–"
      className={"rate" in column ? `${classes.cell ?? ""} ${classes.track ?? ""}` : classes.cell}
      data-testid={"rate" in column ? `rate-${column.rate}` : undefined}
      onPointerEnter={(event) =>
        (event.currentTarget.title =
          "rate" in column
            ? titleOf(queueId, column.rate, limitBps)
            : (reasonOf(column, live.latest(queueId)) ?? ""))
      }
    />
  ));
}

function titleOf(queueId: string, direction: Direction, limitBps: Pair<number>): string {
  const stats = live.latest(queueId);
  return shareText(stats?.live ? stats.rate_bps[direction] : null, limitBps[direction]);
}

const outlined = (): boolean => window.matchMedia("(forced-colors: active)").matches;

function paletteNow(host: HTMLElement): Palette {
  const { fontFamily, fontSize, fontWeight } = getComputedStyle(host);
  return {
    text: resolvedColour("--text"),
    dim: resolvedColour("--dim"),
    loss: resolvedColour("--bad"),
    fill: {
      none: "transparent",
      upload: resolvedColour("--fill-up"),
      download: resolvedColour("--fill-down"),
      plain: resolvedColour("--fill-plain"),
      warn: resolvedColour("--fill-warn"),
    },
    area: {
      upload: resolvedColour("--up"),
      download: resolvedColour("--down"),
      zero: resolvedColour("--line-strong"),
    },
    font: `${fontWeight} ${fontSize} ${fontFamily}`,
    boldFont: `600 ${fontSize} ${fontFamily}`,
    outlined: outlined(),
  };
}

/** Where the painter draws: above the rows, below the pointer. */
export function LiveLayer({
  painter,
  spans,
  rowPx,
}: {
  painter: LivePainter;
  spans: readonly Span[];
  rowPx: number;
}) {
  const host = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme();
  useLayoutEffect(() => {
    painter.attach(host.current);
    return () => painter.attach(null);
  }, [painter]);
  useLayoutEffect(() => {
    if (host.current) painter.layOut({ spans, rowPx, palette: paletteNow(host.current) });
  }, [painter, spans, rowPx, scheme]);
  useEffect(() => {
    const again = () => {
      if (host.current) painter.layOut({ spans, rowPx, palette: paletteNow(host.current) });
    };
    const another = [
      window.matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`),
      window.matchMedia("(forced-colors: active)"),
      document.fonts,
    ];
    const events = ["change", "change", "loadingdone"] as const;
    another.forEach((target, at) => target.addEventListener(events[at] ?? "change", again));
    return () => another.forEach((target, at) => target.removeEventListener(events[at] ?? "change", again));
  }, [painter, spans, rowPx]);
  return <div ref={host} className={classes.layer} aria-hidden="true" />;
}

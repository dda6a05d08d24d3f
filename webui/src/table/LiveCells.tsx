// SPDX-License-Identifier: Apache-2.0
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useLayoutEffect, useRef } from "react";
import { live } from "@/api/live";
import type { Pair } from "@/api/types";
import { resolvedColour } from "@/ui/colour";
import type { Palette, Span } from "./orders";
import { LIVE_COLUMNS, reasonOf, type Direction, type LiveColumnId } from "./liveColumns";
import classes from "./LiveCells.module.css";
import type { LivePainter } from "./LivePainter";
import { shareText } from "./RateBar";

interface LiveCellsProps {
  index: number;
  queueId: string;
  limitBps: Pair<number>;
  /** Neighbours, in their order; those of the painter's layer. */
  columns: readonly LiveColumnId[];
  painter: LivePainter;
}

/** Of a column of rates, its direction. */
const rateOf = (id: LiveColumnId): Direction | null => {
  const column = LIVE_COLUMNS[id];
  return "rate" in column ? column.rate : null;
};

/**
 * The live cells of a row. What is seen is read and drawn by the painter's worker; it tells the cells what they show as
 * their names, for who does not see: every few seconds, and at once when they begin or cease to be known.
 */
export function LiveCells({ index, queueId, limitBps, columns, painter }: LiveCellsProps) {
  const cells = useRef<(HTMLSpanElement | null)[]>([]);
  const { upload, download } = limitBps;
  useLayoutEffect(() => {
    const unfollow = live.follow(queueId);
    painter.follow(index, {
      id: queueId,
      limitBps: { upload, download },
      name: (names) =>
        names.forEach((name, at) => {
          const cell = cells.current[at];
          if (cell && cell.ariaLabel !== name) cell.ariaLabel = name;
        }),
    });
    return () => {
      unfollow();
      painter.clear(index);
    };
  }, [index, queueId, upload, download, columns, painter]);
  return columns.map((id, at) => {
    const rate = rateOf(id);
    return (
      <span
        key={at}
        ref={(cell) => void (cells.current[at] = cell)}
        role="gridcell"
        aria-label="–"
        className={rate ? `${classes.cell ?? ""} ${classes.track ?? ""}` : classes.cell}
        data-testid={rate ? `rate-${rate}` : undefined}
        onPointerEnter={(event) =>
          (event.currentTarget.title = rate
            ? titleOf(queueId, rate, limitBps)
            : (reasonOf(LIVE_COLUMNS[id], live.latest(queueId)) ?? ""))
        }
      />
    );
  });
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

const NO_COLUMNS: readonly LiveColumnId[] = [];

/** Where the painter draws: above the rows, below the pointer. */
export function LiveLayer({
  painter,
  columns = NO_COLUMNS,
  spans,
  rowPx,
}: {
  painter: LivePainter;
  /** What is drawn of rows that are followed. */
  columns?: readonly LiveColumnId[];
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
    if (host.current) painter.layOut({ columns, spans, rowPx, palette: paletteNow(host.current) });
  }, [painter, columns, spans, rowPx, scheme]);
  useEffect(() => {
    const again = () => {
      if (host.current) painter.layOut({ columns, spans, rowPx, palette: paletteNow(host.current) });
    };
    const another = [
      window.matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`),
      window.matchMedia("(forced-colors: active)"),
      document.fonts,
    ];
    const events = ["change", "change", "loadingdone"] as const;
    another.forEach((target, at) => target.addEventListener(events[at] ?? "change", again));
    return () => another.forEach((target, at) => target.removeEventListener(events[at] ?? "change", again));
  }, [painter, columns, spans, rowPx]);
  return <div ref={host} className={classes.layer} aria-hidden="true" />;
}

// SPDX-License-Identifier: Apache-2.0
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import classes from "./Graph.module.css";
import { resolvedColour } from "./colour";
import { exactRate, shortRate } from "./rates";

export interface GraphData {
  /** Unix seconds. */
  at: number[];
  upload: (number | null)[];
  download: (number | null)[];
  drops?: (number | null)[];
}

interface GraphProps {
  label: string;
  data: GraphData;
  limits?: { upload: number; download: number };
  height?: number;
  /** Seconds shown, ending with the newest sample; without it, all of the data. */
  spanS?: number;
  /** Without the line of numbers under the cursor, where the numbers stand elsewhere. */
  bare?: boolean;
}

/** The limits as dashed lines, and what is above a limit shaded: that is a burst. */
function limitsPlugin(limits: () => GraphProps["limits"], colours: { upload: string; download: string }): uPlot.Plugin {
  const draw = (plot: uPlot) => {
    const pair = limits();
    if (!pair) return;
    const { ctx, bbox } = plot;
    for (const direction of ["upload", "download"] as const) {
      if (pair[direction] === 0) continue;
      const y = Math.round(plot.valToPos(pair[direction], "y", true));
      if (y < bbox.top || y > bbox.top + bbox.height) continue;
      ctx.save();
      ctx.strokeStyle = colours[direction];
      ctx.lineWidth = devicePixelRatio;
      ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      shadeAbove(plot, direction === "upload" ? 1 : 2, y, colours[direction]);
      ctx.restore();
    }
  };
  return { hooks: { draw } };
}

function shadeAbove(plot: uPlot, series: number, limitY: number, fill: string): void {
  const { ctx, bbox } = plot;
  const xs = plot.data[0];
  const ys = plot.data[series] ?? [];
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, limitY - bbox.top);
  ctx.clip();
  ctx.globalAlpha = 0.25;
  ctx.fillStyle = fill;
  ctx.beginPath();
  const first = ys.findIndex((value) => value != null);
  ys.forEach((value, index) => {
    if (value == null) return;
    const x = plot.valToPos(xs[index] ?? 0, "x", true);
    if (index === first) ctx.moveTo(x, limitY);
    ctx.lineTo(x, Math.min(limitY, plot.valToPos(value, "y", true)));
  });
  if (first >= 0) ctx.lineTo(plot.valToPos(xs[xs.length - 1] ?? 0, "x", true), limitY);
  ctx.fill();
}

/** Drops as ticks along the bottom: a mark for each sample in which something was dropped. */
function dropsPlugin(colourOfDrops: string): uPlot.Plugin {
  const draw = (plot: uPlot) => {
    const drops = plot.data[3];
    if (!drops) return;
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.fillStyle = colourOfDrops;
    drops.forEach((value, index) => {
      if (!value) return;
      const x = plot.valToPos(plot.data[0][index] ?? 0, "x", true);
      ctx.fillRect(x - devicePixelRatio, bbox.top + bbox.height - 7 * devicePixelRatio, 2 * devicePixelRatio, 7 * devicePixelRatio);
    });
    ctx.restore();
  };
  return { hooks: { draw } };
}

const toData = (data: GraphData): uPlot.AlignedData => [data.at, data.upload, data.download, data.drops ?? data.at.map(() => null)];

/** `14:02:30`, or `14:02` where the axis steps by minutes. */
function timeLabels(_plot: uPlot, values: number[], _axis: number, _space: number, stepS: number): string[] {
  return values.map((value) => new Date(value * 1000).toLocaleTimeString("en-GB").slice(0, stepS >= 60 ? 5 : 8));
}

export function Graph({ label, data, limits, height = 220, spanS, bare = false }: GraphProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const newest = useRef({ data, limits, spanS });
  const scheme = useComputedColorScheme();

  useEffect(() => {
    newest.current = { data, limits, spanS };
    plot.current?.setData(toData(data));
  }, [data, limits, spanS]);

  useEffect(() => {
    const host = box.current;
    if (!host) return;
    const colours = { upload: resolvedColour("--up"), download: resolvedColour("--down") };
    const grid = { stroke: resolvedColour("--line"), width: 1 };
    const axis = { stroke: resolvedColour("--dim"), grid, ticks: { show: false }, font: `11px ${getComputedStyle(document.body).fontFamily}` };
    const rate = (_: uPlot, value: number | null) => (value === null ? "–" : shortRate(value));
    const made = new uPlot(
      {
        width: host.clientWidth || 300,
        height,
        cursor: { y: false, points: { size: 6 } },
        legend: { show: !bare, live: true },
        scales: {
          x: { range: (_plot, low, high) => [newest.current.spanS === undefined ? low : high - newest.current.spanS, high] },
          y: { range: (_plot, _low, high) => [0, Math.max(1_000, high, newest.current.limits?.upload ?? 0, newest.current.limits?.download ?? 0) * 1.08] },
        },
        axes: [{ ...axis, space: 80, size: 26, values: timeLabels }, { ...axis, size: 50, values: (_plot, values) => values.map(exactRate) }],
        series: [
          { value: (_plot, value: number | null) => (value === null ? "–" : new Date(value * 1000).toLocaleTimeString("en-GB")), label: "time" },
          { label: "↑ upload", stroke: colours.upload, width: 1.5, value: rate, points: { show: false } },
          { label: "↓ download", stroke: colours.download, width: 1.5, value: rate, points: { show: false } },
          { label: "drops/s", stroke: resolvedColour("--bad"), show: true, scale: "drops", paths: () => null, points: { show: false }, value: (_plot, value: number | null) => (value ? value.toFixed(1) : "0") },
        ],
        plugins: [limitsPlugin(() => newest.current.limits, colours), dropsPlugin(resolvedColour("--bad"))],
      },
      toData(newest.current.data),
      host,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: host.clientWidth, height }));
    observer.observe(host);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [height, scheme, bare]);

  return <div ref={box} className={classes.graph} role="img" aria-label={label} style={{ minHeight: height }} />;
}

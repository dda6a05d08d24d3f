// SPDX-License-Identifier: Apache-2.0
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import classes from "./Graph.module.css";
import { resolvedColour } from "./colour";
import { delayText } from "./format";
import { exactRate, shortRate } from "./rates";
import { zoomWithin, type Zoom } from "./zoom";

export interface GraphData {
  /** Unix seconds. */
  at: number[];
  upload: (number | null)[];
  download: (number | null)[];
  drops?: (number | null)[];
  /** Only with drops. */
  marks?: (number | null)[];
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
  /** What the figures are: bit/s, or microseconds. */
  unit?: "rate" | "delay";
  /** The part of the time that is shown instead of the span. */
  zoom?: Zoom | null;
  /** A part was dragged out, or all is wanted again (a double click); without it, the graph cannot be zoomed. */
  onZoom?: (zoom: Zoom | null) => void;
}

/** The limits as dashed lines, and what is above a limit shaded: that is a burst. */
function limitsPlugin(
  limits: () => GraphProps["limits"],
  colours: { upload: string; download: string },
): uPlot.Plugin {
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

/** Ticks along an edge: one for each sample in which something was dropped (at the bottom) or marked (at the top). */
function ticksPlugin(series: number, atTop: boolean, colour: string): uPlot.Plugin {
  const draw = (plot: uPlot) => {
    const { ctx, bbox } = plot;
    const height = 7 * devicePixelRatio;
    ctx.save();
    ctx.fillStyle = colour;
    plot.data[series]?.forEach((value, index) => {
      if (!value) return;
      const x = plot.valToPos(plot.data[0][index] ?? 0, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) return;
      ctx.fillRect(
        x - devicePixelRatio,
        atTop ? bbox.top : bbox.top + bbox.height - height,
        2 * devicePixelRatio,
        height,
      );
    });
    ctx.restore();
  };
  return { hooks: { draw } };
}

const UNITS = {
  rate: { axis: exactRate, value: shortRate, least: 1_000 },
  delay: { axis: delayText, value: delayText, least: 1_000 },
};

const toData = ({ at, upload, download, drops, marks }: GraphData): uPlot.AlignedData => [
  at,
  upload,
  download,
  ...(drops ? [drops] : []),
  ...(marks ? [marks] : []),
];

/** Drops and marks: numbers in the legend, ticks in the plot. */
const tickSeries = (label: string, stroke: string): uPlot.Series => ({
  label,
  stroke,
  scale: "ticks",
  paths: () => null,
  points: { show: false },
  value: (_plot, value: number | null) => (value === null ? "–" : value === 0 ? "0" : value.toFixed(1)),
});

/** `14:02:30`, or `14:02` where the axis steps by minutes. */
function timeLabels(_plot: uPlot, values: number[], _axis: number, _space: number, stepS: number): string[] {
  return values.map((value) =>
    new Date(value * 1000).toLocaleTimeString("en-GB").slice(0, stepS >= 60 ? 5 : 8),
  );
}

/** What was dragged out goes to the page, which keeps it in its address; the graph follows the page. */
function zoomOptions(
  onZoom: () => GraphProps["onZoom"],
): Pick<uPlot.Options, "hooks"> & { cursor: uPlot.Cursor } {
  const setSelect = (plot: uPlot) => {
    const { left, width } = plot.select;
    if (width === 0) return;
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    const { min, max } = plot.scales["x"] ?? {};
    if (min == null || max == null) return;
    onZoom()?.(
      zoomWithin({ fromS: min, toS: max }, plot.posToVal(left, "x"), plot.posToVal(left + width, "x")),
    );
  };
  const dblclick = () => () => {
    onZoom()?.(null);
    return null;
  };
  return {
    cursor: {
      y: false,
      points: { size: 6 },
      drag: { x: onZoom() !== undefined, y: false, setScale: false, dist: 4 },
      bind: { dblclick },
    },
    hooks: { setSelect: [setSelect] },
  };
}

/** The zoom, or the span up to the newest sample, or all of the data. */
const shownRange = (
  { zoom, spanS }: Pick<GraphProps, "zoom" | "spanS">,
  low: number,
  high: number,
): [number, number] => (zoom ? [zoom.fromS, zoom.toS] : [spanS === undefined ? low : high - spanS, high]);

export function Graph({
  label,
  data,
  limits,
  height = 220,
  spanS,
  bare = false,
  unit = "rate",
  zoom = null,
  onZoom,
}: GraphProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const newest = useRef({ data, limits, spanS, zoom, onZoom });
  const scheme = useComputedColorScheme();

  useEffect(() => {
    newest.current = { data, limits, spanS, zoom, onZoom };
  });
  useEffect(() => plot.current?.setData(toData(data)), [data, limits, spanS, zoom]);

  useEffect(() => {
    const host = box.current;
    if (!host) return;
    const colours = { upload: resolvedColour("--up"), download: resolvedColour("--down") };
    const grid = { stroke: resolvedColour("--line"), width: 1 };
    const axis = {
      stroke: resolvedColour("--dim"),
      grid,
      ticks: { show: false },
      font: `11px ${getComputedStyle(document.body).fontFamily}`,
    };
    const words = UNITS[unit];
    const figure = (_: uPlot, value: number | null) => (value === null ? "–" : words.value(value));
    const [bad, warn] = [resolvedColour("--bad"), resolvedColour("--warn")];
    const { drops, marks } = newest.current.data;
    const made = new uPlot(
      {
        width: host.clientWidth || 300,
        height,
        ...zoomOptions(() => newest.current.onZoom),
        legend: { show: !bare, live: true },
        scales: {
          x: { range: (_plot, low, high) => shownRange(newest.current, low, high) },
          y: {
            range: (_plot, _low, high) => [
              0,
              Math.max(
                words.least,
                high,
                newest.current.limits?.upload ?? 0,
                newest.current.limits?.download ?? 0,
              ) * 1.08,
            ],
          },
        },
        axes: [
          { ...axis, space: 80, size: 26, values: timeLabels },
          { ...axis, size: 50, values: (_plot, values) => values.map(words.axis) },
        ],
        series: [
          {
            value: (_plot, value: number | null) =>
              value === null ? "–" : new Date(value * 1000).toLocaleTimeString("en-GB"),
            label: "time",
          },
          { label: "↑ upload", stroke: colours.upload, width: 1.5, value: figure, points: { show: false } },
          {
            label: "↓ download",
            stroke: colours.download,
            width: 1.5,
            value: figure,
            points: { show: false },
          },
          ...(drops ? [tickSeries("drops/s", bad)] : []),
          ...(marks ? [tickSeries("marks/s", warn)] : []),
        ],
        plugins: [
          limitsPlugin(() => newest.current.limits, colours),
          ticksPlugin(3, false, bad),
          ticksPlugin(4, true, warn),
        ],
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
  }, [height, scheme, bare, unit]);

  return (
    <div ref={box} className={classes.graph} role="img" aria-label={label} style={{ minHeight: height }} />
  );
}

// SPDX-License-Identifier: Apache-2.0
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import classes from "./Graph.module.css";
import { resolvedColour } from "./colour";
import { countText, delayText, percentText, stampText } from "./format";
import { eventsPlugin, gapsPlugin, lanePlugin, limitsPlugin, type GraphColours } from "./graphPlugins";
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

/** Something that happened, told in a few words. */
export interface GraphEvent {
  /** Unix seconds. */
  at: number;
  text: string;
}

export interface GraphProps {
  label: string;
  data: GraphData;
  limits?: { upload: number; download: number };
  height?: number;
  /** Seconds shown, ending with the newest sample; without it, all of the data. */
  spanS?: number;
  /** Without the line of numbers under the cursor, where the numbers stand elsewhere. */
  bare?: boolean;
  /** What the figures are: bit/s, microseconds, shares of a whole, or how many. */
  unit?: keyof typeof UNITS;
  /** The name of the one line that there is: the data's download. */
  only?: string;
  /** The part of the time that is shown instead of the span. */
  zoom?: Zoom | null;
  /** A part was dragged out, or all is wanted again (a double click); without it, the graph cannot be zoomed. */
  onZoom?: (zoom: Zoom | null) => void;
  /** Commits and the like, as vertical lines. */
  events?: readonly GraphEvent[];
  /** Why a part of the time has no samples, in a few words; null where nobody knows. */
  whyGap?: (fromS: number, toS: number) => string | null;
}

const NO_EVENTS: readonly GraphEvent[] = [];
/** All graphs of a page share one crosshair. */
const CROSSHAIR = "weir";

const UNITS = {
  rate: { axis: exactRate, value: shortRate, least: 1_000 },
  delay: { axis: delayText, value: delayText, least: 1_000 },
  share: { axis: percentText, value: percentText, least: 1 },
  count: { axis: countText, value: (count: number) => countText(Math.round(count)), least: 1 },
};

/** Upload is drawn downwards. */
const toData = ({ at, upload, download, drops, marks }: GraphData, only?: string): uPlot.AlignedData => [
  at,
  ...(only === undefined ? [upload.map((value) => (value === null ? null : -value))] : []),
  download,
  ...(drops ? [drops] : []),
  ...(marks ? [marks] : []),
];

/** Samples with none beside them, which no line would show. */
const alone = (values: readonly (number | null | undefined)[]): number[] =>
  values.flatMap((value, index) =>
    value != null && values[index - 1] == null && values[index + 1] == null ? [index] : [],
  );

const area = (stroke: string): uPlot.Series => ({
  stroke,
  fill: faded(stroke, 0.18),
  fillTo: 0,
  width: 1.5,
  points: {
    show: true,
    size: 4,
    fill: stroke,
    filter: (plot, series) => alone(Array.from(plot.data[series] ?? [])),
  },
});

/** Drops and marks: numbers in the legend, ticks in the plot. */
const tickSeries = (label: string, stroke: string): uPlot.Series => ({
  label,
  stroke,
  scale: "ticks",
  paths: () => null,
  points: { show: false },
  value: (_plot, value: number | null) => (value === null ? "–" : value === 0 ? "0" : value.toFixed(1)),
});

/** `14:02:30`, `14:02` where the axis steps by minutes, and the day where one begins. */
function timeLabels(_plot: uPlot, values: number[], _axis: number, _space: number, stepS: number): string[] {
  return values.map((value) => {
    const date = new Date(value * 1000);
    const clock = date.toLocaleTimeString("en-GB").slice(0, stepS >= 60 ? 5 : 8);
    return stepS >= 3_600 && clock === "00:00"
      ? date.toLocaleDateString("en-GB", { day: "numeric", month: "short" })
      : clock;
  });
}

/** As much room up as the download needs and down as the upload does; nothing is invented over a flat zero. */
function valueRange({ data, limits }: Pick<GraphProps, "data" | "limits">, least: number): [number, number] {
  const most = (values: readonly (number | null)[], limit: number) =>
    values.reduce<number>((high, value) => Math.max(high, value ?? 0), limit);
  const up = most(data.upload, limits?.upload ?? 0);
  const down = most(data.download, limits?.download ?? 0);
  const whole = Math.max(least, up + down);
  const room = data.drops ? 0.12 : 0.04;
  return [-(up + whole * room), Math.max(down + whole * 0.08, whole * 0.08)];
}

/** A see-through version of a colour that the browser has resolved. */
const faded = (colour: string, share: number): string =>
  colour.replace(/^rgb\((.*)\)$/, (_, parts: string) => `rgba(${parts}, ${share})`);

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
      sync: { key: CROSSHAIR, scales: ["x", null] },
      drag: { x: onZoom() !== undefined, y: false, setScale: false, dist: 4 },
      bind: { dblclick },
    },
    hooks: { setSelect: [setSelect] },
  };
}

/** To the next or the last sample but one; from the newest one when there is no crosshair yet. */
function moveCrosshair(plot: uPlot, by: number): void {
  const times = plot.data[0];
  const at = plot.cursor.idx ?? times.length - 1 - by;
  const next = Math.max(0, Math.min(times.length - 1, at + by));
  plot.setCursor({ left: plot.valToPos(times[next] ?? 0, "x"), top: 0 });
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
  only,
  zoom = null,
  onZoom,
  events = NO_EVENTS,
  whyGap,
}: GraphProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const newest = useRef({ data, limits, spanS, zoom, onZoom, events, whyGap });
  const scheme = useComputedColorScheme();

  useEffect(() => {
    newest.current = { data, limits, spanS, zoom, onZoom, events, whyGap };
  });
  useEffect(
    () => plot.current?.setData(toData(data, only)),
    [data, only, limits, spanS, zoom, events, whyGap],
  );

  useEffect(() => {
    const host = box.current;
    if (!host) return;
    const font = getComputedStyle(document.body).fontFamily;
    const colours: GraphColours = {
      upload: resolvedColour("--up"),
      download: resolvedColour("--down"),
      text: resolvedColour("--text"),
      dim: resolvedColour("--dim"),
      line: resolvedColour("--line"),
      font: `${11 * devicePixelRatio}px ${font}`,
    };
    const grid = { stroke: resolvedColour("--line"), width: 1 };
    const axis = {
      stroke: resolvedColour("--dim"),
      grid,
      ticks: { show: false },
      font: `11px ${font}`,
    };
    const words = UNITS[unit];
    const figure = (_: uPlot, value: number | null) => (value === null ? "–" : words.value(Math.abs(value)));
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
          y: { range: () => valueRange(newest.current, words.least) },
        },
        axes: [
          { ...axis, space: 80, size: 26, values: timeLabels },
          {
            ...axis,
            size: 50,
            space: height < 150 ? 20 : 30,
            values: (_plot, values) => values.map((value) => words.axis(Math.abs(value))),
          },
        ],
        series: [
          {
            value: (_plot, value: number | null) => (value === null ? "–" : stampText(value)),
            label: "time",
          },
          ...(only === undefined ? [{ label: "↑ upload", ...area(colours.upload), value: figure }] : []),
          { label: only ?? "↓ download", ...area(colours.download), value: figure },
          ...(drops ? [tickSeries("drops/s", bad)] : []),
          ...(marks ? [tickSeries("marks/s", warn)] : []),
        ],
        plugins: [
          gapsPlugin(() => newest.current.whyGap, colours),
          limitsPlugin(() => newest.current.limits, colours, words.axis),
          lanePlugin(3, 0, bad),
          lanePlugin(4, 1, warn),
          eventsPlugin(() => newest.current.events, colours),
        ],
      },
      toData(newest.current.data, only),
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
  }, [height, scheme, bare, unit, only]);

  return (
    <div
      ref={box}
      className={classes.graph}
      role="img"
      aria-label={label}
      tabIndex={bare ? undefined : 0}
      onKeyDown={(event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!by || !plot.current) return;
        event.preventDefault();
        moveCrosshair(plot.current, by);
      }}
      style={{ minHeight: height }}
    />
  );
}

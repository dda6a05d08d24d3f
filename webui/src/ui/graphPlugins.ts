// SPDX-License-Identifier: Apache-2.0
/** What is drawn into a graph beside its two lines: limits, what dropped or was marked, commits, and missing time. */
import uPlot from "uplot";
import type { GraphEvent, GraphProps } from "./Graph";

const px = (pixels: number): number => pixels * devicePixelRatio;

/** Draws with the canvas as it was before, and nothing outside of the plot. */
function inside(plot: uPlot, draw: (ctx: CanvasRenderingContext2D, bbox: uPlot.BBox) => void): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  draw(ctx, bbox);
  ctx.restore();
}

export interface GraphColours {
  upload: string;
  download: string;
  text: string;
  dim: string;
  line: string;
  font: string;
}

/** The limits as dashed lines with their words, and what is above a limit shaded: that is a burst. */
export function limitsPlugin(
  limits: () => GraphProps["limits"],
  colours: GraphColours,
  words: (rateBps: number) => string,
): uPlot.Plugin {
  const draw = (plot: uPlot) =>
    inside(plot, (ctx, bbox) => {
      const pair = limits();
      if (!pair) return;
      for (const direction of ["upload", "download"] as const) {
        if (pair[direction] === 0) continue;
        const sign = direction === "upload" ? -1 : 1;
        const y = Math.round(plot.valToPos(sign * pair[direction], "y", true));
        ctx.strokeStyle = ctx.fillStyle = colours[direction];
        ctx.lineWidth = px(1);
        ctx.setLineDash([px(6), px(4)]);
        ctx.beginPath();
        ctx.moveTo(bbox.left, y);
        ctx.lineTo(bbox.left + bbox.width, y);
        ctx.stroke();
        ctx.font = colours.font;
        ctx.textAlign = "right";
        ctx.textBaseline = sign > 0 ? "bottom" : "top";
        ctx.fillText(`limit ${words(pair[direction])}`, bbox.left + bbox.width - px(4), y - sign * px(2));
        shadeBeyond(plot, direction, y, colours[direction]);
      }
    });
  return { hooks: { draw } };
}

/** Fills what is farther from zero than the limit's line. */
function shadeBeyond(plot: uPlot, direction: "upload" | "download", limitY: number, fill: string): void {
  const { ctx, bbox } = plot;
  const xs = plot.data[0];
  const ys = plot.data[direction === "upload" ? 1 : 2] ?? [];
  ctx.save();
  ctx.beginPath();
  if (direction === "download") ctx.rect(bbox.left, bbox.top, bbox.width, limitY - bbox.top);
  else ctx.rect(bbox.left, limitY, bbox.width, bbox.top + bbox.height - limitY);
  ctx.clip();
  ctx.globalAlpha = 0.35;
  ctx.fillStyle = fill;
  ctx.beginPath();
  const zeroY = plot.valToPos(0, "y", true);
  const first = ys.findIndex((value) => value != null);
  if (first >= 0) ctx.moveTo(plot.valToPos(xs[first] ?? 0, "x", true), zeroY);
  let lastX = 0;
  ys.forEach((value, index) => {
    lastX = plot.valToPos(xs[index] ?? 0, "x", true);
    ctx.lineTo(lastX, value == null ? zeroY : plot.valToPos(value, "y", true));
  });
  ctx.lineTo(lastX, zeroY);
  ctx.fill();
  ctx.restore();
}

/** Ticks in a lane at the foot: one for each sample in which something was dropped (the lowest) or marked. */
export function lanePlugin(series: number, lane: number, colour: string): uPlot.Plugin {
  const draw = (plot: uPlot) =>
    inside(plot, (ctx, bbox) => {
      const height = px(6);
      ctx.fillStyle = colour;
      plot.data[series]?.forEach((value, index) => {
        if (!value) return;
        const x = plot.valToPos(plot.data[0][index] ?? 0, "x", true);
        ctx.fillRect(x - px(1), bbox.top + bbox.height - (lane + 1) * (height + px(1)), px(2), height);
      });
    });
  return { hooks: { draw } };
}

const LABEL_ROOM_PX = 130;
/** Below the words of a limit that is the highest value. */
const LABEL_TOP = 18;

/** A line at each commit, with what it did; words that would stand in those before are left out. */
export function eventsPlugin(events: () => readonly GraphEvent[], colours: GraphColours): uPlot.Plugin {
  const draw = (plot: uPlot) =>
    inside(plot, (ctx, bbox) => {
      ctx.strokeStyle = colours.dim;
      ctx.fillStyle = colours.text;
      ctx.lineWidth = px(1);
      ctx.setLineDash([px(2), px(3)]);
      ctx.font = colours.font;
      ctx.textBaseline = "top";
      let freeFrom = -Infinity;
      for (const { at, text } of [...events()].sort((a, b) => a.at - b.at)) {
        const x = Math.round(plot.valToPos(at, "x", true));
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
        if (x < freeFrom) continue;
        const isLate = x > bbox.left + bbox.width - px(LABEL_ROOM_PX);
        ctx.textAlign = isLate ? "right" : "left";
        ctx.fillText(text, x + (isLate ? -px(4) : px(4)), bbox.top + LABEL_TOP * px(1));
        freeFrom = x + px(LABEL_ROOM_PX);
      }
    });
  return { hooks: { draw } };
}

/** The parts of the shown time without a sample, in Unix seconds. */
export function gapsOf(data: uPlot.AlignedData, fromS: number, toS: number): [number, number][] {
  const at = data[0];
  const step = at.length > 1 ? ((at.at(-1) ?? 0) - (at[0] ?? 0)) / (at.length - 1) : 1;
  const gaps: [number, number][] = [];
  let since = fromS;
  at.forEach((time, index) => {
    if (time < fromS || time > toS) return;
    if (data[1]?.[index] == null && data[2]?.[index] == null) return;
    if (time - since > 1.5 * step) gaps.push([since, time - (since === fromS ? 0 : step / 2)]);
    since = time;
  });
  if (toS - since > 2.5 * step) gaps.push([since + (since === fromS ? 0 : step / 2), toS]);
  return gaps;
}

/** Their height: a lower graph must not cut them off. */
const GAP_WORDS_PX = 14;

/** Time without measurements is hatched, and says so where there is room: it is not zero. */
export function gapsPlugin(why: () => GraphProps["whyGap"], colours: GraphColours): uPlot.Plugin {
  const drawClear = (plot: uPlot) =>
    inside(plot, (ctx, bbox) => {
      const { min, max } = plot.scales["x"] ?? {};
      if (min == null || max == null) return;
      for (const [from, to] of gapsOf(plot.data, min, max)) {
        const left = plot.valToPos(from, "x", true);
        const width = plot.valToPos(to, "x", true) - left;
        ctx.save();
        ctx.beginPath();
        ctx.rect(left, bbox.top, width, bbox.height);
        ctx.clip();
        ctx.strokeStyle = colours.line;
        ctx.lineWidth = px(1);
        ctx.beginPath();
        for (let x = left - bbox.height; x < left + width; x += px(7)) {
          ctx.moveTo(x, bbox.top + bbox.height);
          ctx.lineTo(x + bbox.height, bbox.top);
        }
        ctx.stroke();
        if (width > px(110)) {
          ctx.fillStyle = colours.dim;
          ctx.font = colours.font;
          ctx.textAlign = "center";
          ctx.textBaseline = "bottom";
          const reason = why()?.(from, to);
          const words = reason ? `not measured: ${reason}` : "not measured";
          const shown = ctx.measureText(words).width < width ? words : "not measured";
          ctx.fillText(shown, left + width / 2, bbox.top + Math.max(bbox.height * 0.42, px(GAP_WORDS_PX)));
        }
        ctx.restore();
      }
    });
  return { hooks: { drawClear } };
}

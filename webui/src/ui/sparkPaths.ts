// SPDX-License-Identifier: Apache-2.0
/** The shapes of a sparkline as SVG path data: the page draws them, or a worker on a canvas. */

export const SPARK_WIDTH_PX = 96;
export const SPARK_HEIGHT_PX = 26;
const WIDTH_PX = SPARK_WIDTH_PX;
const HALF_PX = SPARK_HEIGHT_PX / 2;

type Values = readonly (number | null)[];

export interface SparkValues {
  /** Oldest first, of equal length; null: not measured. */
  upload: Values;
  download: Values;
  /** So many values are as wide as the picture; fewer begin further right. */
  span: number;
}

/** One closed area for each stretch without a gap, from the middle line up or down. */
function areas(values: Values, most: number, span: number, isUp: boolean): string {
  const stepPx = WIDTH_PX / Math.max(span - 1, 1);
  const firstPx = WIDTH_PX - (values.length - 1) * stepPx;
  let path = "";
  let open: number | null = null;
  const x = (index: number) => (firstPx + index * stepPx).toFixed(1);
  const close = (index: number) => {
    if (open !== null) path += `L${x(index - 1)},${HALF_PX}Z`;
    open = null;
  };
  values.forEach((value, index) => {
    if (value === null) {
      close(index);
      return;
    }
    if (open === null) path += `M${x(index)},${HALF_PX}`;
    open ??= index;
    const heightPx = (value / most) * (HALF_PX - 1);
    path += `L${x(index)},${(isUp ? HALF_PX - heightPx : HALF_PX + heightPx).toFixed(1)}`;
  });
  close(values.length);
  return path;
}

/** The line of zero, where something was measured: elsewhere it would say that nothing was carried. */
function zero(values: Values, span: number): string {
  const stepPx = WIDTH_PX / Math.max(span - 1, 1);
  const firstPx = WIDTH_PX - (values.length - 1) * stepPx;
  const isKnown = (index: number) => (values[index] ?? null) !== null;
  return values
    .map((_, index) => {
      if (!isKnown(index)) return "";
      const x = (firstPx + index * stepPx).toFixed(1);
      return isKnown(index - 1) ? (isKnown(index + 1) ? "" : `H${x}`) : `M${x},${HALF_PX}`;
    })
    .join("");
}

/** Download above the line of zero, upload below it, on one scale. */
export function sparkPaths({ upload, download, span }: SparkValues) {
  const most = Math.max(1, ...upload.map((value) => value ?? 0), ...download.map((value) => value ?? 0));
  return {
    download: areas(download, most, span, true),
    upload: areas(upload, most, span, false),
    zero: zero(upload, span),
  };
}

// SPDX-License-Identifier: Apache-2.0
import classes from "./Spark.module.css";

const WIDTH_PX = 96;
const HEIGHT_PX = 26;
const HALF_PX = HEIGHT_PX / 2;

interface SparkProps {
  label: string;
  /** Oldest first, of equal length; null: not measured. */
  upload: readonly (number | null)[];
  download: readonly (number | null)[];
  /** So many values are as wide as the picture; fewer begin further right. */
  span: number;
}

/** One closed area for each stretch without a gap, from the middle line up or down. */
function areas(values: readonly (number | null)[], most: number, span: number, isUp: boolean): string {
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
function zero(values: readonly (number | null)[], span: number): string {
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

/** The last minutes at a glance: download above the line, upload below it, on one scale, as in the charts. */
export function Spark({ label, upload, download, span }: SparkProps) {
  const most = Math.max(1, ...upload.map((value) => value ?? 0), ...download.map((value) => value ?? 0));
  return (
    <svg
      className={classes.spark}
      width={WIDTH_PX}
      height={HEIGHT_PX}
      viewBox={`0 0 ${WIDTH_PX} ${HEIGHT_PX}`}
      role="img"
      aria-label={label}
    >
      <path className={classes.download} d={areas(download, most, span, true)} />
      <path className={classes.upload} d={areas(upload, most, span, false)} />
      <path className={classes.zero} d={zero(upload, span)} />
    </svg>
  );
}

// SPDX-License-Identifier: Apache-2.0
import { useState } from "react";
import type { GraphData } from "@/ui/Graph";
import { Arrow } from "@/ui/blocks";
import { stampText } from "@/ui/format";
import { longRate } from "@/ui/rates";
import type { Zoom } from "@/ui/zoom";
import { rowsOf, summaryOf } from "./figures";
import classes from "./Queue.module.css";

const rateText = (rateBps: number | null | undefined): string =>
  rateBps === null || rateBps === undefined ? "not measured" : longRate(rateBps);

/** Mean, 95th percentile and most of what is shown. */
export function Percentiles({ data, zoom }: { data: GraphData; zoom: Zoom | null }) {
  const { upload, download } = summaryOf(data, zoom);
  if (!upload || !download) return null;
  return (
    <table className={classes.percentiles} aria-label="Mean, 95th percentile and most">
      <thead>
        <tr>
          <th />
          <th>mean</th>
          <th>95th percentile</th>
          <th>most</th>
        </tr>
      </thead>
      <tbody>
        {(
          [
            ["upload", upload],
            ["download", download],
          ] as const
        ).map(([direction, summary]) => (
          <tr key={direction}>
            <th>
              <Arrow direction={direction} />
            </th>
            <td>{longRate(summary.mean)}</td>
            <td>{longRate(summary.p95)}</td>
            <td>{longRate(summary.most)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The graph's figures as a table, for who cannot see it or wants the numbers. */
export function FiguresTable({ data, zoom }: { data: GraphData; zoom: Zoom | null }) {
  const [open, setOpen] = useState(false);
  return (
    <details className={classes.figures} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Figures as a table</summary>
      {open ? (
        <table>
          <thead>
            <tr>
              <th>Time</th>
              <th className="num">Upload</th>
              <th className="num">Download</th>
              <th className="num">Drops/s</th>
            </tr>
          </thead>
          <tbody>
            {rowsOf(data, zoom).map((index) => (
              <tr key={index}>
                <td>{stampText(data.at[index] ?? 0)}</td>
                <td className="num">{rateText(data.upload[index])}</td>
                <td className="num">{rateText(data.download[index])}</td>
                <td className="num">{data.drops?.[index]?.toFixed(1) ?? "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : null}
    </details>
  );
}

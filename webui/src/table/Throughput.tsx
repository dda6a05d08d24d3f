// SPDX-License-Identifier: Apache-2.0
import { useQueries, useQuery } from "@tanstack/react-query";
import { useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { asCustomersSee } from "@/api/interfaces";
import { interfaceHistoryQuery, interfacesQuery } from "@/api/queries";
import { bySecond, isWhole, KEEP_S, latestTraces, watchTraces, withPast } from "@/api/traces";
import type { InterfaceHistory } from "@/api/types";
import { Arrow, Figures } from "@/ui/blocks";
import { shortRate } from "@/ui/rates";
import { SPARK_HEIGHT_PX, SPARK_WIDTH_PX } from "@/ui/sparkPaths";
import { LiveLayer } from "./LiveCells";
import type { Shown } from "./orders";
import { LivePainter } from "./LivePainter";
import classes from "./Throughput.module.css";

type Values = readonly (number | null)[];
interface Both {
  upload: Values;
  download: Values;
}

const FIGURES = [
  { direction: "upload", title: "Upload to the internet", left: 0 },
  { direction: "download", title: "Download from the internet", left: 78 },
] as const;
const ARROW_PX = 14;
const RATE_PX = 48;
const SPARK_LEFT_PX = 148;
const SPANS = [
  ...FIGURES.map(({ left }) => ({ left: left + ARROW_PX, width: RATE_PX })),
  { left: SPARK_LEFT_PX, width: SPARK_WIDTH_PX },
];
/** Two minutes are 96 pixels wide. */
const SPARK_EVERY_MS = 5_000;
const NO_TEXT = { text: "", nothing: false, fill: null, level: "none" } as const;

/** Sums by second, from the newest back; where one was not measured, the sum is not known. */
function sum(series: readonly Values[]): Values {
  const length = Math.min(...series.map((values) => values.length));
  return Array.from({ length }, (_, index) =>
    series.reduce<number | null>((total, values) => {
      const value = values[values.length - length + index] ?? null;
      return total === null || value === null ? null : total + value;
    }, 0),
  );
}

/** All of `wans` together, as customers see it; null while that is not known. */
function together(seen: readonly Both[]): Both | null {
  if (seen.length === 0) return null;
  const of = (name: "upload" | "download") => sum(seen.map((data) => data[name]));
  const both = asCustomersSee<Values>("wan", of("upload"), of("download"));
  return FIGURES.every(({ direction }) => typeof both[direction].at(-1) === "number") ? both : null;
}

const tracesOf = (wans: readonly string[]) => wans.map((id) => latestTraces().get(id)?.data);

const rateNow = (wans: readonly string[]): Both | null =>
  together(
    tracesOf(wans).flatMap((data) =>
      data ? { upload: data.upload.slice(-1), download: data.download.slice(-1) } : [],
    ),
  );

type Pasts = readonly (InterfaceHistory | undefined)[];
const lastMinutes = (wans: readonly string[], pasts: Pasts): Both | null =>
  together(tracesOf(wans).flatMap((data, index) => (data ? bySecond(withPast(pasts[index], data)) : [])));

/** What the router remembers from before this tab was opened. */
function usePasts(wans: readonly string[]): Pasts {
  const isAsked = useSyncExternalStore(watchTraces, () =>
    tracesOf(wans).some((data) => data && !isWhole(data)),
  );
  return useQueries({
    queries: wans.map((id) => ({ ...interfaceHistoryQuery(id, "2m"), enabled: isAsked })),
    combine: dataOf,
  });
}
const dataOf = (results: readonly { data: InterfaceHistory | undefined }[]): Pasts =>
  results.map(({ data }) => data);

/** Rates of each second and two minutes of them. They are drawn as a table's are: past React, and without the page's layout. */
function Drawn({ wans }: { wans: readonly string[] }) {
  const [painter] = useState(() => new LivePainter());
  const names = useRef<(HTMLSpanElement | null)[]>([]);
  const pasts = usePasts(wans);
  useLayoutEffect(() => {
    let spark: Shown = NO_TEXT;
    let sparkMs = -Infinity;
    const write = () => {
      const both = rateNow(wans);
      if (!both) return;
      const rates = FIGURES.map(({ direction }, at): Shown => {
        const text = shortRate(both[direction].at(-1) ?? 0);
        const name = names.current[at];
        if (name && name.ariaLabel !== text) name.ariaLabel = text;
        return { ...NO_TEXT, text };
      });
      const past = performance.now() - sparkMs < SPARK_EVERY_MS ? null : lastMinutes(wans, pasts);
      if (past) {
        spark = { ...NO_TEXT, spark: { ...past, span: KEEP_S } };
        sparkMs = performance.now();
      }
      painter.draw(0, [...rates, spark]);
    };
    write();
    return watchTraces(write);
  }, [wans, pasts, painter]);
  return (
    <span
      className={classes.drawn}
      style={{ width: SPARK_LEFT_PX + SPARK_WIDTH_PX, height: SPARK_HEIGHT_PX }}
    >
      {FIGURES.map(({ direction, title, left }, at) => (
        <span
          key={direction}
          ref={(name) => void (names.current[at] = name)}
          role="img"
          title={title}
          style={{ left, width: ARROW_PX + RATE_PX }}
        >
          <Arrow direction={direction} />
        </span>
      ))}
      <span
        role="img"
        aria-label="Traffic with the internet in the last two minutes"
        style={{ left: SPARK_LEFT_PX, width: SPARK_WIDTH_PX, height: SPARK_HEIGHT_PX }}
      />
      <LiveLayer painter={painter} spans={SPANS} rowPx={SPARK_HEIGHT_PX} />
    </span>
  );
}

/** What goes out to the internet and comes from there, all WAN ports together: in the head of a page. Nothing is
 * shown where no port is a WAN, or while nothing is measured. */
export function Throughput() {
  const items = useQuery(interfacesQuery).data?.items;
  const wans = useMemo(
    () => (items ?? []).filter((item) => item.role === "wan").map((item) => item.id),
    [items],
  );
  const isKnown = useSyncExternalStore(watchTraces, () => rateNow(wans) !== null);
  if (!isKnown) return null;
  return (
    <Figures items={[]}>
      <Drawn wans={wans} />
    </Figures>
  );
}

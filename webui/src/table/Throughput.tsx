// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import { asCustomersSee } from "@/api/interfaces";
import { interfacesQuery } from "@/api/queries";
import { KEEP_S, latestTraces, watchTraces } from "@/api/traces";
import { Arrow, Figures } from "@/ui/blocks";
import { shortRate } from "@/ui/rates";
import { Spark } from "@/ui/Spark";
import { LiveLayer } from "./LiveCells";
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
const ROW_PX = 24;
const SPANS = FIGURES.map(({ left }) => ({ left: left + ARROW_PX, width: RATE_PX }));
/** Two minutes are 96 pixels wide; each new picture makes the browser look at the whole page. */
const SPARK_EVERY_MS = 5_000;

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
function measured(wans: readonly string[], last = KEEP_S): Both | null {
  const seen = wans.flatMap((id) => latestTraces().get(id)?.data ?? []);
  if (seen.length === 0) return null;
  const of = (name: "upload" | "download") => sum(seen.map((data) => data[name].slice(-last)));
  const both = asCustomersSee<Values>("wan", of("upload"), of("download"));
  return FIGURES.every(({ direction }) => typeof both[direction].at(-1) === "number") ? both : null;
}

/** The two rates of each second. They are drawn as those of a table are: past React, and without the page's layout. */
function Rates({ wans }: { wans: readonly string[] }) {
  const [painter] = useState(() => new LivePainter());
  const names = useRef<(HTMLSpanElement | null)[]>([]);
  useLayoutEffect(() => {
    const write = () => {
      const both = measured(wans, 1);
      if (!both) return;
      const shown = FIGURES.map(({ direction }, at) => {
        const text = shortRate(both[direction].at(-1) ?? 0);
        const name = names.current[at];
        if (name && name.ariaLabel !== text) name.ariaLabel = text;
        return { text, nothing: false, fill: null, level: "none" } as const;
      });
      painter.draw(0, shown);
    };
    write();
    return watchTraces(write);
  }, [wans, painter]);
  return (
    <span className={classes.rates}>
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
      <LiveLayer painter={painter} spans={SPANS} rowPx={ROW_PX} />
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
  const [shown, setShown] = useState<Both | null>(null);
  useLayoutEffect(() => {
    let drawnMs = -Infinity;
    const draw = () => {
      const isKnown = measured(wans, 1) !== null;
      if (isKnown && performance.now() - drawnMs < SPARK_EVERY_MS) return;
      drawnMs = isKnown ? performance.now() : -Infinity;
      setShown(measured(wans));
    };
    draw();
    return watchTraces(draw);
  }, [wans]);
  if (shown === null) return null;
  return (
    <Figures items={[]}>
      <Rates wans={wans} />
      <Spark label="Traffic with the internet in the last two minutes" {...shown} span={KEEP_S} />
    </Figures>
  );
}

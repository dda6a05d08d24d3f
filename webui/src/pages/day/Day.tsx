// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import { useFailure } from "@/api/known";
import { asProblem } from "@/api/problem";
import { figuresQuery } from "@/api/diagnosis";
import type { FiguresAnswer } from "@/api/types";
import { useGapReasons } from "@/app/gapReasons";
import { atS, useMarks } from "@/app/marks";
import { MarkStrip } from "@/app/MarkStrip";
import { useZoom } from "@/app/useZoom";
import { Note, Section, Skeleton } from "@/ui/blocks";
import { clause, sentence } from "@/ui/format";
import { ZoomNote } from "@/ui/ZoomNote";
import classes from "./Day.module.css";
import { FIGURES, linesOf, MINUTES, type Line } from "./lines";

const Graph = lazy(() => import("@/ui/Graph").then((module) => ({ default: module.Graph })));

/** What the router itself did in the last 24 hours, by the minute, with what happened (docs/diagnosis.md). */
export function Day() {
  const query = useQuery(figuresQuery(MINUTES, FIGURES));
  const failure = useFailure(query);
  return (
    <Section title="The last 24 hours">
      {failure !== null ? (
        <Note severity="warning" live>
          What the router did is not known: {clause(asProblem(failure).message)}
        </Note>
      ) : query.data ? (
        <Band found={query.data} />
      ) : (
        <Skeleton lines={10} />
      )}
    </Section>
  );
}

function Band({ found }: { found: FiguresAnswer }) {
  const marks = useMarks(MINUTES);
  const lines = useMemo(() => linesOf(found), [found]);
  // The signs above have the words.
  const events = useMemo(() => marks.map((mark) => ({ at: atS(mark), text: "" })), [marks]);
  const whyGap = useGapReasons();
  const [zoomText, setZoomText] = useState<string>();
  const whole = { fromS: found.start, toS: found.start + found.minutes * found.step_s };
  const zooming = useZoom({ text: zoomText, onText: setZoomText, whole });
  const shown = zooming.zoom ?? whole;
  return (
    <>
      {found.problems.map((problem) => (
        <Note key={problem} severity="warning">
          {sentence(problem)}
        </Note>
      ))}
      <ZoomNote {...zooming} />
      <MarkStrip marks={marks} {...shown} />
      {lines.map((line) => (
        <div key={line.title} className={classes.line}>
          <h3 className={classes.head}>{line.title}</h3>
          <span className={`dim ${classes.text}`}>{line.text}</span>
          <div className={classes.graph}>
            {line.isMeasured ? (
              <Suspense fallback={<div className={classes.space} />}>
                <Plot line={line} events={events} whyGap={whyGap} {...zooming} zoom={shown} />
              </Suspense>
            ) : null}
          </div>
        </div>
      ))}
      <p className="dim">
        Each point is the mean of a minute; drops are counted once a minute. The most of the cores is that of
        the busiest one. Hatched: not measured. Dotted: what the signs above say, a point for a commit; they
        lead to it. Drag to zoom; the arrow keys move the crosshair.
      </p>
    </>
  );
}

type PlotProps = Pick<Parameters<typeof Graph>[0], "events" | "whyGap" | "zoom" | "onZoom"> & { line: Line };

const Plot = ({ line: { title, unit, data }, ...shown }: PlotProps) => (
  <Graph
    label={`${title} in the last 24 hours`}
    data={data}
    height={90}
    unit={unit}
    only={title}
    {...shown}
  />
);

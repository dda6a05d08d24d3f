// SPDX-License-Identifier: Apache-2.0
import { SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo } from "react";
import { asProblem } from "@/api/problem";
import { objectHistoryQuery } from "@/api/queries";
import type { Queue, QueueHistory } from "@/api/types";
import { useGapReasons } from "@/app/gapReasons";
import { useZoom, type Zooming } from "@/app/useZoom";
import { Note, Section } from "@/ui/blocks";
import { clockText, percentText, plural, spanText } from "@/ui/format";
import { SPAN_S, WINDOWS, type Window } from "@/ui/windows";
import { zoomOf } from "@/ui/zoom";
import { ZoomNote } from "@/ui/ZoomNote";
import { dropsOf } from "./drops";
import { eventsOf } from "./figures";
import { FiguresTable, Percentiles } from "./FiguresTable";
import { LONG, useZoomedData, type QueueGraphData } from "./graphData";
import { LiveFacts } from "./LiveFacts";
import classes from "./Queue.module.css";

const Graph = lazy(() => import("@/ui/Graph").then((module) => ({ default: module.Graph })));

interface MeasuredProps {
  queue: Queue;
  window: Window;
  onWindow: (window: Window) => void;
  /** As it is in the page's address. */
  zoomText: string | undefined;
  onZoomText: (text: string | undefined, replace: boolean) => void;
}

/** Rate, drops, marks and waits, now and over a window of time. */
export function Measured({ queue, window, onWindow, zoomText, onZoomText }: MeasuredProps) {
  const { data, history, error, whole, isLost } = useZoomedData(queue.id, window, zoomOf(zoomText));
  const zooming = useZoom({ text: zoomText, onText: onZoomText, whole });
  const aside = (
    <span className="row">
      <ZoomNote {...zooming} />
      <SegmentedControl
        aria-label="Time shown"
        data={WINDOWS}
        value={window}
        onChange={(value) => onWindow(value as Window)}
      />
    </span>
  );
  return (
    <Section title="Rate" aside={aside}>
      <div className={classes.measured}>
        <LiveFacts queue={queue} />
        <div className={classes.plot}>
          {error && !data ? <Note severity="error">{asProblem(error).message}</Note> : null}
          {isLost ? (
            <Note severity="notice">The router no longer has the time that this zoom begins with.</Note>
          ) : null}
          <Suspense fallback={<div className={classes.graphSpace} />}>
            {data ? (
              <Plots
                queue={queue}
                window={window}
                data={data}
                noDelay={history?.delay_reason ?? null}
                zooming={zooming}
              />
            ) : (
              <div className={classes.graphSpace} />
            )}
          </Suspense>
          {history ? <DropReasons history={history} /> : null}
        </div>
      </div>
    </Section>
  );
}

/** `noDelay`: why no wait was measured. */
function Plots({
  queue,
  window,
  data,
  noDelay,
  zooming,
}: {
  queue: Queue;
  window: Window;
  data: QueueGraphData;
  noDelay: string | null;
  zooming: Zooming;
}) {
  const versions = useQuery(objectHistoryQuery(queue.id)).data?.items;
  const events = useMemo(() => eventsOf(versions ?? []), [versions]);
  const made = versions?.find((version) => version.action === "add")?.revision.created_at;
  const whyGap = useGapReasons(made ? { atS: new Date(made).getTime() / 1000, what: "queue" } : null);
  const shown = { spanS: SPAN_S[window], events, whyGap, ...zooming };
  const waits = { at: data.at, upload: data.uploadWait, download: data.downloadWait };
  return (
    <>
      <Graph
        label={`Upload and download rate of ${queue.name} over ${window}`}
        data={data}
        limits={queue.max_limit_bps}
        {...shown}
      />
      <p className="dim">
        Download up, upload down. Dark: above the limit, in a burst. Ticks at the foot: packets were dropped
        (red) or marked (ECN). Hatched: not measured. Dotted: a commit.
        <span className={classes.dragHint}> Drag to zoom; the arrow keys move the crosshair.</span>
      </p>
      <Percentiles data={data} zoom={zooming.zoom} />
      <FiguresTable data={data} zoom={zooming.zoom} />
      {noDelay === null ? (
        <>
          <Graph
            label={`Longest wait of a packet of ${queue.name} over ${window}`}
            data={waits}
            height={110}
            {...shown}
            unit="delay"
          />
          <p className="dim">The longest wait of a packet in the queue.</p>
        </>
      ) : (
        <p className="dim" data-testid="no-delay">
          No delays: {noDelay}.
        </p>
      )}
      {LONG.includes(window) ? <Trips queue={queue} window={window} data={data} shown={shown} /> : null}
    </>
  );
}

/** The way to the hosts and the way to the far ends, by ten minutes and longer. */
function Trips({
  queue,
  window,
  data,
  shown,
}: Pick<MeasuredProps, "queue" | "window"> & { data: QueueGraphData; shown: object }) {
  const trips = { at: data.at, upload: data.uploadTrip, download: data.downloadTrip };
  if (![...trips.upload, ...trips.download].some((value) => value !== null))
    return <p className="dim">No round trip of TCP was seen in this time.</p>;
  return (
    <>
      <Graph
        label={`Round trip of ${queue.name} over ${window}`}
        data={trips}
        height={110}
        {...shown}
        unit="delay"
      />
      <p className="dim">
        Round trip of TCP, seen in passing. Download: to the hosts and back; upload: to the far ends and back.
      </p>
    </>
  );
}

function DropReasons({ history }: { history: QueueHistory }) {
  const drops = dropsOf(history);
  if (drops.untilS === null)
    return (
      <p className="dim" data-testid="drop-reasons">
        No measurements of this time yet.
      </p>
    );
  const gap = drops.missingS > 0 ? ` Nothing is known of the other ${spanText(drops.missingS)}.` : "";
  const measured = `in the ${spanText(drops.measuredS)} measured until ${clockText(drops.untilS)}`;
  if (drops.packets < 1)
    return (
      <p className="dim" data-testid="drop-reasons">
        Nothing was dropped {measured}.{gap}
      </p>
    );
  return (
    <p data-testid="drop-reasons">
      About {plural(Math.round(drops.packets), "packet")} dropped {measured}: {percentText(drops.early)}{" "}
      early, to keep the delay short; {percentText(drops.ancestor)} because a parent or total was full;{" "}
      {percentText(drops.limit)} over the limit.{gap}
    </p>
  );
}

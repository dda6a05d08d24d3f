// SPDX-License-Identifier: Apache-2.0
import { SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import { asCustomersSee } from "@/api/interfaces";
import { asProblem } from "@/api/problem";
import { incidentsQuery } from "@/api/diagnosis";
import { interfaceHistoryQuery, interfacesQuery, newestRevisionsQuery } from "@/api/queries";
import type { InterfaceHistory, Revision } from "@/api/types";
import { useGapReasons } from "@/app/gapReasons";
import { useZoom } from "@/app/useZoom";
import { markOf } from "@/pages/incidents/incident";
import { FiguresTable, Percentiles } from "@/pages/queue/FiguresTable";
import { Note, Skeleton } from "@/ui/blocks";
import type { GraphData, GraphEvent } from "@/ui/Graph";
import { SPAN_S, WINDOWS, type Window } from "@/ui/windows";
import { ZoomNote } from "@/ui/ZoomNote";

const Graph = lazy(() => import("@/ui/Graph").then((module) => ({ default: module.Graph })));
/** How often the newest sample changes, or soon enough. */
const EVERY_MS: Record<Window, number> = {
  "2m": 2_000,
  "1h": 10_000,
  "24h": 60_000,
  "7d": 60_000,
  "30d": 60_000,
};

/** Received and sent as customers see them: upload and download. */
export function trafficOf({ start, step_s, rx, tx }: InterfaceHistory, role: string): GraphData {
  return {
    at: rx.rate_bps.map((_, index) => start + index * step_s),
    ...asCustomersSee(role, rx.rate_bps, tx.rate_bps),
    drops: rx.drops_ps.map((value, index) => {
      const other = tx.drops_ps[index] ?? null;
      return value === null && other === null ? null : (value ?? 0) + (other ?? 0);
    }),
  };
}

const SHORT = 32;

/** Every commit is marked: what changed the traffic of an interface may be any of them. */
const eventsOf = (revisions: readonly Revision[]): GraphEvent[] =>
  revisions
    .filter((revision) => revision.kind !== "initial")
    .map(({ created_at, revision, message, author }) => {
      const why = message.length > SHORT ? `${message.slice(0, SHORT)}…` : message;
      return {
        at: new Date(created_at).getTime() / 1000,
        text: `revision ${revision}${why ? `: ${why}` : ""}, ${author}`,
      };
    });

/** What an interface carried, over two minutes to thirty days. */
export default function InterfaceTraffic({ id }: { id: string }) {
  const [window, setWindow] = useState<Window>("1h");
  const [zoomText, setZoomText] = useState<string | undefined>();
  const role = useQuery(interfacesQuery).data?.items.find((item) => item.id === id)?.role ?? "none";
  const query = useQuery({
    ...interfaceHistoryQuery(id, window),
    staleTime: 0,
    refetchInterval: EVERY_MS[window],
  });
  const revisions = useQuery(newestRevisionsQuery).data?.items;
  const incidents = useQuery({ ...incidentsQuery, refetchInterval: 60_000 }).data?.items;
  const events = useMemo(
    () => [
      ...eventsOf(revisions ?? []),
      ...(incidents ?? []).filter((item) => item.subject === id).map(markOf),
    ],
    [revisions, incidents, id],
  );
  const data = useMemo(() => (query.data ? trafficOf(query.data, role) : null), [query.data, role]);
  const whyGap = useGapReasons();
  const [fromS, toS] = [data?.at[0], data?.at.at(-1)];
  const zooming = useZoom({
    text: zoomText,
    onText: setZoomText,
    whole: fromS === undefined || toS === undefined ? null : { fromS, toS },
  });
  const choose = (next: string) => {
    setZoomText(undefined);
    setWindow(next as Window);
  };
  return (
    <section className="stack" aria-label="Traffic">
      <div className="spread">
        <h3>Traffic</h3>
        <ZoomNote {...zooming} />
      </div>
      <SegmentedControl fullWidth aria-label="Time shown" data={WINDOWS} value={window} onChange={choose} />
      {query.isError && !data ? <Note severity="warning">{asProblem(query.error).message}</Note> : null}
      {query.isPending ? <Skeleton /> : null}
      {data ? (
        <Suspense fallback={<Skeleton />}>
          <Graph
            label={`Upload and download of ${id} over ${window}`}
            data={data}
            height={180}
            spanS={SPAN_S[window]}
            events={events}
            whyGap={whyGap}
            {...zooming}
          />
          <p className="dim">Download up, upload down, as customers see them. Hatched: not measured.</p>
          <Percentiles data={data} zoom={zooming.zoom} />
          <FiguresTable data={data} zoom={zooming.zoom} />
        </Suspense>
      ) : null}
    </section>
  );
}

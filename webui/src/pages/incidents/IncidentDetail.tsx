// SPDX-License-Identifier: Apache-2.0
import { Button, NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useState } from "react";
import { useFailure } from "@/api/known";
import { asProblem } from "@/api/problem";
import { incidentQuery } from "@/api/diagnosis";
import { interfacesQuery } from "@/api/queries";
import type { Incident } from "@/api/types";
import { useZoom } from "@/app/useZoom";
import { FiguresTable } from "@/pages/queue/FiguresTable";
import { Facts, Note, SeverityIcon, Skeleton } from "@/ui/blocks";
import { clause, clockText, percentText, plural, sentence, stampText } from "@/ui/format";
import { ZoomNote } from "@/ui/ZoomNote";
import { busyOf, marksOf, shownOf, type Shown } from "./incident";
import classes from "./Incidents.module.css";

const Graph = lazy(() => import("@/ui/Graph").then((module) => ({ default: module.Graph })));

/** One incident: what happened in these minutes, and the figures of the busiest. */
export function IncidentDetail({ id }: { id: number }) {
  const navigate = useNavigate({ from: "/diagnostics" });
  const query = useQuery(incidentQuery(id));
  const failure = useFailure(query);
  const close = () =>
    void navigate({ search: (old) => ({ ...old, incident: undefined }), resetScroll: false });
  return (
    <section className={`${classes.detail} stack`} aria-label={`Incident ${id}`}>
      <div className="spread">
        <h3>{query.data ? sentence(query.data.sentence) : `Incident ${id}`}</h3>
        <Button variant="default" onClick={close}>
          Close
        </Button>
      </div>
      {failure !== null ? (
        <Note severity="warning" live>
          This incident cannot be shown: {clause(asProblem(failure).message)}
        </Note>
      ) : query.data ? (
        <Detail incident={query.data} />
      ) : (
        <Skeleton lines={6} />
      )}
    </section>
  );
}

function recordedText({ state, recorded_until }: Incident): string {
  if (state === "recording") return "being recorded now";
  return state === "whole"
    ? "whole"
    : `cut short: the router's service ended at ${clockText(recorded_until)}`;
}

function busyText(incident: Incident): string {
  const { before, after, most } = busyOf(incident);
  const share = (value: number | null) => (value === null ? "not measured" : percentText(value));
  return `${share(before)} before, ${share(after)} after, ${share(most)} at most`;
}

function Detail({ incident }: { incident: Incident }) {
  return (
    <>
      <Facts
        items={[
          ["Began", stampText(incident.at)],
          ...(incident.times > 1
            ? ([["Times", `${incident.times}, last at ${stampText(incident.last_at)}`]] as const)
            : []),
          ["Record", recordedText(incident)],
          ["Busiest core", busyText(incident)],
        ]}
      />
      <ul className={classes.events} aria-label="What happened">
        {incident.events.map((event, index) => (
          <li key={index}>
            <span className="dim num">{clockText(event.at)}</span>
            <SeverityIcon severity={event.severity} size={14} />
            <span>{sentence(event.sentence)}</span>
          </li>
        ))}
      </ul>
      <Plots incident={incident} />
    </>
  );
}

function Plots({ incident }: { incident: Incident }) {
  const interfaces = useQuery(interfacesQuery).data?.items;
  const shown = useMemo(() => {
    const roles = new Map(interfaces?.map((item) => [item.id, item.role]));
    return shownOf(incident, (name) => roles.get(name) ?? "none");
  }, [incident, interfaces]);
  const marks = useMemo(() => marksOf(incident), [incident]);
  const [chosen, setChosen] = useState<string>();
  const current = shown.find(({ key }) => key === chosen) ?? shown[0];
  if (!current) return <p className="dim">No interface or queue was measured then.</p>;
  return (
    <>
      <NativeSelect
        className={classes.choice}
        label="Figures of"
        value={current.key}
        onChange={(event) => setChosen(event.currentTarget.value)}
        data={shown.map(({ key, label }) => ({ value: key, label }))}
      />
      <Plot shown={current} marks={marks} />
      {incident.left_out > 0 ? (
        <p className="dim">{plural(incident.left_out, "other")} did not fit into the record.</p>
      ) : null}
    </>
  );
}

function Plot({ shown: { label, data, waits }, marks }: { shown: Shown; marks: ReturnType<typeof marksOf> }) {
  const [zoomText, setZoomText] = useState<string>();
  const [fromS, toS] = [data.at[0] ?? 0, data.at.at(-1) ?? 0];
  const zooming = useZoom({ text: zoomText, onText: setZoomText, whole: { fromS, toS } });
  return (
    <Suspense fallback={<Skeleton />}>
      <ZoomNote {...zooming} />
      <Graph
        label={`Upload and download of ${label.toLowerCase()} around the incident`}
        data={data}
        events={marks}
        {...zooming}
      />
      {waits === null ? null : (
        <Graph
          label={`Longest wait in ${label.toLowerCase()} around the incident`}
          data={waits}
          height={110}
          unit="delay"
          events={marks}
          {...zooming}
        />
      )}
      <p className="dim">
        Download up, upload down{waits === null ? "" : "; below, the longest wait of a packet"}. Red ticks at
        the foot: packets were dropped. Hatched: not measured. Dotted: what happened.
      </p>
      <FiguresTable data={data} zoom={zooming.zoom} />
    </Suspense>
  );
}

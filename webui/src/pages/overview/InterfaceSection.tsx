// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { asCustomersSee } from "@/api/interfaces";
import { interfaceHistoryQuery, interfacesQuery } from "@/api/queries";
import { KEEP_S, NOTHING, useTraces, withPast } from "@/api/traces";
import type { InterfaceStats } from "@/api/types";
import { useMarkEvents } from "@/app/marks";
import { lacks, useHeld, useZoom, type Zooming } from "@/app/useZoom";
import { Arrow, Section, Tag } from "@/ui/blocks";
import type { GraphData } from "@/ui/Graph";
import { countText } from "@/ui/format";
import { longRate } from "@/ui/rates";
import { ZoomNote } from "@/ui/ZoomNote";
import classes from "./Overview.module.css";

const Graph = lazy(() => import("@/ui/Graph").then((module) => ({ default: module.Graph })));

/** The data hold what was received in the place of upload. */
const asSeen = (data: GraphData, role: string): GraphData => ({
  ...data,
  ...asCustomersSee(role, data.upload, data.download),
});

/** As far back as a zoom may be. */
const MARKED_MINUTES = 60;

interface PortGraphProps {
  id: string;
  role: string;
  data: GraphData;
  zooming: Zooming;
}

function PortGraph({ id, role, data, zooming }: PortGraphProps) {
  const past = useQuery(interfaceHistoryQuery(id, "2m")).data;
  const recent = useHeld(
    id,
    useMemo(() => withPast(past, data), [past, data]),
    zooming.zoom,
  );
  // An older zoom, as of a link that was sent a while ago, is in what the router keeps longer.
  const isOlder = lacks(recent, zooming.zoom);
  const hour = useQuery({ ...interfaceHistoryQuery(id, "1h"), enabled: isOlder }).data;
  const older = useMemo(() => (isOlder && hour ? withPast(hour, NOTHING) : null), [isOlder, hour]);
  const events = useMarkEvents(MARKED_MINUTES);
  const whole = useMemo(() => asSeen(older ?? recent ?? NOTHING, role), [older, recent, role]);
  return (
    <Suspense fallback={null}>
      {lacks(older, zooming.zoom) ? (
        <p className="dim">This zoom began more than an hour ago. Open the interface for its last 30 days.</p>
      ) : null}
      <Graph
        label={`Traffic of ${id} in the last two minutes`}
        data={whole}
        height={120}
        spanS={KEEP_S}
        bare
        events={events}
        {...zooming}
      />
    </Suspense>
  );
}

const rateOrDash = (rateBps: number | null | undefined): string =>
  rateBps === null || rateBps === undefined ? "–" : longRate(rateBps);

const Rates = ({
  upload,
  download,
}: {
  upload: number | null | undefined;
  download: number | null | undefined;
}) => (
  <>
    <Arrow direction="upload" /> {rateOrDash(upload)} <Arrow direction="download" /> {rateOrDash(download)}
  </>
);

/** What was forwarded here and is in no queue; nothing while there was none. */
function Unknown({ port, role }: { port: InterfaceStats; role: string }) {
  const { rx_packets, tx_packets, rx_bps, tx_bps } = port.unknown;
  if (rx_packets + tx_packets === 0) return null;
  return (
    <span
      className="dim"
      title={`${countText(rx_packets)} packets received and ${countText(tx_packets)} sent since the interface is shaped`}
    >
      {" "}
      in no queue: <Rates {...asCustomersSee(role, rx_bps, tx_bps)} />
    </span>
  );
}

const Aside = ({ zooming }: { zooming: Zooming }) => (
  <span className="row">
    <ZoomNote {...zooming} />
    <span className="dim">
      <Arrow direction="upload" /> upload <Arrow direction="download" /> download, as customers see them
    </span>
    <Link to="/interfaces">All interfaces</Link>
  </span>
);

/** One zoom for all of them, in the page's address. */
function usePortZoom(lastS: number | undefined): Zooming {
  const navigate = useNavigate({ from: "/" });
  const { zoom: text } = useSearch({ from: "/frame/" });
  return useZoom({
    text,
    onText: (zoom, replace) => void navigate({ search: { zoom }, replace }),
    whole: lastS === undefined ? null : { fromS: lastS - KEEP_S, toS: lastS },
  });
}

export function InterfaceSection() {
  const configured = useQuery(interfacesQuery).data?.items;
  const roles = useMemo(() => new Map((configured ?? []).map((item) => [item.id, item])), [configured]);
  const kept = useTraces();
  const list = useMemo(() => {
    const seen = [...kept].map(([id, trace]) => ({
      id,
      last: trace.last,
      role: roles.get(id)?.role ?? "none",
      raw: trace.data,
      data: asSeen(trace.data, roles.get(id)?.role ?? "none"),
    }));
    const shaped = seen.filter((port) => port.role !== "none");
    return shaped.length > 0 ? shaped : seen.filter((port) => port.id !== "lo").slice(0, 2);
  }, [kept, roles]);
  const zooming = usePortZoom(list[0]?.raw.at.at(-1));
  return (
    <Section title="Interfaces" flush aside={<Aside zooming={zooming} />}>
      <div className={classes.graphs}>
        {list.map(({ id, last, role, data, raw }) => (
          <div key={id} className={classes.port}>
            <div className={classes.portHead}>
              <span className="row">
                <strong className="mono">{id}</strong>
                <Tag>{role.toUpperCase()}</Tag>
                {last.up ? null : <Tag tone="bad">✕ down</Tag>}
                <span className="dim">{roles.get(id)?.description}</span>
              </span>
              <span data-live data-testid={`rates-${id}`}>
                <Rates upload={data.upload.at(-1)} download={data.download.at(-1)} />
                <Unknown port={last} role={role} />
              </span>
            </div>
            <PortGraph id={id} role={role} data={raw} zooming={zooming} />
          </div>
        ))}
        {list.length === 0 ? (
          <p className={`${classes.port ?? ""} dim`}>Waiting for the first measurement.</p>
        ) : null}
      </div>
    </Section>
  );
}

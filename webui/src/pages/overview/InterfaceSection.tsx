// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { live } from "@/api/live";
import { interfacesQuery } from "@/api/queries";
import type { InterfaceStats } from "@/api/types";
import { Section, Tag } from "@/ui/blocks";
import type { GraphData } from "@/ui/Graph";
import { longRate } from "@/ui/rates";
import classes from "./Overview.module.css";

const Graph = lazy(() => import("@/ui/Graph").then((module) => ({ default: module.Graph })));
const KEEP_S = 120;
const NAMES = { upload: "sent", download: "received" };

interface Trace {
  data: GraphData;
  last: InterfaceStats;
}

/** Two minutes of each interface, collected while the page is open. */
function useTraces(): ReadonlyMap<string, Trace> {
  const [traces, setTraces] = useState<ReadonlyMap<string, Trace>>(new Map());
  useEffect(
    () =>
      live.interfaces.subscribe(() => {
        const answer = live.interfaces.value;
        if (!answer) return;
        setTraces((before) => new Map(answer.items.map((item) => [item.id, extended(before.get(item.id), item, answer.at)])));
      }),
    [],
  );
  return traces;
}

function extended(before: Trace | undefined, item: InterfaceStats, at: number): Trace {
  const old = before?.data ?? { at: [], upload: [], download: [], drops: [] };
  const from = Math.max(0, old.at.findIndex((time) => time > at - KEEP_S));
  const cut = <T,>(list: T[], value: T): T[] => [...list.slice(from), value];
  if (old.at.at(-1) === at) return { data: old, last: item };
  return {
    last: item,
    data: { at: cut(old.at, at), upload: cut(old.upload, item.tx_bps), download: cut(old.download, item.rx_bps), drops: cut(old.drops ?? [], item.rx_drops_ps + item.tx_drops_ps) },
  };
}

export function InterfaceSection() {
  const configured = useQuery(interfacesQuery).data?.items ?? [];
  const traces = useTraces();
  const roles = new Map(configured.map((item) => [item.id, item]));
  const shown = [...traces].filter(([id]) => (roles.get(id)?.role ?? "none") !== "none");
  const list = shown.length > 0 ? shown : [...traces].filter(([id]) => id !== "lo").slice(0, 2);
  return (
    <Section title="Interfaces" flush aside={<Link to="/interfaces">All interfaces</Link>}>
      <div className={classes.graphs}>
        {list.map(([id, trace]) => (
          <div key={id} className={classes.port}>
            <div className={classes.portHead}>
              <span className="row">
                <strong className="mono">{id}</strong>
                <Tag>{roles.get(id)?.role.toUpperCase() ?? "–"}</Tag>
                {trace.last.up ? null : <Tag tone="bad">✕ down</Tag>}
                <span className="dim">{roles.get(id)?.description}</span>
              </span>
              <span className="num">
                sent {longRate(trace.last.tx_bps)}, received {longRate(trace.last.rx_bps)}
              </span>
            </div>
            <Suspense fallback={null}>
              <Graph label={`Traffic of ${id} in the last two minutes`} data={trace.data} height={120} names={NAMES} />
            </Suspense>
          </div>
        ))}
        {list.length === 0 ? <p className={`${classes.port ?? ""} dim`}>Waiting for the first measurement.</p> : null}
      </div>
    </Section>
  );
}

// SPDX-License-Identifier: Apache-2.0
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useTop, type Entry, type Readiness } from "@/api/topQueues";
import type { Queue, QueueStats } from "@/api/types";
import { NEAR_LIMIT } from "@/table/liveColumns";
import { StaticBar } from "@/table/RateBar";
import { Arrow, Section } from "@/ui/blocks";
import { percentText, plural } from "@/ui/format";
import classes from "./Overview.module.css";

const Name = ({ queue }: { queue: Queue }) => (
  <Link to="/queues/$id" params={{ id: queue.id }} title={queue.name} className={classes.name}>
    {queue.name}
  </Link>
);

function Bars({ entry }: { entry: Entry }) {
  return (
    <>
      <StaticBar
        direction="upload"
        rateBps={entry.stats.rate_bps.upload}
        limitBps={entry.queue.max_limit_bps.upload}
      />
      <StaticBar
        direction="download"
        rateBps={entry.stats.rate_bps.download}
        limitBps={entry.queue.max_limit_bps.download}
      />
    </>
  );
}

function List({
  title,
  aside,
  entries,
  ready,
  none,
  two,
  render,
}: {
  title: string;
  aside: ReactNode;
  entries: readonly Entry[];
  ready: Readiness;
  none: string;
  two?: boolean;
  render: (entry: Entry) => ReactNode;
}) {
  return (
    <Section title={title} aside={aside} flush>
      {entries.length > 0 ? (
        <ul className={classes.list}>
          {entries.map((entry) => (
            <li key={entry.queue.id} data-two={two}>
              <Name queue={entry.queue} />
              {render(entry)}
            </li>
          ))}
        </ul>
      ) : (
        <p className="dim" style={{ padding: "10px 12px" }}>
          {ready === "measured" ? none : ready === "asking" ? " " : ready.unknown}
        </p>
      )}
    </Section>
  );
}

export function loadOf(queue: Queue, stats: QueueStats): number {
  return Math.max(
    ...(["upload", "download"] as const).map((direction) =>
      queue.max_limit_bps[direction] > 0 ? stats.rate_bps[direction] / queue.max_limit_bps[direction] : 0,
    ),
  );
}

const LOOKED_AT = 100;
const SHOWN = 8;
/** More than are shown are asked for, because parents are among them. */
const ASKED = 3 * SHOWN;

/** Customers are the queues without children; a parent's figures are the sum of theirs. */
const customers = (entries: readonly Entry[]): Entry[] =>
  entries.filter((entry) => entry.queue.child_count === 0).slice(0, SHOWN);

const upDown = (
  <span className="dim">
    <span className="up">↑</span> <span className="down">↓</span> rate / limit
  </span>
);

/** Queues that are near their limit; those with children first: they hold others back. */
export function FullSection() {
  const { entries, ready } = useTop("load", LOOKED_AT);
  const full = entries
    .filter((entry) => loadOf(entry.queue, entry.stats) >= NEAR_LIMIT)
    .sort(
      (a, b) =>
        b.queue.child_count - a.queue.child_count || loadOf(b.queue, b.stats) - loadOf(a.queue, a.stats),
    );
  return (
    <List
      title="Near the limit"
      aside={full.length > SHOWN ? <span className="dim">{plural(full.length, "queue")}</span> : upDown}
      entries={full.slice(0, SHOWN)}
      ready={ready}
      none={`No queue is above ${percentText(NEAR_LIMIT)} of its limit.`}
      render={(entry) => <Bars entry={entry} />}
    />
  );
}

export function BusiestSection() {
  const { entries, ready } = useTop("rate_download", ASKED);
  const busy = customers(entries).filter(
    (entry) => entry.stats.rate_bps.download + entry.stats.rate_bps.upload > 0,
  );
  return (
    <List
      title="Busiest customers"
      aside={
        <Link to="/queues" search={{ sort: "-rate_download" }}>
          All by download
        </Link>
      }
      entries={busy}
      ready={ready}
      none="No traffic in any queue."
      render={(entry) => <Bars entry={entry} />}
    />
  );
}

/** Drops per second of the direction that loses more, and which share of its packets that is. */
function Loss({ stats }: { stats: QueueStats }) {
  const direction = stats.drops_ps.upload > stats.drops_ps.download ? "upload" : "download";
  const drops = stats.drops_ps[direction];
  const seen = drops + stats.packets_ps[direction];
  return (
    <span className="num bad" data-live>
      <Arrow direction={direction} /> {Math.round(drops)} drops/s{" "}
      <span className={classes.share}>{percentText(seen > 0 ? drops / seen : 0)} lost</span>
    </span>
  );
}

export function SufferingSection() {
  const { entries, ready } = useTop("drops", ASKED);
  const suffering = customers(entries).filter(
    (entry) => entry.stats.drops_ps.upload + entry.stats.drops_ps.download > 0,
  );
  return (
    <List
      title="Losing packets"
      aside={
        <Link to="/queues" search={{ sort: "-drops" }}>
          All by drops
        </Link>
      }
      entries={suffering}
      ready={ready}
      none="No queue is losing packets."
      two
      render={(entry) => <Loss stats={entry.stats} />}
    />
  );
}

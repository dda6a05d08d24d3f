// SPDX-License-Identifier: Apache-2.0
/** What is told of hosts, on their page and on that of a queue. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useMay } from "@/api/may";
import { interfacesQuery } from "@/api/queries";
import type { Host, HostAddress } from "@/api/types";
import { LiveValue } from "@/table/LiveCell";
import type { LiveText } from "@/table/liveColumns";
import { Absent, type Column } from "@/table/SimpleTable";
import { Tag } from "@/ui/blocks";
import { spanText } from "@/ui/format";
import { shortRate } from "@/ui/rates";
import classes from "./Hosts.module.css";

const upload: LiveText = (stats) => (stats.live ? shortRate(stats.rate_bps.upload) : "–");
const download: LiveText = (stats) => (stats.live ? shortRate(stats.rate_bps.download) : "–");

/** One line for each address, so that the lines of all columns stand beside each other; null where all have nothing. */
function perAddress(host: Host, show: (address: HostAddress) => ReactNode): ReactNode {
  const lines = host.addresses.map((found) => [found.address, show(found)] as const);
  if (lines.every(([, shown]) => shown === null)) return null;
  return (
    <div className={classes.lines}>
      {lines.map(([address, shown]) => (
        <div key={address} className={classes.line}>
          {shown ?? <Absent />}
        </div>
      ))}
    </div>
  );
}

const SEEN: Record<HostAddress["state"], (found: HostAddress) => ReactNode> = {
  reachable: () => "now",
  stale: (found) => ago(found.confirmed_s),
  asking: () => <span className="dim">asking</span>,
  failed: () => <Tag tone="warn">no answer</Tag>,
  permanent: () => <span className="dim">fixed</span>,
};

const ago = (seconds: number | null): string => (seconds === null ? "never" : `${spanText(seconds)} ago`);

export const HOST_COLUMNS: readonly Column<Host>[] = [
  {
    id: "address",
    title: "Address",
    render: (host) => perAddress(host, (found) => <span className="mono nowrap">{found.address}</span>),
  },
  {
    id: "name",
    title: "Name",
    render: (host) => perAddress(host, (found) => found.name),
  },
  {
    id: "mac",
    title: "MAC",
    render: (host) => (host.mac ? <span className="mono nowrap">{host.mac}</span> : null),
  },
  {
    id: "interface",
    title: "On",
    render: (host) => (
      <Link to="/interfaces" search={{ edit: host.interface }} className="mono">
        {host.interface}
      </Link>
    ),
  },
  {
    id: "queue",
    title: "Queue",
    wide: true,
    render: (host) => perAddress(host, (found) => <QueueOf found={found} port={host.interface} />),
  },
  {
    id: "upload",
    title: "↑ Upload",
    numeric: true,
    render: (host) => perAddress(host, (found) => rateOf(found, upload)),
  },
  {
    id: "download",
    title: "↓ Download",
    numeric: true,
    render: (host) => perAddress(host, (found) => rateOf(found, download)),
  },
  {
    id: "seen",
    title: "Seen",
    numeric: true,
    render: (host) => perAddress(host, (found) => SEEN[found.state](found)),
  },
];

/** Of the queue: what all its addresses have together. */
const rateOf = ({ queue }: HostAddress, text: LiveText) =>
  queue ? <LiveValue queueId={queue.id} text={text} /> : null;

/** Addresses of the link itself (RFC 4291, 2.5.6) are nobody's to route. */
const isOfTheLink = (address: string): boolean => address.startsWith("fe80:");

/** The queue; where there is none, the way to one, unless the station is the provider's. */
function QueueOf({ found, port }: { found: HostAddress; port: string }) {
  const may = useMay("write");
  const role = useQuery(interfacesQuery).data?.items.find((item) => item.id === port)?.role;
  if (found.queue)
    return (
      <Link to="/queues/$id" params={{ id: found.queue.id }}>
        {found.queue.name}
      </Link>
    );
  return (
    <span className="row">
      <span className="dim">none</span>
      {may && role !== undefined && role !== "wan" && !isOfTheLink(found.address) ? (
        <Link to="/queues" search={{ edit: "new", target: found.address }} className={classes.action}>
          Limit this address
        </Link>
      ) : null}
    </span>
  );
}

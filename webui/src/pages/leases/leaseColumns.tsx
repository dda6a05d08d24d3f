// SPDX-License-Identifier: Apache-2.0
import { Link } from "@tanstack/react-router";
import type { GivenLease } from "@/api/types";
import type { Column } from "@/table/SimpleTable";
import { spanText } from "@/ui/format";
import classes from "../hosts/Hosts.module.css";

/** How long it holds yet. */
const leftOf = (lease: GivenLease): string => {
  const left_s = (Date.parse(lease.expires_at) - Date.now()) / 1000;
  return left_s > 0 ? spanText(left_s) : "ended";
};

/** Whether a DHCPv6 server gave it. */
export const isIPv6 = (lease: GivenLease): boolean => lease.address.includes(":");

/** Whether it is a prefix, which a router behind has. */
export const isPrefix = (lease: GivenLease): boolean => lease.address.includes("/");

/** `may`: whether the reader can make a reservation or a queue of a lease; `routed`: whether there are prefixes. */
export const leaseColumns = (may: boolean, routed: boolean): readonly Column<GivenLease>[] => [
  {
    id: "address",
    title: "Address",
    render: (lease) => <span className="mono nowrap">{lease.address}</span>,
  },
  { id: "hostname", title: "Host name", wide: true, render: (lease) => lease.hostname },
  {
    id: "mac",
    title: "MAC",
    render: (lease) => (lease.mac === null ? null : <span className="mono nowrap">{lease.mac}</span>),
  },
  {
    id: "server",
    title: "Server",
    render: (lease) => (
      <Link
        to="/$page"
        params={{ page: isIPv6(lease) ? "dhcpv6-servers" : "dhcp-servers" }}
        search={{ edit: lease.server }}
      >
        {lease.server}
      </Link>
    ),
  },
  ...(routed ? [{ id: "routed", title: "Routed to", render: wayOf }] : []),
  { id: "left", title: "Holds for", numeric: true, render: leftOf },
  { id: "reservation", title: "Static", render: (lease) => reservationOf(lease, may) },
  ...(may ? [{ id: "queue", title: "Queue", render: makeQueue }] : []),
];

/** Of a prefix where it is routed to, and whose part it is. */
function wayOf(lease: GivenLease) {
  if (!isPrefix(lease)) return null;
  return (
    <div>
      <div className="nowrap">
        {lease.gateway === null ? "not known yet" : `${lease.gateway} on ${lease.interface}`}
      </div>
      {lease.origin === null ? null : <div className="dim nowrap">part of {lease.origin}</div>}
    </div>
  );
}

/** The reservation of the address; where there is none, the way to one. */
function reservationOf(lease: GivenLease, may: boolean) {
  if (lease.reservation !== null)
    return (
      <Link
        to="/$page"
        params={{ page: isIPv6(lease) ? "dhcpv6-reservations" : "dhcp-reservations" }}
        search={{ edit: lease.reservation }}
      >
        {lease.reservation}
      </Link>
    );
  if (!may || (isPrefix(lease) && lease.origin !== null)) return null; // a part goes with the provider's prefix
  return (
    <Link
      from="/leases"
      to="/leases"
      search={(before) => ({ ...before, make: lease.address })}
      className={classes.action}
    >
      Make static
    </Link>
  );
}

const makeQueue = (lease: GivenLease) => (
  <Link to="/queues" search={{ edit: "new", target: lease.address }} className={classes.action}>
    Make a queue
  </Link>
);

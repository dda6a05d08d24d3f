// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { asCustomersSee } from "@/api/interfaces";
import { useDoubt } from "@/api/known";
import { useFreshness } from "@/api/live";
import { systemQuery } from "@/api/queries";
import { useTrace } from "@/api/traces";
import type { Interface } from "@/api/types";
import { Arrow } from "@/ui/blocks";
import { shortRate } from "@/ui/rates";
import { PortSpark } from "./PortSpark";
import { isTrouble, linkOf, linkText, portsOf, type Link as LinkOf } from "./ports";
import classes from "./Ports.module.css";

/** The face of the box: each port with its link, speed, role and traffic; a click opens it. */
export function PortsPicture({ items }: { items: readonly Interface[] }) {
  const system = useQuery(systemQuery);
  const isKnown = useDoubt(system) === null && system.data?.agent.connected !== false;
  const ports = portsOf(items);
  if (ports.length === 0) return null;
  return (
    <ul className={classes.face} aria-label="Ports">
      {ports.map((port) => (
        <li key={port.id}>
          <Port port={port} isKnown={isKnown} />
        </li>
      ))}
    </ul>
  );
}

function Port({ port, isKnown }: { port: Interface; isKnown: boolean }) {
  const link = linkOf(port, isKnown);
  return (
    <Link
      to="/interfaces"
      search={{ edit: port.id }}
      className={classes.port}
      data-link={link}
      data-trouble={isTrouble(port, link)}
    >
      <span className={classes.name}>
        <span className="mono">{port.id}</span>
        {port.role === "none" ? null : <span className={classes.role}>{port.role.toUpperCase()}</span>}
      </span>
      <Socket />
      <Measured port={port} link={link} />
    </Link>
  );
}

/** What changes each second; the rest of the port stays as it is. */
function Measured({ port, link }: { port: Interface; link: LinkOf }) {
  const isStale = useFreshness().state === "stale";
  const trace = useTrace(port.id);
  const stats = isStale ? undefined : trace?.last;
  const rates = link === "up" && stats ? asCustomersSee(port.role, stats.rx_bps, stats.tx_bps) : null;
  const drops = stats ? stats.rx_drops_ps + stats.tx_drops_ps : 0;
  return (
    <>
      <span className={classes.link}>
        <span className={classes.lamp} aria-hidden="true" />
        {linkText(link, port.state?.speed_bps)}
        {drops > 0 ? (
          <span className="bad" title="Packets that the port dropped in the last second">
            drops
          </span>
        ) : null}
      </span>
      {(["upload", "download"] as const).map((direction) => (
        <span key={direction} className={classes.rate} data-live>
          <Arrow direction={direction} /> {rates ? shortRate(rates[direction]) : "–"}
        </span>
      ))}
      {rates ? (
        <span aria-hidden="true">
          <PortSpark item={port} />
        </span>
      ) : null}
    </>
  );
}

/** An RJ45 socket from the front: eight contacts and the notch for the latch. */
const Socket = () => (
  <svg className={classes.socket} viewBox="0 0 40 30" aria-hidden="true">
    <path className={classes.hole} d="M2 2h36v19h-7v4h-5v3H14v-3H9v-4H2z" />
    {Array.from({ length: 8 }, (_, index) => (
      <path key={index} className={classes.contact} d={`M${7.75 + index * 3.5} 4v6`} />
    ))}
  </svg>
);

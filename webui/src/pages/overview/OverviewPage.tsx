// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useDoubt } from "@/api/known";
import { asProblem } from "@/api/problem";
import { interfacesQuery, systemQuery, unrepaired } from "@/api/queries";
import type { System } from "@/api/types";
import { PortsPicture } from "@/ports/PortsPicture";
import { Throughput } from "@/table/Throughput";
import { Columns, Note, Page, Section, SeverityIcon, Skeleton } from "@/ui/blocks";
import { countText, plural, spanText } from "@/ui/format";
import { CpuSection } from "./CpuSection";
import { InterfaceSection } from "./InterfaceSection";
import classes from "./Overview.module.css";
import { BusiestSection, FullSection, SufferingSection } from "./TopQueues";

/** In this order: is it healthy, is anything full, who uses it, who suffers? */
export default function OverviewPage() {
  const query = useQuery(systemQuery);
  const system = query.data;
  const ports = useQuery(interfacesQuery).data?.items;
  return (
    <Page title="Overview" figures={<Throughput />}>
      {query.isError ? (
        <Note severity="error" live>
          {asProblem(query.error).message}
        </Note>
      ) : null}
      {system ? <Health system={system} /> : query.isPending ? <Skeleton /> : null}
      {system?.queue_count === 0 ? <FirstSteps /> : null}
      <PortsPicture items={ports ?? []} />
      <InterfaceSection />
      {(system?.queue_count ?? 0) > 0 ? (
        <Columns>
          <FullSection />
          <BusiestSection />
          <SufferingSection />
        </Columns>
      ) : null}
      <CpuSection />
    </Page>
  );
}

function Health({ system }: { system: System }) {
  const bad = system.checks.filter((check) => check.state !== "ok");
  const silent = useDoubt(useQuery(systemQuery)) !== null;
  const agreed =
    system.agent.connected && unrepaired(system).length === 0 && system.agent.revision === system.revision;
  return (
    <>
      <div className={classes.tiles}>
        <Link to="/diagnostics" className={classes.tile}>
          <span className="dim">Health</span>
          <strong className={classes.state}>
            <SeverityIcon
              severity={
                silent || system.health === "failed" ? "error" : system.health === "ok" ? "ok" : "warning"
              }
            />
            {silent ? "No answer" : system.health === "ok" ? "Healthy" : plural(bad.length, "warning")}
          </strong>
        </Link>
        <Link to="/diagnostics" className={classes.tile}>
          <span className="dim">In the kernel</span>
          <strong className={classes.state}>
            <SeverityIcon
              severity={silent || !system.agent.connected ? "error" : agreed ? "ok" : "warning"}
            />
            {silent
              ? "unknown"
              : system.agent.connected
                ? agreed
                  ? `Revision ${system.revision} active`
                  : system.agent.state
                : "agent not connected"}
          </strong>
        </Link>
        <Link to="/queues" className={classes.tile}>
          <span className="dim">Queues</span>
          <strong data-live>
            {system.queue_count === null ? "not known now" : countText(system.queue_count)}
          </strong>
        </Link>
        <Link to="/queues" search={{ warnings: true }} className={classes.tile}>
          <span className="dim">Queues with warnings</span>
          <strong data-live className={(system.warning_count ?? 0) > 0 ? "warn" : undefined}>
            {system.warning_count === null ? "not known now" : countText(system.warning_count)}
          </strong>
        </Link>
        <Link to="/about" className={classes.tile}>
          <span className="dim">Up for</span>
          <strong data-live>{system.uptime_s === null ? "unknown" : spanText(system.uptime_s)}</strong>
        </Link>
      </div>
      {bad.map((check) => (
        <Note key={check.id} severity={check.state === "failed" ? "error" : "warning"}>
          <p>
            {check.message} <Link to="/diagnostics">Diagnostics</Link>
          </p>
        </Note>
      ))}
    </>
  );
}

/** The next steps of a router that limits nothing; what the first setup has done is not asked for again. */
function FirstSteps() {
  const roles = useQuery(interfacesQuery).data?.items.map((item) => item.role) ?? [];
  return (
    <Section title="Nothing is limited yet">
      <ol className={classes.steps}>
        {roles.includes("lan") && roles.includes("wan") ? null : (
          <li>
            Say which <Link to="/interfaces">interfaces</Link> face the customers (LAN) and the internet
            (WAN).
          </li>
        )}
        <li>
          <Link to="/import">Import</Link> a RouterOS export or LibreQoS files, or make the{" "}
          <Link to="/queues" search={{ edit: "new" }}>
            first queue
          </Link>{" "}
          by hand.
        </li>
        <li>Commit from the bar that appears at the bottom, with a timer if you may lock yourself out.</li>
      </ol>
    </Section>
  );
}

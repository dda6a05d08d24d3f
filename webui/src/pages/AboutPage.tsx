// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { asProblem } from "@/api/problem";
import { systemQuery } from "@/api/queries";
import { Facts, Note, Page, Section, Skeleton } from "@/ui/blocks";
import { countText, spanText } from "@/ui/format";

export default function AboutPage() {
  const query = useQuery(systemQuery);
  const system = query.data;
  return (
    <Page title="About">
      {query.isError ? (
        <Note severity="error" live>
          {asProblem(query.error).message}
        </Note>
      ) : null}
      <Section title="This router">
        {system ? (
          <Facts
            items={[
              ["Host name", system.hostname ?? "unknown"],
              ["Weir", system.version],
              ["Agent", system.agent.version ?? "not connected"],
              ["Kernel", system.kernel ?? "unknown"],
              ["Up for", system.uptime_s === null ? "unknown" : spanText(system.uptime_s)],
              ["Running revision", system.revision ?? "unknown"],
              ["Queues", system.queue_count === null ? "unknown" : countText(system.queue_count)],
            ]}
          />
        ) : query.isPending ? (
          <Skeleton />
        ) : null}
      </Section>
      <Section title="For programs">
        <ul>
          <li>
            <a href="/api/v1/docs">REST API, described</a> and its{" "}
            <a href="/api/v1/openapi.json">OpenAPI document</a>
          </li>
          <li>
            Queues as{" "}
            <a href="/api/v1/export/csv" download="queues.csv">
              CSV
            </a>
            , and the configuration as a{" "}
            <a href="/api/v1/export/routeros" download="weir.rsc">
              RouterOS script
            </a>
          </li>
          <li>
            the command line: <code className="mono">weir queue list</code>,{" "}
            <code className="mono">weir explain NAME</code>
          </li>
        </ul>
      </Section>
      <Section title="Licence">
        <p>Apache-2.0; the eBPF programs GPL-2.0-only. Type: IBM Plex, SIL Open Font License 1.1.</p>
      </Section>
    </Page>
  );
}

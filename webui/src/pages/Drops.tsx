// SPDX-License-Identifier: Apache-2.0
import { SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useFailure } from "@/api/known";
import { asProblem } from "@/api/problem";
import { dropsQuery } from "@/api/diagnosis";
import type { Dropped, DropsAnswer } from "@/api/types";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Note, Section, Skeleton } from "@/ui/blocks";
import { clause, countText, percentText, plural, stampText } from "@/ui/format";

const SPANS = [
  { value: "5", label: "5 min" },
  { value: "60", label: "1 h" },
  { value: "1440", label: "24 h" },
];

const KINDS: Readonly<Record<Dropped["kind"], string>> = {
  queue: "queue",
  "firewall-rule": "firewall rule",
  firewall: "the firewall's policy",
  zone: "zone",
  "zone-policy": "zone policy",
  "bounded-source": "bounded source",
  interface: "interface",
  router: "the network stack",
};

function Owner({ item }: { item: Dropped }) {
  if (item.kind === "firewall" || item.kind === "router") return KINDS[item.kind];
  const name = <span className="mono">{item.id}</span>;
  return (
    <>
      {KINDS[item.kind]}{" "}
      {item.kind === "queue" ? (
        <Link to="/queues/$id" params={{ id: item.id }}>
          {name}
        </Link>
      ) : (
        name
      )}
    </>
  );
}

const COLUMNS: readonly Column<Dropped>[] = [
  { id: "owner", title: "Owner", render: (item) => <Owner item={item} /> },
  { id: "where", title: "Where", render: (item) => item.way ?? item.interface },
  { id: "reason", title: "Why", wide: true, render: (item) => item.text },
  { id: "packets", title: "Packets", numeric: true, render: (item) => countText(item.packets) },
  { id: "share", title: "Of all", numeric: true, render: (item) => percentText(item.share) },
];

/** What was received for others and not sent again: who dropped it, and why. */
export function Drops() {
  const [minutes, setMinutes] = useState("60");
  const query = useQuery(dropsQuery(Number(minutes)));
  const failure = useFailure(query);
  const found = failure === null ? query.data : undefined;
  const aside = (
    <SegmentedControl aria-label="Time of the drops" data={SPANS} value={minutes} onChange={setMinutes} />
  );
  return (
    <Section title="Dropped packets" aside={aside}>
      {failure !== null ? (
        <Note severity="warning" live>
          What was dropped is not known: {clause(asProblem(failure).message)}
        </Note>
      ) : found ? (
        <List found={found} />
      ) : (
        <Skeleton lines={3} />
      )}
    </Section>
  );
}

function List({ found }: { found: DropsAnswer }) {
  return (
    <>
      <p>
        {plural(found.packets, "packet")} dropped from {stampText(found.since)} to {stampText(found.until)}.
      </p>
      {found.items.length > 0 ? (
        <SimpleTable
          caption="Dropped packets by owner"
          columns={COLUMNS}
          rows={found.items}
          rowKey={(item) => [item.kind, item.id, item.reason, item.way, item.interface].join(" ")}
        />
      ) : null}
      {found.rest_packets > 0 ? (
        <p>{plural(found.rest_packets, "packet")} by owners that are not listed.</p>
      ) : null}
      {found.unseen.map((item) => (
        <Note key={item.id} severity="warning">
          Not known of {item.id}: {clause(item.reason)}
        </Note>
      ))}
      <p className="dim">Counted by nobody: {found.not_counted.join("; ")}.</p>
    </>
  );
}

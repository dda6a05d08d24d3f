// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { useDoubt } from "@/api/known";
import { useFreshness, useLiveInterfaces } from "@/api/live";
import { asProblem } from "@/api/problem";
import { systemQuery, unrepaired } from "@/api/queries";
import type { InterfaceStats, System } from "@/api/types";
import { Day } from "./day/Day";
import { Drops } from "./Drops";
import { Findings } from "./Findings";
import { Incidents } from "./incidents/Incidents";
import { PacketPath } from "./path/PacketPath";
import { SlowAddress } from "./SlowAddress";
import { SupportFile } from "./SupportFile";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Columns, Facts, Note, Page, Section, SeverityIcon, Skeleton, Tag } from "@/ui/blocks";
import { agoText, countText, plural, sentence } from "@/ui/format";
import { SHAPER_WORDS } from "@/ui/words";

type Capability = System["capabilities"][number];
type Shaper = System["shapers"][number];
type Check = System["checks"][number];

/** What each capability is for, and what happens without it (docs/datapath.md). */
const USE: Record<string, readonly [string, string]> = {
  "qdisc-fq": [
    "paces packets to their limit",
    "limits are policed: what is above the rate is dropped instead of delayed",
  ],
  "qdisc-fq_codel": ["short queues below HTB", "a plain fifo is used there"],
  "qdisc-cake": ["queue types of kind cake, below HTB", "such a queue uses fq_codel or a plain fifo"],
  "qdisc-codel": ["queue types of kind codel, below HTB", "such a queue uses fq_codel or a plain fifo"],
  "qdisc-sfq": ["queue types of kind sfq, below HTB", "such a queue uses fq_codel or a plain fifo"],
  "qdisc-red": ["queue types of kind red, below HTB", "such a queue uses fq_codel or a plain fifo"],
  "qdisc-htb": ["the classic tree, where it is asked for", "interfaces cannot choose HTB"],
  "edt-pacing": ["departure times kept by fq", "limits are policed"],
  datapath: ["shaping at all", "nothing is shaped"],
  tcx: ["attaching the shaper", "clsact is used"],
  clsact: ["attaching the shaper on older kernels", "nothing, where tcx works"],
  "xdp-native": ["the fast path inside the driver", "generic XDP or the kernel's own path"],
  "xdp-generic": ["the fast path on any driver", "the kernel's own path"],
  "xdp-flow-lookup": [
    "the fast path for filtered and translated traffic",
    "such traffic takes the kernel's own path",
  ],
  "xdp-kept-routes": ["the fast path with fewer instructions", "the FIB is asked for every packet"],
  vlan: ["VLAN interfaces", "none can be made"],
  frr: ["static and dynamic routes", "no routes but those of the interfaces"],
};

const CAPABILITY_COLUMNS: readonly Column<Capability>[] = [
  { id: "id", title: "What", render: (item) => <span className="mono nowrap">{item.id}</span> },
  {
    id: "available",
    title: "Available",
    render: (item) => (item.available ? <Tag tone="ok">✓ yes</Tag> : <Tag tone="warn">no</Tag>),
  },
  { id: "use", title: "For", render: (item) => USE[item.id]?.[0] },
  {
    id: "instead",
    title: "Without it",
    blank: true,
    render: (item) => (item.available ? null : USE[item.id]?.[1]),
  },
  {
    id: "reason",
    title: "What the kernel said",
    blank: true,
    render: (item) => (item.reason ? <span className="dim">{item.reason}</span> : null),
  },
];

const SHAPER_COLUMNS: readonly Column<Shaper>[] = [
  { id: "interface", title: "Interface", render: (item) => <span className="mono">{item.interface}</span> },
  { id: "mode", title: "Shaper", render: (item) => SHAPER_WORDS[item.mode] ?? item.mode },
  { id: "reason", title: "Why", render: (item) => item.reason },
  {
    id: "fast",
    title: "Fast path",
    render: (item) => (item.fast_path ? <Tag tone="ok">✓ on</Tag> : <Tag>off</Tag>),
  },
  { id: "fast-reason", title: "Why it is on or off", render: (item) => item.fast_path_reason },
];

/** Reasons of the datapath (docs/datapath.md) in words. */
const UNSHAPED: Record<string, string> = {
  "no-class": "IP, but in no queue",
  "not-ip": "not IP (ARP, LLDP, PPP control)",
  short: "header cut off",
  "bad-header": "wrong version or header length",
  "deep-tags": "more than eight VLAN tags: dropped",
  "stale-class": "its queue was removed at that moment",
  unreadable: "came in so that no customer could be told: dropped",
};
const REFUSED: Record<string, string> = {
  "impossible-source": "a source that no host has",
  "wrong-way": "the way back to its source is not this interface",
  refused: "in no queue, and this interface forwards only what is",
};
const PASSED_UP: Record<string, string> = {
  unusual: "not plain unicast IP for this router",
  route: "for the router itself, no neighbour yet, or larger than the MTU",
  port: "leaves through a port without fast path",
  "no-flow": "in no established flow",
  waits: "its queue is at its limit",
  order: "behind a packet of its flow that waits",
};

interface Uncounted {
  key: string;
  port: string;
  what: string;
  why: string;
  packets: number;
}

function uncounted(ports: readonly InterfaceStats[]): Uncounted[] {
  const rows = (port: string, what: string, words: Record<string, string>, counts: Record<string, number>) =>
    Object.entries(counts)
      .filter(([, packets]) => packets > 0)
      .map(([reason, packets]) => ({
        key: `${port} ${what} ${reason}`,
        port,
        what,
        why: words[reason] ?? reason,
        packets,
      }));
  return ports.flatMap((port) => [
    ...rows(port.id, "left unshaped", UNSHAPED, port.unshaped_packets),
    ...rows(port.id, "left to the stack", PASSED_UP, port.passed_up_packets),
    ...rows(port.id, "dropped", REFUSED, port.refused_packets),
  ]);
}

const UNCOUNTED_COLUMNS: readonly Column<Uncounted>[] = [
  { id: "port", title: "Interface", render: (row) => <span className="mono">{row.port}</span> },
  { id: "what", title: "What", render: (row) => row.what },
  { id: "why", title: "Why", wide: true, render: (row) => row.why },
  {
    id: "packets",
    title: "Packets",
    numeric: true,
    render: (row) => <span data-live>{countText(row.packets)}</span>,
  },
];

/** Nothing is silently unshaped: every packet that no queue holds is counted with its reason. */
function Unshaped() {
  const ports = useLiveInterfaces()?.items;
  const isStale = useFreshness().state === "stale";
  const rows = uncounted(ports ?? []);
  return (
    <Section
      title="Packets outside of the queues and of the fast path"
      flush
      aside={<span className="dim">since the port is shaped</span>}
    >
      {rows.length > 0 ? (
        <SimpleTable
          caption="Packets outside of the queues"
          columns={UNCOUNTED_COLUMNS}
          rows={rows}
          rowKey={(row) => row.key}
        />
      ) : (
        <p className="dim pad">
          {!ports
            ? "No measurements yet."
            : isStale
              ? "Not known: there are no new measurements."
              : "None was counted."}
        </p>
      )}
    </Section>
  );
}

const CHECK_SEVERITY = { ok: "ok", warning: "warning", failed: "error" } as const;
const CHECK_COLUMNS: readonly Column<Check>[] = [
  {
    id: "id",
    title: "Check",
    render: (check) => (
      <span className="row nowrap">
        <SeverityIcon severity={CHECK_SEVERITY[check.state]} /> {check.id}
      </span>
    ),
  },
  { id: "message", title: "What it says", width: "75%", render: (check) => check.message },
];

/** What the router can do on this kernel, what it chose and why, and what is not as it should be. */
export default function DiagnosticsPage() {
  const query = useQuery(systemQuery);
  const doubt = useDoubt(query);
  const system = query.data;
  return (
    <Page title="Diagnostics">
      {query.isError ? (
        <Note severity="error" live>
          {asProblem(query.error).message}
        </Note>
      ) : null}
      <Findings />
      <SlowAddress />
      <PacketPath />
      <Day />
      <Incidents />
      <Drops />
      {system ? <Report system={system} doubt={doubt} /> : query.isPending ? <Skeleton lines={10} /> : null}
      <SupportFile />
    </Page>
  );
}

function driftText(system: System, doubt: string | null): string {
  if (doubt !== null) return "unknown now";
  if (!system.agent.connected) return "unknown: the agent does not answer";
  const open = unrepaired(system).length;
  if (open > 0) return plural(open, "difference");
  return system.drift.length > 0
    ? `none now; ${system.drift.length} repaired`
    : "none: the kernel holds what was committed";
}

/** `doubt`: why this is the last answer and not how things are now. */
function Report({ system, doubt }: { system: System; doubt: string | null }) {
  const { agent } = system;
  return (
    <>
      {doubt === null ? null : (
        <Note severity="warning">
          {sentence(doubt)} What follows is the last answer, and may be no longer so.
        </Note>
      )}
      {system.drift.map((item) => (
        <Note
          key={`${item.at ?? ""} ${item.part} ${item.what}`}
          severity={item.repaired ? "notice" : "warning"}
        >
          {item.what} ({item.part}
          {item.repaired ? ", repaired" : ""}
          {item.at ? `, ${agoText(item.at)}` : ""})
        </Note>
      ))}
      <Columns>
        <Section title="Checks" flush>
          <SimpleTable
            caption="Checks"
            columns={CHECK_COLUMNS}
            rows={system.checks}
            rowKey={(check) => check.id}
          />
        </Section>
        <Section title="Agent and kernel">
          <Facts
            items={[
              ["Agent", doubt !== null ? "unknown now" : agent.connected ? agent.state : "not connected"],
              ["Version", system.agent.version ?? "unknown"],
              ["Since", system.agent.since === null ? "unknown" : agoText(system.agent.since)],
              ["Revision in the kernel", system.agent.revision ?? "unknown"],
              ["Running revision", system.revision ?? "unknown"],
              ["Drift", driftText(system, doubt)],
            ]}
          />
        </Section>
      </Columns>
      <Section title="What this kernel can do" flush>
        <SimpleTable
          caption="Capabilities"
          columns={CAPABILITY_COLUMNS}
          rows={system.capabilities}
          rowKey={(item) => item.id}
        />
      </Section>
      <Section title="Shaper of each interface" flush>
        {system.shapers.length > 0 ? (
          <SimpleTable
            caption="Shapers"
            columns={SHAPER_COLUMNS}
            rows={system.shapers}
            rowKey={(item) => item.interface}
          />
        ) : (
          <p className="dim pad">
            {agent.connected && doubt === null
              ? "None is shaped now: an interface needs a role, LAN or WAN."
              : "Not known: the agent does not answer."}
          </p>
        )}
      </Section>
      <Unshaped />
    </>
  );
}

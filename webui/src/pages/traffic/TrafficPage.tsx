// SPDX-License-Identifier: Apache-2.0
import { SegmentedControl } from "@mantine/core";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useTop, type Entry, type Readiness } from "@/api/topQueues";
import { perSecond, type Direction } from "@/table/liveColumns";
import { StaticBar } from "@/table/RateBar";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Throughput } from "@/table/Throughput";
import { Empty, Page, Section, Skeleton } from "@/ui/blocks";
import { percentText, plural } from "@/ui/format";
import { flowOf, type Carried } from "./flow";
import { FlowMap } from "./FlowMap";

const ASKED = 200;
const LISTED = 50;
const HEIGHT_PX = 420;
const DIRECTIONS = [
  { value: "download", label: "Download" },
  { value: "upload", label: "Upload" },
] as const;

/** Which queues carry the traffic of now, from all of it to the customer. */
export default function TrafficPage() {
  const direction = useSearch({ from: "/frame/traffic" }).direction ?? "download";
  const navigate = useNavigate({ from: "/traffic" });
  const { entries, ready } = useTop(direction === "download" ? "rate_download" : "rate_upload", ASKED);
  const busy = entries.filter((entry) => entry.stats.rate_bps[direction] > 0);
  return (
    <Page
      title="Live traffic"
      figures={<Throughput />}
      actions={
        <SegmentedControl
          aria-label="Direction"
          data={[...DIRECTIONS]}
          value={direction}
          onChange={(chosen) =>
            void navigate({
              search: { direction: chosen === "upload" ? "upload" : undefined },
              replace: true,
            })
          }
        />
      }
    >
      {busy.length > 0 ? (
        <Traffic entries={busy} direction={direction} isCut={entries.length >= ASKED} />
      ) : (
        <Nothing ready={ready} direction={direction} />
      )}
    </Page>
  );
}

function Nothing({ ready, direction }: { ready: Readiness; direction: Direction }) {
  if (ready === "asking") return <Skeleton />;
  if (ready === "measured")
    return (
      <Empty title={`No ${direction} in any queue`}>
        <p>
          Traffic of addresses that are in no queue is not shown here; see{" "}
          <Link to="/interfaces">Interfaces</Link>.
        </p>
      </Empty>
    );
  return <Empty title={ready.unknown} />;
}

interface TrafficProps {
  entries: readonly Entry[];
  direction: Direction;
  isCut: boolean;
}

function Traffic({ entries, direction, isCut }: TrafficProps) {
  const carried = entries.map(({ queue, stats }): Carried => ({
    id: queue.id,
    name: queue.name,
    parent: queue.parent,
    rateBps: stats.rate_bps[direction],
  }));
  const flow = flowOf(carried, HEIGHT_PX);
  const names = new Map(entries.map(({ queue }) => [queue.id, queue.name]));
  const customers = entries.filter((entry) => entry.queue.child_count === 0);
  return (
    <>
      <Section
        title="Where it goes"
        flush
        aside={
          <span className="dim">
            {isCut ? `The ${ASKED} busiest queues. ` : ""}Traffic in no queue is not in the map.
          </span>
        }
      >
        {flow ? <FlowMap flow={flow} direction={direction} /> : null}
      </Section>
      <Section
        title="Busiest customers"
        flush
        aside={
          customers.length > LISTED || isCut ? (
            <Link to="/queues" search={{ sort: `-rate_${direction}` }}>
              All queues
            </Link>
          ) : (
            <span className="dim">{plural(customers.length, "customer")} with traffic</span>
          )
        }
      >
        <SimpleTable
          caption="Busiest customers"
          columns={columnsWith(names)}
          rows={customers.slice(0, LISTED)}
          rowKey={(entry) => entry.queue.id}
        />
      </Section>
    </>
  );
}

const bar = (direction: Direction): Column<Entry> => ({
  id: direction,
  title: direction === "download" ? "Download" : "Upload",
  render: ({ queue, stats }) => (
    <StaticBar
      direction={direction}
      rateBps={stats.rate_bps[direction]}
      limitBps={queue.max_limit_bps[direction]}
    />
  ),
});

const columnsWith = (names: ReadonlyMap<string, string>): readonly Column<Entry>[] => [
  {
    id: "name",
    title: "Customer",
    wide: true,
    render: ({ queue }) => (
      <Link to="/queues/$id" params={{ id: queue.id }}>
        {queue.name}
      </Link>
    ),
  },
  {
    id: "parent",
    title: "Parent",
    render: ({ queue }) =>
      queue.parent === null ? null : (
        <Link to="/queues/$id" params={{ id: queue.parent }}>
          {names.get(queue.parent) ?? queue.parent}
        </Link>
      ),
  },
  bar("download"),
  bar("upload"),
  {
    id: "drops",
    title: "Drops/s",
    numeric: true,
    render: ({ stats }) => perSecond(stats.drops_ps.upload + stats.drops_ps.download),
  },
  {
    id: "loss",
    title: "Lost",
    numeric: true,
    render: ({ stats }) => {
      const drops = stats.drops_ps.upload + stats.drops_ps.download;
      const seen = drops + stats.packets_ps.upload + stats.packets_ps.download;
      return percentText(seen > 0 ? drops / seen : 0);
    },
  },
  {
    id: "torch",
    title: "Flows",
    render: ({ queue }) => (
      <Link to="/tools" search={{ tool: "torch", queue: queue.id }} aria-label={`Torch of ${queue.name}`}>
        Torch
      </Link>
    ),
  },
];

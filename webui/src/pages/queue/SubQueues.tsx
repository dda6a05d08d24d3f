// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { queueDetailsQuery } from "@/api/queries";
import type { QueueDetails } from "@/api/types";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Arrow, Section } from "@/ui/blocks";
import { countText } from "@/ui/format";
import { longRate } from "@/ui/rates";

type Direction = "upload" | "download";
type Row = NonNullable<QueueDetails["subqueues"]["upload"]> & { direction: Direction };
type Busy = Row["busiest"][number] & { direction: Direction; key: string };

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "direction",
    title: "Direction",
    render: (row) => (
      <span>
        <Arrow direction={row.direction} /> {row.direction}
      </span>
    ),
  },
  {
    id: "rate",
    title: "Rate of each",
    render: (row) => (row.rate_bps === 0 ? "no limit" : longRate(row.rate_bps)),
  },
  { id: "active", title: "Busy", render: (row) => <span data-live>{countText(row.active)}</span> },
  { id: "evicted", title: "Evicted", render: (row) => countText(row.evicted) },
  { id: "shared", title: "Packets without a sub-queue", render: (row) => countText(row.shared_packets) },
];

const BUSIEST: readonly Column<Busy>[] = [
  {
    id: "direction",
    title: "Direction",
    render: (row) => (
      <span>
        <Arrow direction={row.direction} /> {row.direction}
      </span>
    ),
  },
  {
    id: "address",
    title: "Busiest address",
    render: (row) => row.address ?? <span className="dim">a pair of addresses</span>,
  },
  { id: "rate", title: "Rate", render: (row) => longRate(row.rate_bps) },
];

const busiestOf = (rows: readonly Row[]): Busy[] =>
  rows.flatMap(({ direction, busiest }) =>
    busiest.map((item, place) => ({ ...item, direction, key: `${direction} ${item.address ?? place}` })),
  );

function rowsOf({ subqueues }: QueueDetails): Row[] {
  return (["upload", "download"] as const).flatMap((direction) => {
    const found = subqueues[direction];
    return found ? [{ ...found, direction }] : [];
  });
}

/** Sub-queues by address (PCQ), where the queue has any: an idle one gives way to a newcomer, a busy one never. */
export function SubQueues({ id }: { id: string }) {
  const details = useQuery(queueDetailsQuery(id)).data;
  const rows = details ? rowsOf(details) : [];
  if (!details || rows.length === 0) return null;
  const { used, bound } = details.subqueues;
  const busiest = busiestOf(rows);
  return (
    <Section
      title="Sub-queues by address"
      flush
      aside={
        <span className="dim" data-live>
          {countText(used)} of {countText(bound)} busy, of all queues
        </span>
      }
    >
      <SimpleTable
        caption="Sub-queues by address"
        columns={COLUMNS}
        rows={rows}
        rowKey={(row) => row.direction}
      />
      {busiest.length > 0 && (
        <SimpleTable
          caption="Addresses that send most"
          columns={BUSIEST}
          rows={busiest}
          rowKey={(row) => row.key}
        />
      )}
    </Section>
  );
}

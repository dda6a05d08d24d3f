// SPDX-License-Identifier: Apache-2.0
import { Button, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { api, need } from "@/api/client";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import { interfacesQuery } from "@/api/queries";
import type { Host, HostAddress } from "@/api/types";
import { LiveValue, type LiveText } from "@/table/LiveCell";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Empty, Note, Page, Section, Skeleton, Tag } from "@/ui/blocks";
import { plural, spanText } from "@/ui/format";
import { shortRate } from "@/ui/rates";
import classes from "./Hosts.module.css";

const PAGE = 200;
const AGAIN_MS = 5_000;

const upload: LiveText = (stats) => (stats.live ? shortRate(stats.rate_bps.upload) : "–");
const download: LiveText = (stats) => (stats.live ? shortRate(stats.rate_bps.download) : "–");

/** One line for each address, so that the lines of all columns stand beside each other. */
function PerAddress({ host, show }: { host: Host; show: (address: HostAddress) => ReactNode }) {
  return (
    <div className={classes.lines}>
      {host.addresses.map((found) => (
        <div key={found.address} className={classes.line}>
          {show(found)}
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

const COLUMNS: readonly Column<Host>[] = [
  {
    id: "address",
    title: "Address",
    render: (host) => (
      <PerAddress host={host} show={(found) => <span className="mono nowrap">{found.address}</span>} />
    ),
  },
  {
    id: "mac",
    title: "MAC",
    render: (host) => <span className="mono nowrap">{host.mac ?? <span className="dim">–</span>}</span>,
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
    render: (host) => (
      <PerAddress host={host} show={(found) => <QueueOf found={found} port={host.interface} />} />
    ),
  },
  {
    id: "upload",
    title: "↑ Upload",
    numeric: true,
    render: (host) => <PerAddress host={host} show={(found) => rateOf(found, upload)} />,
  },
  {
    id: "download",
    title: "↓ Download",
    numeric: true,
    render: (host) => <PerAddress host={host} show={(found) => rateOf(found, download)} />,
  },
  {
    id: "seen",
    title: "Seen",
    numeric: true,
    render: (host) => <PerAddress host={host} show={(found) => SEEN[found.state](found)} />,
  },
];

/** Of the queue: what all its addresses have together. */
const rateOf = ({ queue }: HostAddress, text: LiveText) =>
  queue ? <LiveValue queueId={queue.id} text={text} /> : <span className="dim">–</span>;

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

/** Who is beside the router, and what limits each. */
export default function HostsPage() {
  const { q } = useSearch({ from: "/frame/hosts" });
  const query = useInfiniteQuery({
    queryKey: ["hosts", q],
    queryFn: ({ pageParam, signal }) =>
      need(api.GET("/api/v1/hosts", { params: { query: { q, limit: PAGE, cursor: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: AGAIN_MS,
  });
  const hosts = query.data?.pages.flatMap((page) => page.items) ?? [];
  const [first] = query.data?.pages ?? [];
  return (
    <Page title="Hosts" actions={<Search />}>
      {query.isError ? (
        <Note severity="error" live>
          {asProblem(query.error).message}
          {first ? " What is shown is from before." : ""}
        </Note>
      ) : null}
      {first && first.left_out > 0 ? (
        <Note severity="warning">
          The router knows {plural(first.left_out, "more address", "more addresses")} than it lists.
        </Note>
      ) : null}
      {query.isPending ? (
        <Skeleton lines={8} />
      ) : hosts.length > 0 ? (
        <Section title={plural(first?.total ?? hosts.length, "host")} flush>
          <SimpleTable caption="Hosts" columns={COLUMNS} rows={hosts} rowKey={(host) => host.id} />
        </Section>
      ) : query.isError ? null : (
        <Nobody searched={q} />
      )}
      {query.hasNextPage ? (
        <div className="row">
          <Button loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            More hosts
          </Button>
        </div>
      ) : null}
    </Page>
  );
}

function Search() {
  const { q } = useSearch({ from: "/frame/hosts" });
  const navigate = useNavigate({ from: "/hosts" });
  const [text, setText] = useState(q ?? "");
  const send = useDebouncedCallback(
    (words: string) => void navigate({ search: { q: words.trim() || undefined }, replace: true }),
    200,
  );
  return (
    <TextInput
      type="search"
      className={classes.search}
      aria-label="Search hosts by address, prefix, MAC or interface"
      placeholder="Address, prefix, MAC or interface"
      leftSection={<IconSearch size={15} />}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        send(event.currentTarget.value);
      }}
    />
  );
}

function Nobody({ searched }: { searched: string | undefined }) {
  if (searched) return <Empty title={`No host matches "${searched}"`} />;
  return (
    <Empty title="No hosts yet">
      <p className="dim">
        A host is listed once the router has exchanged a packet with it: by ARP for IPv4, by neighbour
        discovery for IPv6. Customers behind another router are not listed; their queues are.
      </p>
    </Empty>
  );
}

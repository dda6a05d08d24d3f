// SPDX-License-Identifier: Apache-2.0
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { api, need } from "@/api/client";
import { useMay } from "@/api/may";
import type { GivenLease } from "@/api/types";
import { KindDrawer } from "@/kinds/form/KindDrawer";
import { DECLARED } from "@/kinds/kinds";
import { FoundRows } from "@/table/FoundRows";
import { Empty, Figures, Page } from "@/ui/blocks";
import { countText } from "@/ui/format";
import { Search } from "@/ui/Search";
import { isIPv6, isPrefix, leaseColumns } from "./leaseColumns";

const PAGE = 200;
const AGAIN_MS = 5_000;

/** Who has which address of the router's DHCP servers; and the form that makes one of them static. */
export default function LeasesPage() {
  const { q, make } = useSearch({ from: "/frame/leases" });
  const navigate = useNavigate({ from: "/leases" });
  const query = useInfiniteQuery({
    queryKey: ["leases", q],
    queryFn: ({ pageParam, signal }) =>
      need(api.GET("/api/v1/leases", { params: { query: { q, limit: PAGE, cursor: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: AGAIN_MS,
  });
  const may = useMay("write");
  const [first] = query.data?.pages ?? [];
  const leases = query.data?.pages.flatMap((page) => page.items) ?? [];
  const routed = query.data?.pages.some((page) => page.items.some(isPrefix)) ?? false;
  const columns = useMemo(() => leaseColumns(may, routed), [may, routed]);
  const made = leases.find((lease) => lease.address === make);
  const kind = made && isIPv6(made) ? "dhcpv6-reservation" : "dhcp-reservation";
  const declared = DECLARED.get(kind);
  return (
    <Page
      title="Leases"
      figures={first ? <Figures items={[["given", countText(first.total)]]} /> : null}
      actions={
        <Search
          label="Search leases by address, MAC or host name"
          placeholder="Address, MAC or host name"
          words={q}
          onSearch={(words) => void navigate({ search: { q: words }, replace: true })}
        />
      }
    >
      <FoundRows
        query={query}
        caption="Leases"
        noun="lease"
        columns={columns}
        rowKey={(lease) => lease.address}
        nothing={<Nobody searched={q} />}
      />
      {made && declared ? (
        <KindDrawer
          key={made.address}
          kind={kind}
          declared={declared}
          row={null}
          given={reservationOf(made)}
          onClose={() => void navigate({ search: (before) => ({ ...before, make: undefined }) })}
        />
      ) : null}
    </Page>
  );
}

/** What a reservation says that keeps a lease as it is. */
const reservationOf = (lease: GivenLease): Record<string, unknown> => ({
  server: lease.server,
  ...(isPrefix(lease)
    ? { prefix: lease.address }
    : { address: isIPv6(lease) ? endOf(lease.address, lease.network) : lease.address }),
  ...(isIPv6(lease) ? { duid: lease.client_id } : hostOf(lease)),
});

const hostOf = (lease: GivenLease) =>
  lease.mac === null ? { client_id: `0x${(lease.client_id ?? "").replaceAll(":", "")}` } : { mac: lease.mac };

/** What of an IPv6 address is behind its network. */
const endOf = (address: string, network: string | null): string => {
  const bits = Number(network?.split("/")[1] ?? 64);
  const [head = [], tail = []] = address.split("::").map((text) => text.split(":").filter(Boolean));
  const between = Array<string>(8 - head.length - tail.length).fill("0");
  const groups = [...head, ...between, ...tail].map(
    (text, index) => parseInt(text, 16) & (0xffff >> Math.min(Math.max(bits - 16 * index, 0), 16)),
  );
  const first = groups.findIndex((group) => group > 0);
  const end = first < 0 ? [] : groups.slice(Math.max(first, 1));
  return `::${end.map((group) => group.toString(16)).join(":")}`;
};

function Nobody({ searched }: { searched: string | undefined }) {
  if (searched) return <Empty title={`No lease matches "${searched}"`} />;
  return (
    <Empty title="No leases">
      <p className="dim">
        A lease is an address that a{" "}
        <Link to="/$page" params={{ page: "dhcp-servers" }}>
          DHCP server
        </Link>{" "}
        of this router gave to a host, for a while. Hosts with addresses of their own are among{" "}
        <Link to="/hosts">Hosts</Link>.
      </p>
    </Empty>
  );
}

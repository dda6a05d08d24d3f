// SPDX-License-Identifier: Apache-2.0
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { api, need } from "@/api/client";
import { FoundRows } from "@/table/FoundRows";
import { Empty, Figures, Note, Page } from "@/ui/blocks";
import { countText, plural } from "@/ui/format";
import { Search } from "@/ui/Search";
import { HOST_COLUMNS } from "./hostColumns";

const PAGE = 200;
const AGAIN_MS = 5_000;

/** Who is beside the router, and what limits each. */
export default function HostsPage() {
  const { q } = useSearch({ from: "/frame/hosts" });
  const navigate = useNavigate({ from: "/hosts" });
  const query = useInfiniteQuery({
    queryKey: ["hosts", q],
    queryFn: ({ pageParam, signal }) =>
      need(api.GET("/api/v1/hosts", { params: { query: { q, limit: PAGE, cursor: pageParam } }, signal })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: AGAIN_MS,
  });
  const [first] = query.data?.pages ?? [];
  return (
    <Page
      title="Hosts"
      figures={first ? <Figures items={[["known", countText(first.total)]]} /> : null}
      actions={
        <Search
          label="Search hosts by address, prefix, MAC, name or interface"
          placeholder="Address, prefix, MAC, name or interface"
          words={q}
          onSearch={(words) => void navigate({ search: { q: words }, replace: true })}
        />
      }
    >
      {first && first.left_out > 0 ? (
        <Note severity="warning">
          The router knows {plural(first.left_out, "more address", "more addresses")} than it lists.
        </Note>
      ) : null}
      <FoundRows
        query={query}
        caption="Hosts"
        noun="host"
        columns={HOST_COLUMNS}
        rowKey={(host) => host.id}
        nothing={<Nobody searched={q} />}
      />
    </Page>
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

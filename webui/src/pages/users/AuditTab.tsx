// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { api, need } from "@/api/client";
import { asProblem } from "@/api/problem";
import type { AuditEntry } from "@/api/types";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Note, Section, Skeleton, Tag } from "@/ui/blocks";
import { stampText } from "@/ui/format";

const COLUMNS: readonly Column<AuditEntry>[] = [
  { id: "at", title: "When", render: (entry) => <span className="nowrap">{stampText(entry.at)}</span> },
  { id: "actor", title: "Who", render: (entry) => entry.actor },
  { id: "via", title: "By", render: (entry) => entry.via },
  {
    id: "source",
    title: "From",
    render: (entry) => (entry.source ? <span className="mono">{entry.source}</span> : null),
  },
  { id: "action", title: "What", render: (entry) => entry.action },
  { id: "subject", title: "On", render: (entry) => entry.subject },
  {
    id: "outcome",
    title: "Outcome",
    render: (entry) => (entry.outcome === "ok" ? "ok" : <Tag tone="warn">{entry.outcome}</Tag>),
  },
  {
    id: "detail",
    title: "Detail",
    blank: true,
    render: (entry) => (entry.detail ? <span className="dim">{entry.detail}</span> : null),
  },
];

export function AuditTab() {
  const query = useInfiniteQuery({
    queryKey: ["audit"],
    queryFn: ({ pageParam }) =>
      need(api.GET("/api/v1/system/audit", { params: { query: { limit: 100, cursor: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const entries = query.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <>
      {query.isError ? (
        <Note severity="error" live>
          {asProblem(query.error).message}
        </Note>
      ) : null}
      <Section title="Who did what, from where" flush>
        {query.isPending ? (
          <Skeleton />
        ) : (
          <SimpleTable
            caption="Audit trail"
            columns={COLUMNS}
            rows={entries}
            rowKey={(entry) => String(entry.id)}
          />
        )}
      </Section>
      {query.hasNextPage ? (
        <div className="row">
          <Button loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Older entries
          </Button>
        </div>
      ) : null}
    </>
  );
}

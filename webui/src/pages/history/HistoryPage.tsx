// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { api, need } from "@/api/client";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import { CONFIG } from "@/api/queries";
import type { Revision } from "@/api/types";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Empty, Note, Page, Section, Skeleton, Tag } from "@/ui/blocks";
import { agoText, countText, stampText } from "@/ui/format";
import { Comparison } from "./Comparison";
import classes from "./History.module.css";
import { RestoreDialog } from "./RestoreDialog";

const useRevisions = () =>
  useInfiniteQuery({
    queryKey: [...CONFIG, "revisions"],
    queryFn: ({ pageParam }) =>
      need(api.GET("/api/v1/revisions", { params: { query: { limit: 50, cursor: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });

const stateTag = (revision: Revision) => {
  if (revision.state === "running") return <Tag tone="ok">✓ running</Tag>;
  if (revision.state === "pending") return <Tag tone="warn">to be kept</Tag>;
  return revision.kind === "rollback" ? (
    <Tag>rolled back</Tag>
  ) : revision.kind === "restore" ? (
    <Tag>restore</Tag>
  ) : null;
};

/** Who, when, why, how much; any two compared; any one restored. */
export default function HistoryPage() {
  const search = useSearch({ from: "/frame/history" });
  const navigate = useNavigate({ from: "/history" });
  const query = useRevisions();
  const may = useMay("write");
  const revisions = query.data?.pages.flatMap((page) => page.items) ?? [];
  const head = revisions[0]?.revision ?? 0;
  const to = search.to ?? head;
  const from = search.from ?? Math.max(0, to - 1);
  const go = (change: { from?: number; to?: number; restore?: number }) =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: change.restore === undefined });
  const columns: readonly Column<Revision>[] = [
    {
      id: "revision",
      title: "Rev.",
      render: ({ revision }) => (
        <Button
          size="compact-xs"
          variant="subtle"
          aria-label={`Show revision ${revision}`}
          onClick={() => go({ from: Math.max(0, revision - 1), to: revision })}
        >
          {revision}
        </Button>
      ),
    },
    {
      id: "compare",
      title: "From, to",
      render: ({ revision }) => (
        <span className="row nowrap">
          <input
            type="radio"
            name="from"
            aria-label={`Compare from revision ${revision}`}
            checked={from === revision}
            onChange={() => go({ from: revision, to })}
          />
          <input
            type="radio"
            name="to"
            aria-label={`Compare to revision ${revision}`}
            checked={to === revision}
            onChange={() => go({ to: revision, from })}
          />
        </span>
      ),
    },
    {
      id: "when",
      title: "When",
      render: (revision) => (
        <span className="nowrap" title={stampText(revision.created_at)}>
          {agoText(revision.created_at)}
        </span>
      ),
    },
    { id: "who", title: "Who", render: (revision) => revision.author },
    {
      id: "why",
      title: "Why",
      width: "45%",
      render: (revision) => revision.message || <span className="dim">no message</span>,
    },
    { id: "much", title: "Objects", numeric: true, render: (revision) => countText(revision.change_count) },
    { id: "state", title: "State", blank: true, render: stateTag },
    {
      id: "do",
      title: "Do",
      blank: true,
      render: (revision) =>
        revision.revision === head || !may ? null : (
          <Button size="compact-xs" onClick={() => go({ restore: revision.revision })}>
            Restore<span className="hidden-text"> revision {revision.revision}</span>
          </Button>
        ),
    },
  ];
  return (
    <Page title="History">
      {query.isError ? (
        <Note severity="error" live>
          {asProblem(query.error).message}
        </Note>
      ) : null}
      <div className={classes.sides}>
        <div className="stack">
          <Section title="Revisions" flush>
            {query.isPending ? (
              <Skeleton />
            ) : revisions.length === 0 ? (
              <Empty title="Nothing was committed yet">
                <p className="dim">
                  Every commit is kept here with its author and reason, and can be compared and restored.
                </p>
              </Empty>
            ) : (
              <SimpleTable
                caption="Revisions"
                columns={columns}
                rows={revisions}
                rowKey={(revision) => String(revision.revision)}
                rowCurrent={({ revision }) => revision === to}
              />
            )}
          </Section>
          {query.hasNextPage ? (
            <div className="row">
              <Button loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
                Older revisions
              </Button>
            </div>
          ) : null}
        </div>
        {head > 0 ? (
          <div className={classes.comparison} role="region" aria-label="Comparison" tabIndex={0}>
            <Comparison from={from} to={to} />
          </div>
        ) : null}
      </div>
      {search.restore !== undefined && head > 0 && may ? (
        <RestoreDialog revision={search.restore} head={head} onClose={() => go({ restore: undefined })} />
      ) : null}
    </Page>
  );
}

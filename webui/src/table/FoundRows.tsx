// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { asProblem } from "@/api/problem";
import { Note, Section, Skeleton } from "@/ui/blocks";
import { plural } from "@/ui/format";
import { SimpleTable, type Column } from "./SimpleTable";

/** What the router answers, a page after the other, without an end that is known. */
export interface FoundPage<Row> {
  items: readonly Row[];
  total: number;
}

interface FoundRowsProps<Row> {
  query: UseInfiniteQueryResult<InfiniteData<FoundPage<Row>>>;
  caption: string;
  /** One of them: "host". */
  noun: string;
  columns: readonly Column<Row>[];
  rowKey: (row: Row) => string;
  /** Instead of the table where nothing was found; not shown while nobody knows. */
  nothing: ReactNode;
}

/** A list that the router searches: what was read of it, and why there is no more. */
export function FoundRows<Row>({ query, caption, noun, columns, rowKey, nothing }: FoundRowsProps<Row>) {
  const rows = query.data?.pages.flatMap((page) => page.items) ?? [];
  const [first] = query.data?.pages ?? [];
  return (
    <>
      {query.isError ? (
        <Note severity="error" live>
          {asProblem(query.error).message}
          {first ? " What is shown is from before." : ""}
        </Note>
      ) : null}
      {query.isPending ? (
        <Skeleton lines={8} />
      ) : rows.length > 0 ? (
        <Section title={plural(first?.total ?? rows.length, noun)} flush>
          <SimpleTable caption={caption} columns={columns} rows={rows} rowKey={rowKey} />
        </Section>
      ) : query.isError ? null : (
        nothing
      )}
      {query.hasNextPage ? (
        <div className="row">
          <Button loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            More {noun}s
          </Button>
        </div>
      ) : null}
    </>
  );
}

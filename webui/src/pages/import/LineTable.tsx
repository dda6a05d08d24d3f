// SPDX-License-Identifier: Apache-2.0
import { useCallback, useMemo, useState } from "react";
import { asProblem } from "@/api/problem";
import type { ImportLine } from "@/api/types";
import { VirtualGrid } from "@/table/VirtualGrid";
import { Note, SeverityIcon, Skeleton, type Severity } from "@/ui/blocks";
import classes from "./Import.module.css";
import { FATE_WORD, useLines, type Fate } from "./upload";

const SEVERITY: Record<Fate, Severity> = {
  imported: "ok",
  changed: "notice",
  warning: "warning",
  left_out: "error",
};
const ROW_PX = 28;
const CARD_PX = 78;
const COLUMNS = ["Line", "Fate", "Why", "Source"];

const place = (line: ImportLine): string =>
  line.end_line > line.line ? `${line.line}–${line.end_line}` : String(line.line);

/** Every statement of the file with what becomes of it; the one under the cursor in full below. */
export function LineTable({
  report,
  fate,
  q,
  cards,
}: {
  report: string;
  fate: Fate | undefined;
  q: string | undefined;
  cards: boolean;
}) {
  const query = useLines(report, fate, q);
  const [cursor, setCursor] = useState(-1);
  const lines = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const total = query.data?.pages[0]?.total ?? 0;
  const { fetchNextPage, hasNextPage, isFetchingNextPage } = query;
  const onRange = useCallback(
    (_first: number, last: number) => {
      if (last >= lines.length - 50 && hasNextPage && !isFetchingNextPage) void fetchNextPage();
    },
    [lines.length, hasNextPage, isFetchingNextPage, fetchNextPage],
  );
  if (query.isError) return <Note severity="error">{asProblem(query.error).message}</Note>;
  if (query.isPending) return <Skeleton lines={10} />;
  if (total === 0) return <p className="dim">No statement matches.</p>;
  const chosen = lines[cursor];
  const renderRow = (index: number) => {
    const line = lines[index];
    if (!line)
      return (
        <span role="gridcell" className="dim">
          …
        </span>
      );
    const fateCell = (
      <span className={classes.fate}>
        <SeverityIcon severity={SEVERITY[line.fate]} size={14} /> {FATE_WORD[line.fate]}
      </span>
    );
    if (cards) {
      return (
        <div role="gridcell" className={classes.card}>
          <span className="spread">
            {fateCell}
            <span className="dim">line {place(line)}</span>
          </span>
          <span className={classes.clip}>{line.reason ?? line.object_id ?? ""}</span>
          <span className={`${classes.clip ?? ""} mono dim`}>{line.source}</span>
        </div>
      );
    }
    return (
      <>
        <span role="gridcell" className="num dim">
          {place(line)}
        </span>
        <span role="gridcell">{fateCell}</span>
        <span role="gridcell" data-long title={line.reason ?? undefined}>
          {line.reason ?? <span className="dim">{line.object_id ? `as ${line.object_id}` : ""}</span>}
        </span>
        <span role="gridcell" data-long className="mono" title={line.source}>
          {line.source}
        </span>
      </>
    );
  };
  return (
    <>
      <VirtualGrid
        label="Statements of the file"
        rowCount={total}
        rowHeight={cards ? CARD_PX : ROW_PX}
        columnCount={COLUMNS.length}
        minWidthPx={700}
        template="70px 90px minmax(200px, 1fr) minmax(260px, 1.4fr)"
        head={COLUMNS.map((title) => (
          <span key={title} role="columnheader" className={title === "Line" ? "num" : undefined}>
            {title}
          </span>
        ))}
        cursor={cursor}
        onCursor={setCursor}
        onRange={onRange}
        isSelected={(index) => index === cursor}
        renderRow={renderRow}
        cards={cards}
      />
      <div className={classes.detail} role="status">
        {chosen ? (
          <>
            <p>
              {chosen.file ? `${chosen.file}, ` : ""}line {place(chosen)}:{" "}
              <strong>{FATE_WORD[chosen.fate]}</strong>
              {chosen.reason ? `, ${chosen.reason}` : ""}
            </p>
            <pre className="mono">{chosen.source}</pre>
          </>
        ) : (
          <p className="dim">Choose a line to read it in full.</p>
        )}
      </div>
    </>
  );
}

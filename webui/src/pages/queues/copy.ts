// SPDX-License-Identifier: Apache-2.0
import { useEffect } from "react";
import { live } from "@/api/live";
import { LIVE_COLUMNS, shownOf } from "@/table/liveColumns";
import { plural } from "@/ui/format";
import { say } from "@/ui/toast";
import { COLUMN_WORD, type QueueColumn } from "./columns";
import type { QueueRow } from "./rows";

const oneLine = (text: string): string => text.replace(/[\t\r\n]+/g, " ");

/** Rows as a spreadsheet takes them: a line of titles, then a line for each, the live numbers as they are now. */
export function rowsAsText(rows: readonly QueueRow[], columns: readonly QueueColumn[]): string {
  const titles = columns.map((column) => COLUMN_WORD[column.id] ?? column.title);
  const lines = rows.map((row) =>
    columns.map((column) =>
      oneLine(
        "live" in column
          ? shownOf(LIVE_COLUMNS[column.live], live.latest(row.queue.id), row.queue.max_limit_bps).text
          : column.text(row),
      ),
    ),
  );
  return [titles, ...lines].map((cells) => cells.join("\t")).join("\n");
}

const isField = (element: Element | null): boolean =>
  element instanceof HTMLInputElement
    ? !["checkbox", "radio", "button"].includes(element.type)
    : element instanceof HTMLTextAreaElement;

/**
 * Ctrl-C copies rows, as long as no text is marked and no field has the focus: the live numbers are drawn and cannot
 * be marked. The browser's own event also works where the page came without encryption and has no clipboard.
 */
export function useCopy(rows: () => readonly QueueRow[], columns: readonly QueueColumn[]): void {
  useEffect(() => {
    const onCopy = (event: ClipboardEvent) => {
      const chosen = rows();
      if (
        chosen.length === 0 ||
        isField(document.activeElement) ||
        document.getSelection()?.isCollapsed === false
      )
        return;
      event.clipboardData?.setData("text/plain", rowsAsText(chosen, columns));
      event.preventDefault();
      say("notice", `Copied ${plural(chosen.length, "row")}, with a line of titles.`);
    };
    document.addEventListener("copy", onCopy);
    return () => document.removeEventListener("copy", onCopy);
  }, [rows, columns]);
}

/** As if Ctrl-C had been pressed. */
export function copyNow(): void {
  // The clipboard's own interface exists only where the page came encrypted; this one has no other successor.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  document.execCommand("copy");
}

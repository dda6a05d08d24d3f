// SPDX-License-Identifier: Apache-2.0
import { SimpleTable } from "@/table/SimpleTable";
import { Note } from "@/ui/blocks";
import { bytesText } from "@/ui/format";
import type { ToolEvent } from "./runTool";
import { cellText, isFile, type Tool } from "./toolForms";
import classes from "./Tools.module.css";
import type { RunState } from "./useRun";

/** What a run says while it goes on, and how it ended. */
export function Output({ tool, run }: { tool: Tool; run: RunState }) {
  const end = run.events.find((item) => item.event === "end");
  const rows = run.events.filter((item) => tool.key !== "" && tool.key in item.data);
  const lines = run.events.filter((item) => item.event !== "end" && !rows.includes(item));
  return (
    <>
      {run.note ? <Note severity="notice">{run.note}</Note> : null}
      {rows.length > 0 ? <Rows tool={tool} rows={rows} /> : null}
      {lines.length > 0 ? (
        <ol className={classes.log} role="log" aria-label={`Output of ${tool.title}`}>
          {lines.map((item, at) => (
            <li key={at}>{lineOf(tool, item)}</li>
          ))}
        </ol>
      ) : null}
      {run.problem ? (
        <Note severity="error" live>
          {run.problem.message}
        </Note>
      ) : null}
      {end ? <End end={end} /> : null}
      {isFile(tool) && run.state === "over" && run.bytes > 0 ? (
        <Note severity="ok" live>
          Saved {bytesText(run.bytes)}.
        </Note>
      ) : null}
    </>
  );
}

function Rows({ tool, rows }: { tool: Tool; rows: readonly ToolEvent[] }) {
  const columns = Object.values(tool.columns)[0] ?? [];
  const sorted = [...rows].sort((a, b) => Number(a.data[tool.key]) - Number(b.data[tool.key]));
  return (
    <SimpleTable
      caption={`Output of ${tool.title}`}
      columns={columns.map((column) => ({
        id: column.name,
        title: column.label,
        numeric: typeof sorted[0]?.data[column.name] === "number",
        render: (row: ToolEvent) => {
          const value = row.data[column.name] ?? null;
          return value === null ? null : cellText(column, value);
        },
      }))}
      rows={sorted}
      rowKey={(row) => String(row.data[tool.key])}
    />
  );
}

function lineOf(tool: Tool, { event, data }: ToolEvent): string {
  const columns = tool.columns[event];
  const said = columns
    ? columns.map((column) => `${column.label.toLowerCase()} ${cellText(column, data[column.name])}`)
    : Object.values(data).map(String);
  return `${event}: ${said.join(", ")}`;
}

const ENDS: Readonly<Record<string, string>> = { done: "Done.", stopped: "Stopped." };

function End({ end }: { end: ToolEvent }) {
  const { reason, message } = end.data as { reason: string; message: string | null };
  const said = message === null ? (ENDS[reason] ?? reason) : message;
  return (
    <Note severity={reason in ENDS ? "notice" : "error"} live>
      {said}
    </Note>
  );
}

// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { asProblem } from "@/api/problem";
import { explainQuery } from "@/api/queries";
import type { Explain } from "@/api/types";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Note, Section, SeverityIcon, Skeleton, Tag } from "@/ui/blocks";
import { fieldWords } from "@/ui/fieldText";

type Line = Explain["lines"][number];

const mono = (text: string | null) => (text === null ? null : <span className="mono">{text}</span>);

const COLUMNS: readonly Column<Line>[] = [
  { id: "field", title: "What", render: (line) => fieldWords("queue", line.field) },
  { id: "asked", title: "Asked", render: (line) => line.asked },
  {
    id: "compiled",
    title: "Compiled",
    render: (line) => mono(line.compiled),
  },
  {
    id: "kernel",
    title: "In the kernel",
    render: (line) => mono(line.kernel),
  },
  {
    id: "agrees",
    title: "Agrees",
    render: (line) => (
      <span className="row nowrap">
        <SeverityIcon severity={line.agrees ? "ok" : "error"} /> {line.agrees ? "yes" : "no"}
      </span>
    ),
  },
];

/** What was asked, what it was compiled into, and what the kernel holds now, line by line. */
export function ExplainTable({ id }: { id: string }) {
  const query = useQuery(explainQuery(id));
  const explain = query.data;
  return (
    <Section
      title="Explain"
      flush
      aside={
        explain ? (
          explain.agrees ? (
            <Tag tone="ok">✓ the kernel agrees</Tag>
          ) : (
            <Tag tone="bad">✕ the kernel differs</Tag>
          )
        ) : null
      }
    >
      {explain ? (
        <SimpleTable
          caption="Asked, compiled, in the kernel"
          columns={COLUMNS}
          rows={explain.lines}
          rowKey={(line) => line.field}
        />
      ) : query.isError ? (
        <Note severity="warning">{asProblem(query.error).message}</Note>
      ) : (
        <Skeleton />
      )}
    </Section>
  );
}

// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { useDoubt } from "@/api/known";
import { explainQuery, systemQuery } from "@/api/queries";
import type { Queue, System } from "@/api/types";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Note, Section, Tag } from "@/ui/blocks";
import { fieldWords } from "@/ui/fieldText";
import { sentence } from "@/ui/format";
import { SHAPER_WORDS } from "@/ui/words";

type Shaper = System["shapers"][number];

const COLUMNS: readonly Column<Shaper>[] = [
  { id: "interface", title: "Interface", render: (item) => <span className="mono">{item.interface}</span> },
  { id: "how", title: "How the limit is kept", render: (item) => SHAPER_WORDS[item.mode] ?? item.mode },
  {
    id: "why",
    title: "Why so",
    wide: true,
    blank: true,
    render: (item) => (item.reason ? <span className="dim">{item.reason}</span> : null),
  },
  {
    id: "fast",
    title: "Fast path",
    render: (item) => (
      <span>
        {item.fast_path ? <Tag tone="ok">✓ on</Tag> : <Tag>off</Tag>}{" "}
        {item.fast_path_reason ? <span className="dim">{item.fast_path_reason}</span> : null}
      </span>
    ),
  },
];

/** Why the queue takes no packets now, and who does meanwhile, as the compiler says. */
export function InactiveNote({ queue }: { queue: Queue }) {
  const compiled = useQuery(explainQuery(queue.id)).data?.compiled;
  const because = compiled?.["inactive_because"];
  const meanwhile = compiled?.["meanwhile"];
  if (typeof because !== "string") return null;
  return (
    <Note severity="warning">
      This queue takes no packets now: {sentence(because)}
      {typeof meanwhile === "string" ? <> Meanwhile, {meanwhile}.</> : null}
    </Note>
  );
}

const whereNone = (system: System | undefined): string =>
  system === undefined
    ? "Asking the router."
    : system.agent.connected
      ? "On no interface: none is shaped."
      : "Not known: the agent does not answer.";

/** Where and by what the queue's limit is kept, and what of it is kept under a condition or not at all. */
export function EnforcedBy({ queue }: { queue: Queue }) {
  const query = useQuery(systemQuery);
  const doubt = useDoubt(query);
  const system = query.data;
  const shapers = system?.shapers ?? [];
  return (
    <Section
      title="Where the limit is kept"
      flush
      aside={<span className="dim">on every shaped interface that its packets leave through</span>}
    >
      <div className="stack">
        {shapers.length > 0 ? (
          <SimpleTable
            caption="Interfaces that keep the limit"
            columns={COLUMNS}
            rows={shapers}
            rowKey={(item) => item.interface}
          />
        ) : (
          <p className={system?.agent.connected && doubt === null ? "warn pad" : "dim pad"}>
            {doubt === null ? whereNone(system) : `Not known. ${sentence(doubt)}`}
          </p>
        )}
        {queue.enforcement.map((item) => (
          <div key={`${item.field} ${item.note}`} className="pad">
            <Note severity={item.enforced ? "notice" : "warning"}>
              <strong>{fieldWords("queue", item.field)}</strong>
              {item.enforced ? ": " : " is kept and not enforced: "}
              {sentence(item.note)}
            </Note>
          </div>
        ))}
      </div>
    </Section>
  );
}

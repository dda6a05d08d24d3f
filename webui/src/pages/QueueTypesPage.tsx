// SPDX-License-Identifier: Apache-2.0
import { Button, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { asProblem } from "@/api/problem";
import { queueTypesQuery } from "@/api/queries";
import type { Change, QueueType, QueueTypeInput } from "@/api/types";
import { useStagedChanges } from "@/api/writes";
import { useKeys } from "@/app/keyboard";
import { ObjectDrawer } from "@/forms/ObjectDrawer";
import type { Messages } from "@/forms/queueValues";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Empty, Note, Page, Section, Skeleton, Tag } from "@/ui/blocks";
import { Split } from "@/ui/Split";

const TYPES = ["pfifo", "bfifo", "mq-pfifo", "red", "sfq", "pcq", "codel", "fq-codel", "cake", "none"];

interface Values {
  id: string;
  type: string;
  options: string;
  comment: string;
}

const BLANK: Values = { id: "", type: "fq-codel", options: "", comment: "" };
const optionsText = (options: Record<string, string>): string => Object.entries(options).map(([name, value]) => `${name}=${value}`).join("\n");
const valuesOf = (type: QueueType): Values => ({ id: type.id, type: type.type, options: optionsText(type.options), comment: type.comment });

function readType(values: Values): { id: string; input: QueueTypeInput; messages: Messages } {
  const messages: Messages = {};
  const id = values.id.trim();
  if (!/^[a-z0-9][a-z0-9_.-]{0,62}$/.test(id)) messages["id"] = "Small letters, digits, dot, dash and underscore; it begins with a letter or digit.";
  const options: Record<string, string> = {};
  for (const line of values.options.split("\n").map((text) => text.trim()).filter(Boolean)) {
    const at = line.indexOf("=");
    if (at < 1) messages["options"] = `"${line}": write name=value, one per line.`;
    else options[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return { id, input: { type: values.type as QueueTypeInput["type"], options, comment: values.comment }, messages };
}

function withStaged(items: readonly QueueType[], staged: ReadonlyMap<string, Change>): QueueType[] {
  const known = items.map((type) => ({ ...type, ...(staged.get(type.id)?.new as Partial<QueueType> | null) }));
  const added = [...staged.values()].filter((change) => change.action === "add").map((change) => ({ ...(change.new as unknown as QueueType), id: change.id, used_by: 0, warnings: [], etag: "" }));
  return [...known, ...added];
}

export default function QueueTypesPage() {
  const { edit } = useSearch({ from: "/frame/queue-types" });
  const navigate = useNavigate({ from: "/queue-types" });
  const query = useQuery(queueTypesQuery);
  const staged = useStagedChanges("queue-type");
  const types = withStaged(query.data?.items ?? [], staged);
  const open = (id: string | undefined) => void navigate({ search: { edit: id } });
  const edited = types.find((type) => type.id === edit);
  useKeys([{ keys: "n", label: "New queue type", run: () => open("new") }]);
  const columns: readonly Column<QueueType>[] = [
    { id: "name", title: "Name", render: (type) => <span className="row"><Button size="compact-xs" variant="subtle" onClick={() => open(type.id)}>{type.id}</Button>{staged.has(type.id) ? <Tag tone="accent">change pending</Tag> : null}</span> },
    { id: "type", title: "Kind", render: (type) => type.type },
    { id: "options", title: "Options", render: (type) => <span className="mono">{optionsText(type.options).replaceAll("\n", " ") || "–"}</span> },
    { id: "used", title: "Used by", numeric: true, render: (type) => type.used_by },
    { id: "notes", title: "Notes", render: (type) => type.warnings.map((finding) => <span key={finding.code} className="dim">{finding.message} </span>) },
    { id: "comment", title: "Comment", render: (type) => <span className="dim">{type.comment}</span> },
  ];
  return (
    <Split
      drawer={
        edit === "new" || edited ? (
          <ObjectDrawer key={edit} kind="queue-type" id={edited?.id ?? null} title={edited?.id ?? "New queue type"} initial={edited ? valuesOf(edited) : BLANK} read={readType} onClose={() => open(undefined)} removable>
            {(values, set, messages) => (
              <>
                <TextInput label="Name" description="What queues call it." required disabled={edited !== undefined} data-autofocus={edited === undefined || undefined} value={values.id} error={messages["id"]} onChange={(event) => set({ id: event.currentTarget.value })} />
                <NativeSelect label="Kind" data={TYPES.includes(values.type) ? TYPES : [...TYPES, values.type]} value={values.type} error={messages["type"]} onChange={(event) => set({ type: event.currentTarget.value })} />
                <Textarea label="Options" description="As in RouterOS, one per line: pcq-rate=10M" rows={5} styles={{ input: { fontFamily: "var(--mono)" } }} spellCheck={false} value={values.options} error={messages["options"]} onChange={(event) => set({ options: event.currentTarget.value })} />
                <TextInput label="Comment" value={values.comment} error={messages["comment"]} onChange={(event) => set({ comment: event.currentTarget.value })} />
              </>
            )}
          </ObjectDrawer>
        ) : null
      }
    >
      <Page title="Queue types" actions={<Button variant="filled" leftSection={<IconPlus size={15} />} onClick={() => open("new")}>New queue type</Button>}>
        {query.isError ? <Note severity="error" live>{asProblem(query.error).message}</Note> : null}
        <Section title="How packets of a queue wait" flush>
          {query.isPending ? <Skeleton /> : types.length > 0 ? (
            <SimpleTable caption="Queue types" columns={columns} rows={types} rowKey={(type) => type.id} rowCurrent={(type) => type.id === edit} />
          ) : (
            <Empty title="Only the built-in types">
              <p className="dim">Queues use default-small unless they name another type. Make one to share a queue between hosts (pcq) or to choose its memory.</p>
              <Button onClick={() => open("new")}>New queue type</Button>
            </Empty>
          )}
        </Section>
      </Page>
    </Split>
  );
}

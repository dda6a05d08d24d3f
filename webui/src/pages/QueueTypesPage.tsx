// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import { queueTypesQuery } from "@/api/queries";
import type { Change, QueueType } from "@/api/types";
import { useStagedChanges } from "@/api/writes";
import { useKeys } from "@/app/keyboard";
import { ObjectDrawer } from "@/forms/ObjectDrawer";
import { builtInWords, typeWords } from "@/forms/queue-type/options";
import { TypeFields } from "@/forms/queue-type/TypeFields";
import { BLANK_TYPE, readType, typeValuesOf } from "@/forms/queue-type/typeValues";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Empty, Note, Page, Section, Skeleton, Tag } from "@/ui/blocks";
import { sentence } from "@/ui/format";
import { Split } from "@/ui/Split";

const isBuiltIn = (type: QueueType): boolean => type.etag.includes("built-in");

function withStaged(items: readonly QueueType[], staged: ReadonlyMap<string, Change>): QueueType[] {
  const known = items.map((type) => ({
    ...type,
    ...(staged.get(type.id)?.new as Partial<QueueType> | null),
  }));
  const added = [...staged.values()]
    .filter((change) => change.action === "add")
    .map((change) => ({
      ...(change.new as unknown as QueueType),
      id: change.id,
      used_by: 0,
      warnings: [],
      enforcement: [],
      etag: "",
    }));
  return [...known, ...added];
}

/** Options without effect, and where packets wait as the kind says or do not, and why. Built-in types show the second only once they are used. */
function Notes({ type }: { type: QueueType }) {
  const told = type.used_by > 0 || !isBuiltIn(type) ? type.enforcement : [];
  const withoutEffect = [
    ...type.warnings.map((finding) => finding.message),
    ...told.filter((item) => !item.enforced).map((item) => `Not enforced: ${sentence(item.note)}`),
  ];
  const kept = told.filter((item) => item.enforced).map((item) => sentence(item.note));
  return (
    <>
      {withoutEffect.length > 0 ? <div className="warn">{withoutEffect.join(" ")}</div> : null}
      {kept.length > 0 ? <div className="dim">{kept.join(" ")}</div> : null}
    </>
  );
}

/** A queue that names no type has the default one; the router counts those that name one. */
const usedBy = (type: QueueType): ReactNode =>
  type.id === "default-small" ? <span className="dim">all others</span> : type.used_by;

export default function QueueTypesPage() {
  const { edit } = useSearch({ from: "/frame/queue-types" });
  const navigate = useNavigate({ from: "/queue-types" });
  const query = useQuery(queueTypesQuery);
  const may = useMay("write");
  const staged = useStagedChanges("queue-type");
  const types = withStaged(query.data?.items ?? [], staged);
  const open = (id: string | undefined) => void navigate({ search: { edit: id } });
  const edited = types.find((type) => type.id === edit);
  useKeys(may ? [{ keys: "n", label: "New queue type", run: () => open("new") }] : []);
  const columns: readonly Column<QueueType>[] = [
    {
      id: "name",
      title: "Name",
      render: (type) => (
        <span className="row">
          <Button size="compact-xs" variant="subtle" onClick={() => open(type.id)}>
            {type.id}
          </Button>
          {staged.has(type.id) ? <Tag tone="accent">change pending</Tag> : null}
        </span>
      ),
    },
    { id: "type", title: "Kind", render: (type) => type.type },
    {
      id: "options",
      title: "What it does",
      width: "28%",
      render: (type) => builtInWords(type) ?? typeWords(type),
    },
    { id: "used", title: "Used by", numeric: true, render: usedBy },
    { id: "notes", title: "Notes", width: "34%", render: (type) => <Notes type={type} /> },
    {
      id: "comment",
      title: "Comment",
      render: (type) => (type.comment ? <span className="dim">{type.comment}</span> : null),
    },
  ];
  return (
    <Split
      drawer={
        edit === "new" || edited ? (
          <ObjectDrawer
            key={edit}
            kind="queue-type"
            id={edited?.id ?? null}
            etag={edited?.etag ?? null}
            title={edited?.id ?? "New queue type"}
            initial={edited ? typeValuesOf(edited) : BLANK_TYPE}
            read={readType}
            onClose={() => open(undefined)}
            removable={edited !== undefined && !isBuiltIn(edited)}
          >
            {(values, set, messages) => (
              <TypeFields values={values} set={set} messages={messages} isNew={edited === undefined} />
            )}
          </ObjectDrawer>
        ) : null
      }
    >
      <Page
        title="Queue types"
        actions={
          may ? (
            <Button variant="filled" leftSection={<IconPlus size={15} />} onClick={() => open("new")}>
              New queue type
            </Button>
          ) : null
        }
      >
        {query.isError ? (
          <Note severity="error" live>
            {asProblem(query.error).message}
          </Note>
        ) : null}
        <Section title="How packets of a queue wait" flush>
          {query.isPending ? (
            <Skeleton />
          ) : types.length > 0 ? (
            <SimpleTable
              caption="Queue types"
              columns={columns}
              rows={types}
              rowKey={(type) => type.id}
              rowCurrent={(type) => type.id === edit}
            />
          ) : (
            <Empty title="Only the built-in types">
              <p className="dim">
                Queues use default-small unless they name another type. Make one to share a queue between
                hosts (pcq) or to choose its memory.
              </p>
              {may ? <Button onClick={() => open("new")}>New queue type</Button> : null}
            </Empty>
          )}
        </Section>
      </Page>
    </Split>
  );
}

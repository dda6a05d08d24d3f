// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { ONLY_PLANS, ONLY_READS, useMay } from "@/api/may";
import { asProblem, messagesByField } from "@/api/problem";
import { queueQuery } from "@/api/queries";
import type { Change, Queue } from "@/api/types";
import { baseOf, queueInput, sayStaged, useStageForm } from "@/api/writes";
import { Note, Skeleton } from "@/ui/blocks";
import { Panel } from "@/ui/Panel";
import { useDraft } from "./draft";
import { useMadeOn } from "./madeOn";
import classes from "./forms.module.css";
import { Others } from "./Others";
import { QueueForm } from "./QueueForm";
import { EMPTY_QUEUE, readQueue, valuesOf, type Messages } from "./queueValues";

interface QueueDrawerProps {
  /** A queue's id, or `new`. */
  id: string;
  staged: ReadonlyMap<string, Change>;
  parent?: string | null;
  /** What a new queue starts with. */
  target?: string | undefined;
  onClose: () => void;
}

export function QueueDrawer({ id, staged, parent, target = "", onClose }: QueueDrawerProps) {
  const isNew = id === "new";
  const change = staged.get(id);
  const stored = useQuery({ ...queueQuery(id), enabled: !isNew && change?.action !== "add" });
  if (isNew)
    return (
      <Editor
        key={`new ${target}`}
        base="none"
        queue={null}
        parent={parent ?? null}
        target={target}
        onClose={onClose}
      />
    );
  const base = stored.data ?? null;
  if (change?.new)
    return (
      <Editor
        key={`${id} staged`}
        id={id}
        base={baseOf(change, null)}
        queue={{ ...NO_EXTRAS, ...base, ...(change.new as Partial<Queue>), id } as Queue}
        parent={null}
        onClose={onClose}
      />
    );
  if (base)
    return (
      <Editor
        key={`${id} ${base.etag}`}
        id={id}
        base={baseOf(change, base.etag)}
        queue={base}
        parent={null}
        onClose={onClose}
      />
    );
  return (
    <Panel title="Queue" onClose={onClose}>
      {stored.isError ? (
        <Note severity="error">{asProblem(stored.error).message}</Note>
      ) : (
        <Skeleton lines={8} />
      )}
    </Panel>
  );
}

/** Stands for the name of a queue that has none yet, while the rest of it is looked at. */
const UNNAMED = "new-queue";
const NO_EXTRAS = { enforcement: [], warnings: [], path: [], child_count: 0, etag: "" };

interface EditorProps {
  id?: string;
  /** The version that is shown. */
  base: string;
  queue: Queue | null;
  parent: string | null;
  target?: string;
  onClose: () => void;
}

function Editor({ id, base, queue, parent, target = "", onClose }: EditorProps) {
  const initial = useMemo(
    () => (queue ? valuesOf(queue) : { ...EMPTY_QUEUE, parent, target }),
    [queue, parent, target],
  );
  const draft = `queue.${id ?? (target ? `new.${target}` : "new")}`;
  const [values, setValues, forget, touched] = useDraft(draft, initial);
  const [madeOn, renew] = useMadeOn(draft, base, touched);
  const [messages, setMessages] = useState<Messages>({});
  const stage = useStageForm();
  const mayAll = useMay("write");
  const may = useMay("support") && (mayAll || queue !== null);

  const save = () => {
    const read = readQueue(values, queue ? queueInput(queue) : null);
    setMessages(read.messages);
    if (stage.isPending) return;
    const shown = readQueue(initial.name === "" ? { ...initial, name: UNNAMED } : initial, null);
    stage.mutate(
      {
        change: { kind: "queue", id: id ?? null, new: { ...read.input }, base: id ? madeOn : null },
        own: read.messages,
        instead: { ...shown.input },
      },
      {
        onSuccess: (whose) => {
          forget();
          if (whose === "mine") sayStaged(`${values.name}: pending until it is committed.`);
          onClose();
        },
        onError: (error) => {
          renew();
          setMessages(messagesByField(asProblem(error), [...Object.keys(read.input), "position"]));
        },
      },
    );
  };
  const remove = () => {
    if (!id || !queue) return;
    stage.mutate(
      { change: { kind: "queue", id, new: null, base: madeOn }, own: {}, instead: {} },
      {
        onSuccess: (whose) => {
          forget();
          if (whose === "mine") sayStaged(`${queue.name}: its removal is pending.`);
          onClose();
        },
        onError: (error) => setMessages(messagesByField(asProblem(error), [])),
      },
    );
  };

  return (
    <Panel
      title={queue ? queue.name : "New queue"}
      onClose={onClose}
      onSubmit={may ? save : undefined}
      footer={
        may ? (
          <>
            <Button variant="filled" loading={stage.isPending} onClick={save}>
              {queue ? "Stage the change" : "Stage the queue"}
            </Button>
            {touched ? (
              <Button onClick={forget}>Undo typing</Button>
            ) : (
              <Button onClick={onClose}>Close</Button>
            )}
            {id && queue && mayAll ? (
              <Button color="red" variant="subtle" ml="auto" onClick={remove}>
                Delete
              </Button>
            ) : null}
          </>
        ) : null
      }
    >
      <div className="stack">
        {mayAll ? null : <Note severity="notice">{may ? ONLY_PLANS : ONLY_READS}</Note>}
        {messages[""] ? (
          <Note severity="error" live>
            {messages[""]}
          </Note>
        ) : null}
        {id ? <Others kind="queue" id={id} /> : null}
        <fieldset className={classes.fields} disabled={!may}>
          <QueueForm values={values} onChange={setValues} messages={messages} queue={queue} />
        </fieldset>
      </div>
    </Panel>
  );
}

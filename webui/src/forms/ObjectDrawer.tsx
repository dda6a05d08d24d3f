// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { ONLY_READS, useMay } from "@/api/may";
import { asProblem, messagesByField } from "@/api/problem";
import type { Kind } from "@/api/types";
import { baseOf, useStagedChanges, useStageForm } from "@/api/writes";
import { Note } from "@/ui/blocks";
import { Panel } from "@/ui/Panel";
import { say } from "@/ui/toast";
import { useDraft } from "./draft";
import { useMadeOn } from "./madeOn";
import classes from "./forms.module.css";
import type { Messages } from "./queueValues";

interface ObjectDrawerProps<Values> {
  kind: Kind;
  /** null: a new object, whose id `read` or the router chooses. */
  id: string | null;
  /** Of the object that runs; null: there is none. */
  etag: string | null;
  /** Of a new object: what is typed is kept under it. */
  title: string;
  initial: Values;
  read: (values: Values) => { id?: string; input: object; messages: Messages };
  onClose: () => void;
  removable?: boolean;
  children: (values: Values, set: (change: Partial<Values>) => void, messages: Messages) => ReactNode;
}

/** The drawer of the short forms: types what is typed, stages what is asked, shows errors at their fields. */
export function ObjectDrawer<Values extends object>({
  kind,
  id,
  etag,
  title,
  initial,
  read,
  onClose,
  removable,
  children,
}: ObjectDrawerProps<Values>) {
  const [values, setValues, forget, touched] = useDraft(`${kind}.${id ?? title}`, initial);
  const staged = useStagedChanges(kind).get(id ?? "");
  const [madeOn, renew] = useMadeOn(`${kind}.${id ?? title}`, baseOf(staged, etag), touched);
  const [messages, setMessages] = useState<Messages>({});
  const stage = useStageForm();
  const may = useMay("write");
  const send = (objectId: string | null, input: object | null, said: string, own: Messages = {}) =>
    stage.mutate(
      {
        change: {
          kind,
          id: objectId,
          new: input as Record<string, unknown> | null,
          base: objectId === null ? null : madeOn,
        },
        own,
        instead: { ...read(initial).input },
      },
      {
        onSuccess: (whose) => {
          forget();
          if (whose === "mine") say("notice", said);
          onClose();
        },
        onError: (error) => {
          renew();
          setMessages(
            messagesByField(
              asProblem(error),
              [...Object.keys(input ?? {}), ...Object.keys(own)].map((field) => field.split(".", 1)[0] ?? ""),
            ),
          );
        },
      },
    );
  const save = () => {
    const result = read(values);
    setMessages(result.messages);
    if (!stage.isPending)
      send(id ?? result.id ?? null, result.input, "Pending until it is committed.", result.messages);
  };
  return (
    <Panel
      title={title}
      onClose={onClose}
      onSubmit={may ? save : undefined}
      footer={
        may ? (
          <>
            <Button variant="filled" loading={stage.isPending} onClick={save}>
              Stage the change
            </Button>
            {touched ? (
              <Button onClick={forget}>Undo typing</Button>
            ) : (
              <Button onClick={onClose}>Close</Button>
            )}
            {removable && id !== null ? (
              <Button
                color="red"
                variant="subtle"
                ml="auto"
                onClick={() => send(id, null, `The removal of ${id} is pending.`)}
              >
                Delete
              </Button>
            ) : null}
          </>
        ) : null
      }
    >
      <fieldset className={`${classes.fields ?? ""} stack`} disabled={!may}>
        {may ? null : <Note severity="notice">{ONLY_READS}</Note>}
        {messages[""] ? (
          <Note severity="error" live>
            {messages[""]}
          </Note>
        ) : null}
        {children(values, (change) => setValues({ ...values, ...change }), messages)}
      </fieldset>
    </Panel>
  );
}

// SPDX-License-Identifier: Apache-2.0
import { useState } from "react";
import { asProblem, messagesByField } from "@/api/problem";
import type { Kind } from "@/api/types";
import { baseOf, sayStaged, useStagedChanges, useStageForm } from "@/api/writes";
import { useDraft } from "./draft";
import { useMadeOn } from "./madeOn";
import type { Messages } from "./queueValues";

export interface ObjectFormOptions<Values> {
  kind: Kind;
  /** null: a new object, whose id `read` or the router chooses. */
  id: string | null;
  /** Of the object that runs; null: there is none. */
  etag: string | null;
  /** Of a new object: what is typed is kept under it. */
  title: string;
  initial: Values;
  read: (values: Values) => { id?: string; input: object; messages: Messages };
  /** It is staged, or is not to be any more. */
  onDone: () => void;
}

/** What a form of one object does: keeps what is typed, stages it, and has the errors by field. */
export function useObjectForm<Values extends object>({
  kind,
  id,
  etag,
  title,
  initial,
  read,
  onDone,
}: ObjectFormOptions<Values>) {
  const name = `${kind}.${id ?? title}`;
  const [values, setValues, forget, touched] = useDraft(name, initial);
  const staged = useStagedChanges(kind).get(id ?? "");
  const [madeOn, renew] = useMadeOn(name, baseOf(staged, etag), touched);
  const [messages, setMessages] = useState<Messages>({});
  const stage = useStageForm();
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
          if (whose === "mine") sayStaged(said);
          onDone();
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
  return {
    values,
    set: (change: Partial<Values>) => setValues({ ...values, ...change }),
    forget,
    touched,
    messages,
    isPending: stage.isPending,
    save: () => {
      const result = read(values);
      setMessages(result.messages);
      if (!stage.isPending)
        send(id ?? result.id ?? null, result.input, "Pending until it is committed.", result.messages);
    },
    remove: () => send(id, null, `The removal of ${id} is pending.`),
  };
}

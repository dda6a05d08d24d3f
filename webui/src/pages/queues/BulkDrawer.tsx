// SPDX-License-Identifier: Apache-2.0
import { Checkbox, NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ONLY_PLANS, useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import { queueTypesQuery } from "@/api/queries";
import type { Queue } from "@/api/types";
import { baseOf, sayStaged, useStage, useStagedChanges } from "@/api/writes";
import { useDraft } from "@/forms/draft";
import { ParentField } from "@/forms/ParentField";
import { optionalRate } from "@/forms/queueValues";
import { RatePair } from "@/forms/RatePair";
import { Whole } from "@/forms/Whole";
import { Note } from "@/ui/blocks";
import { plural } from "@/ui/format";
import { Panel } from "@/ui/Panel";
import { ReasonedButton } from "@/ui/ReasonedButton";
import { limitText } from "@/ui/rates";
import { bulkChanges, NO_EDIT, type BulkEdit } from "./bulk";

interface Typed {
  factor: string;
  limits: { upload: string; download: string };
  setParent: boolean;
  parent: string | null;
  type: string;
  state: string;
}

const BLANK: Typed = {
  factor: "",
  limits: { upload: "", download: "" },
  setParent: false,
  parent: null,
  type: "",
  state: "",
};
const FACTOR = /^[x×*]?\s*(\d+(?:\.\d+)?)\s*(%?)$/i;

/** `1.2`, `x1.2` or `120%`; null when it is none of them. */
export function parseFactor(text: string): number | null {
  const match = FACTOR.exec(text.trim());
  if (!match) return null;
  const factor = Number(match[1]) / (match[2] ? 100 : 1);
  return factor > 0 && factor <= 1000 ? factor : null;
}

function readEdit(typed: Typed): { edit: BulkEdit; problem: string | null } {
  const edit: BulkEdit = { ...NO_EDIT };
  if (typed.factor.trim() !== "") {
    edit.factor = parseFactor(typed.factor);
    if (edit.factor === null) return { edit, problem: "The factor is a number such as 1.2, x1.2 or 120%." };
  }
  for (const direction of ["upload", "download"] as const) {
    if (typed.limits[direction].trim() === "") continue;
    const rate = optionalRate(typed.limits[direction]);
    if (!rate.ok) return { edit, problem: rate.message };
    edit.limits = { ...edit.limits, [direction]: rate.value };
  }
  if (typed.setParent) edit.parent = { id: typed.parent };
  if (typed.type !== "") edit.queueType = typed.type;
  if (typed.state !== "") edit.disabled = typed.state === "disable";
  return { edit, problem: null };
}

interface BulkDrawerProps {
  queues: readonly Queue[];
  onClose: () => void;
  onDone: () => void;
}

/** One edit for all selected queues, staged as one pending change. */
export function BulkDrawer({ queues, onClose, onDone }: BulkDrawerProps) {
  const [typed, setTyped, forget] = useDraft("queue.selected", BLANK);
  const [asked, setAsked] = useState(false);
  const mayDelete = useMay("write");
  const types = useQuery(queueTypesQuery).data?.items ?? [];
  const stage = useStage(true);
  const staged = useStagedChanges("queue");
  const etags = new Map(queues.map((queue) => [queue.id, queue.etag]));
  const { edit, problem } = readEdit(typed);
  const empty = Object.values(edit).every((value) => value === null);
  const set = (change: Partial<Typed>) => setTyped({ ...typed, ...change });
  const send = (changes: ReturnType<typeof bulkChanges>, words: string) =>
    stage.mutate(
      changes.map((change) => ({
        ...change,
        base: baseOf(staged.get(change.id ?? ""), etags.get(change.id ?? "")),
      })),
      {
        onSuccess: () => {
          forget();
          sayStaged(`${words} ${plural(queues.length, "queue")}: pending until it is committed.`);
          onDone();
        },
      },
    );
  const save = () => {
    setAsked(true);
    if (!problem && !empty) send(bulkChanges(queues, edit), "Edited");
  };
  const none = queues.length === 0 ? "no queue is selected" : null;
  const sample = queues[0];
  const after = sample && edit.factor !== null ? bulkChanges([sample], edit)[0]?.new : null;
  const afterLimits = after?.["max_limit_bps"] as { upload: number; download: number } | undefined;
  return (
    <Panel
      title={`Edit ${plural(queues.length, "queue")}`}
      onClose={onClose}
      onSubmit={save}
      footer={
        <>
          <ReasonedButton variant="filled" loading={stage.isPending} why={none} onClick={save}>
            Stage for all
          </ReasonedButton>
          <ReasonedButton
            color="red"
            variant="subtle"
            ml="auto"
            why={mayDelete ? none : ONLY_PLANS}
            onClick={() =>
              send(
                queues.map((queue) => ({ kind: "queue", id: queue.id, new: null })),
                "Removed",
              )
            }
          >
            Delete all of them
          </ReasonedButton>
        </>
      }
    >
      <div className="stack">
        <p className="dim">Empty fields are left unchanged in each queue.</p>
        {stage.error ? (
          <Note severity="error" live>
            {asProblem(stage.error).message}
          </Note>
        ) : null}
        {asked && (problem ?? empty) ? (
          <Note severity="error" live>
            {problem ?? "Nothing to change yet."}
          </Note>
        ) : null}
        <TextInput
          data-autofocus
          label="Limits times"
          placeholder="1.2"
          description={
            sample && afterLimits
              ? `${sample.name}: ↑ ${limitText(sample.max_limit_bps.upload)} → ${limitText(afterLimits.upload)}, ↓ ${limitText(sample.max_limit_bps.download)} → ${limitText(afterLimits.download)}`
              : "This multiplies limit, guarantee and burst of each queue."
          }
          value={typed.factor}
          onChange={(event) => set({ factor: event.currentTarget.value })}
        />
        <RatePair
          label="Limit for each"
          field="limits"
          none="as it is"
          placeholder="as it is"
          value={typed.limits}
          messages={{}}
          onChange={(limits) => set({ limits })}
        />
        <Whole>
          <Checkbox
            label="Change the parent"
            checked={typed.setParent}
            onChange={(event) => set({ setParent: event.currentTarget.checked })}
          />
          {typed.setParent ? (
            <ParentField value={typed.parent} ownId={null} onChange={(parent) => set({ parent })} />
          ) : null}
          <NativeSelect
            label="Queue type"
            data={[{ value: "", label: "as it is" }, ...types.map((type) => type.id)]}
            value={typed.type}
            onChange={(event) => set({ type: event.currentTarget.value })}
          />
        </Whole>
        <NativeSelect
          label="State"
          data={[
            { value: "", label: "as it is" },
            { value: "enable", label: "enabled" },
            { value: "disable", label: "disabled" },
          ]}
          value={typed.state}
          onChange={(event) => set({ state: event.currentTarget.value })}
        />
      </div>
    </Panel>
  );
}

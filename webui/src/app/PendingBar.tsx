// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { IconPencil } from "@tabler/icons-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { candidateQuery, pendingQuery } from "@/api/queries";
import type { Candidate } from "@/api/types";
import { useMay } from "@/api/may";
import { useDiscard, useUndo } from "@/api/writes";
import { useFocusBack } from "@/ui/focus";
import { plural } from "@/ui/format";
import { ReasonedButton } from "@/ui/ReasonedButton";
import { AskOnce } from "./AskOnce";
import { candidateText } from "./candidateText";
import type { Dialog } from "./CommitDialog";
import { ConfirmBar } from "./ConfirmBar";
import { useKeys } from "./keyboard";
import classes from "./PendingBar.module.css";

/** It names the fields of every kind, which the first load does without. */
const loadDialog = () => import("./CommitDialog");
const PendingDialog = lazy(loadDialog);

/** The palette has these, too, by their keys. */
export const PENDING_KEYS: readonly string[] = ["c", "d", "ctrl+z"];

export function PendingBar() {
  const candidate = useQuery(candidateQuery).data ?? null;
  const pending = useQuery(pendingQuery).data?.pending ?? null;
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const count = candidate?.change_count ?? 0;
  const undo = useUndo();
  const may = useMay("support");
  const isStaged = count > 0;
  useEffect(() => {
    // There at once when it is asked for; a failure is met there.
    if (isStaged) loadDialog().catch(() => undefined);
  }, [isStaged]);
  useKeys([
    ...(count > 0 && !pending
      ? [{ keys: "c", label: "Commit the pending changes, with a timer", run: () => setDialog("timer") }]
      : []),
    ...(may
      ? [
          {
            keys: "ctrl+z",
            label: "Undo what was staged last",
            run: () => {
              if (!undo.isPending) undo.mutate();
            },
          },
        ]
      : []),
  ]);
  return (
    <>
      <ConfirmBar pending={pending} />
      {candidate && count > 0 ? (
        <StagedBar candidate={candidate} blocked={pending !== null} onDialog={setDialog} />
      ) : null}
      <Suspense fallback={null}>
        {dialog && candidate && count > 0 ? (
          <PendingDialog
            dialog={dialog}
            candidate={candidate}
            onCommit={pending ? null : () => setDialog("timer")}
            onClose={() => setDialog(null)}
          />
        ) : null}
      </Suspense>
    </>
  );
}

function StagedBar({
  candidate,
  blocked,
  onDialog,
}: {
  candidate: Candidate;
  blocked: boolean;
  onDialog: (dialog: Dialog) => void;
}) {
  const discard = useDiscard();
  const why = blocked ? "another commit waits for its confirmation: keep or revert it first" : null;
  useFocusBack();
  const [asking, setAsking] = useState(false);
  useKeys([{ keys: "d", label: "Discard the pending changes", run: () => setAsking(true) }]);
  return (
    <section className={classes.bar} aria-label="Pending changes">
      <IconPencil size={16} className={classes.icon} aria-hidden="true" />
      <span className={classes.text}>
        <strong>{candidateText(candidate)}</strong>{" "}
        <span className="dim">
          {candidate.conflict_count > 0
            ? `${candidate.conflict_count} in conflict`
            : blocked
              ? "wait until the confirmation is decided"
              : "not committed yet"}
        </span>
      </span>
      <Button onClick={() => onDialog("diff")}>Diff</Button>
      <Button onClick={() => setAsking(true)}>Discard</Button>
      <ReasonedButton why={why} onClick={() => onDialog("commit")}>
        Commit
      </ReasonedButton>
      <ReasonedButton variant="filled" why={why} onClick={() => onDialog("timer")}>
        Commit with timer
      </ReasonedButton>
      {asking ? (
        <AskOnce
          title={`Discard ${plural(candidate.change_count, "pending change")}?`}
          action="Discard"
          busy={discard.isPending}
          onClose={() => setAsking(false)}
          onDo={() => discard.mutate(undefined, { onSettled: () => setAsking(false) })}
        >
          They were never committed, so the history does not have them.
        </AskOnce>
      ) : null}
    </section>
  );
}

// SPDX-License-Identifier: Apache-2.0
import { Button, Modal, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { asProblem } from "@/api/problem";
import { candidateDiffQuery } from "@/api/queries";
import type { Candidate, Change, Finding, YourWay } from "@/api/types";
import { useCommit, useUnstage } from "@/api/writes";
import { useDraft } from "@/forms/draft";
import { Note, Skeleton } from "@/ui/blocks";
import { DiffView } from "@/ui/DiffView";
import { clause, sentence } from "@/ui/format";
import { ReasonedButton } from "@/ui/ReasonedButton";
import { candidateText } from "./candidateText";
import { Conflicts } from "./Conflicts";
import { RollbackWindow, USUAL_WINDOW_S } from "./RollbackWindow";

export type Dialog = "diff" | "commit" | "timer";

interface PendingProps {
  candidate: Candidate;
  onClose: () => void;
}

/** The difference, from which the commit follows (null while none may be made), or the commit. */
export default function PendingDialog({
  dialog,
  onCommit,
  ...pending
}: PendingProps & { dialog: Dialog; onCommit: (() => void) | null }) {
  if (dialog === "diff") return <DiffDialog {...pending} onCommit={onCommit} />;
  return <CommitDialog {...pending} timed={dialog === "timer"} />;
}

const usePendingDiff = () => useQuery({ ...candidateDiffQuery(100), staleTime: 0 });

/** Whether who commits still reaches the router. */
function YourWayText({ way }: { way: YourWay | null }) {
  if (way?.fate === "cuts-off-you")
    return (
      <Note severity="warning">
        This cuts you off: {clause(way.text)} With a timer the router goes back by itself unless you keep the
        change.
      </Note>
    );
  return way?.fate === "not-known" ? (
    <p className="dim">Whether you still reach the router is not known: {clause(way.text)}</p>
  ) : null;
}

/** What is about to happen, to the objects and to the kernel; each change can be taken out. */
function PendingDiff({ refused }: { refused?: readonly Finding[] | undefined }) {
  const diff = usePendingDiff();
  const unstage = useUnstage();
  if (diff.isError) return <Note severity="error">{asProblem(diff.error).message}</Note>;
  if (!diff.data) return <Skeleton />;
  const { changes, total, kernel, complete, findings, your_way } = diff.data;
  const undo = (change: Change) => (
    <Button size="compact-xs" variant="subtle" onClick={() => unstage.mutate(change)}>
      Undo<span className="hidden-text"> the change of {change.name}</span>
    </Button>
  );
  return (
    <>
      <YourWayText way={your_way} />
      <DiffView
        changes={changes}
        total={total}
        kernel={kernel}
        complete={complete}
        findings={refused?.length ? refused : findings}
        action={undo}
      />
    </>
  );
}

/** The difference and nothing to fill in. `onCommit`: goes on to the commit; null while none may be made. */
function DiffDialog({ candidate, onCommit, onClose }: PendingProps & { onCommit: (() => void) | null }) {
  return (
    <Modal opened onClose={onClose} title={candidateText(candidate)} size="xl">
      <div className="stack">
        {candidate.conflict_count > 0 ? <Conflicts candidate={candidate} /> : null}
        <PendingDiff />
        <div className="row">
          <Button onClick={onClose}>Close</Button>
          {onCommit ? <Button onClick={onCommit}>Commit with timer</Button> : null}
        </div>
      </div>
    </Modal>
  );
}

/** The commit with its reason, above what it does. */
function CommitDialog({ candidate, timed, onClose }: PendingProps & { timed: boolean }) {
  const commit = useCommit();
  const [message, setMessage, forget] = useDraft("commit-message", "");
  const [chosen, setSeconds] = useState<number | null>(null);
  const diff = usePendingDiff();
  const problem = commit.error ? asProblem(commit.error) : null;
  const cuts = "cuts-off-you";
  const isCut = diff.data?.your_way?.fate === cuts || problem?.code === cuts;
  const seconds = chosen ?? (timed || isCut ? USUAL_WINDOW_S : 0);
  // When it is committed, nothing is pending and the dialog is gone: what follows is not left to it.
  const run = () =>
    void commit.mutateAsync({ message, confirm_within_s: seconds || null }).then(
      () => {
        forget();
        onClose();
      },
      () => undefined,
    );
  return (
    <Modal opened onClose={onClose} title={candidateText(candidate)} size="xl">
      <div className="stack">
        {candidate.conflict_count > 0 ? <Conflicts candidate={candidate} /> : null}
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            run();
          }}
        >
          <Textarea
            label="Why"
            description="The history keeps it beside your name."
            autosize={false}
            rows={2}
            maxLength={1000}
            value={message}
            onChange={(event) => setMessage(event.currentTarget.value)}
            data-autofocus
          />
          {timed || isCut ? (
            <RollbackWindow seconds={seconds} onSeconds={setSeconds} />
          ) : (
            <p className="dim">
              Without a timer: the change stays also if you lose the connection to the router.
            </p>
          )}
          {problem ? (
            <Note severity="error" live>
              {problem.findings.length > 0
                ? "Not committed, for the reasons below."
                : sentence(problem.message)}{" "}
              Nothing was changed.
            </Note>
          ) : null}
          <div className="row">
            <ReasonedButton
              type="submit"
              variant="filled"
              loading={commit.isPending}
              why={
                candidate.conflict_count > 0
                  ? "first say above which version to keep"
                  : isCut && seconds === 0
                    ? "this cuts you off: choose a timer"
                    : null
              }
            >
              {seconds === 0 ? "Commit" : "Commit with timer"}
            </ReasonedButton>
            <Button onClick={onClose}>Close</Button>
          </div>
        </form>
        <PendingDiff refused={problem?.findings} />
      </div>
    </Modal>
  );
}

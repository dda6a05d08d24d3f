// SPDX-License-Identifier: Apache-2.0
import { Button, Modal, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { asProblem } from "@/api/problem";
import { candidateDiffQuery } from "@/api/queries";
import type { Candidate } from "@/api/types";
import { useCommit, useResolve, useUnstage } from "@/api/writes";
import { useDraft } from "@/forms/draft";
import { Note, Skeleton } from "@/ui/blocks";
import { DiffView } from "@/ui/DiffView";
import { plural, sentence } from "@/ui/format";
import { candidateText } from "./candidateText";
import { RollbackWindow } from "./RollbackWindow";

interface CommitDialogProps {
  candidate: Candidate;
  mode: "diff" | "commit" | "timer";
  onClose: () => void;
}

/** What is about to happen, to the objects and to the kernel; then the commit. */
export function CommitDialog({ candidate, mode, onClose }: CommitDialogProps) {
  const diff = useQuery({ ...candidateDiffQuery(100), staleTime: 0 });
  const commit = useCommit();
  const unstage = useUnstage();
  const [message, setMessage, forget] = useDraft("commit-message", "");
  const [seconds, setSeconds] = useState(mode === "timer" ? 60 : 0);
  const problem = commit.error ? asProblem(commit.error) : null;
  const run = () =>
    commit.mutate(
      { message, confirm_within_s: seconds || null },
      {
        onSuccess: () => {
          forget();
          onClose();
        },
      },
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
          <Textarea label="Why" description="Kept in the history beside your name." autosize={false} rows={2} maxLength={1000} value={message} onChange={(event) => setMessage(event.currentTarget.value)} data-autofocus />
          <RollbackWindow seconds={seconds} onSeconds={setSeconds} />
          {problem ? (
            <Note severity="error" live>
              {problem.findings.length > 0 ? "Not committed, for the reasons below." : sentence(problem.message)} Nothing was changed.
            </Note>
          ) : null}
          <div className="row">
            <Button type="submit" variant="filled" loading={commit.isPending} disabled={candidate.conflict_count > 0}>
              {seconds === 0 ? "Commit" : "Commit with timer"}
            </Button>
            <Button onClick={onClose}>Not yet</Button>
          </div>
        </form>
        {diff.data ? (
          <DiffView
            changes={diff.data.changes}
            total={diff.data.total}
            kernel={diff.data.kernel}
            complete={diff.data.complete}
            findings={problem?.findings.length ? problem.findings : diff.data.findings}
            action={(change) => (
              <Button size="compact-xs" variant="subtle" onClick={() => unstage.mutate(change)}>
                Take back<span className="hidden-text"> the change of {change.name}</span>
              </Button>
            )}
          />
        ) : diff.isError ? (
          <Note severity="error">{asProblem(diff.error).message}</Note>
        ) : (
          <Skeleton />
        )}
      </div>
    </Modal>
  );
}

function Conflicts({ candidate }: { candidate: Candidate }) {
  const resolve = useResolve();
  return (
    <Note severity="warning" live>
      <p>
        Somebody else changed {plural(candidate.conflict_count, "of these objects", "of these objects")} since you began: {candidate.conflicts.map((item) => item.id).slice(0, 5).join(", ")}. Whose version holds?
      </p>
      <div className="row">
        <Button loading={resolve.isPending} onClick={() => resolve.mutate("mine")}>
          Mine
        </Button>
        <Button loading={resolve.isPending} onClick={() => resolve.mutate("theirs")}>
          Theirs
        </Button>
      </div>
    </Note>
  );
}

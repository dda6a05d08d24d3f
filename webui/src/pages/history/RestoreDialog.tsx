// SPDX-License-Identifier: Apache-2.0
import { Button, Modal, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { asProblem } from "@/api/problem";
import { revisionDiffQuery } from "@/api/queries";
import { useRestore } from "@/api/writes";
import { RollbackWindow, USUAL_WINDOW_S } from "@/app/RollbackWindow";
import { Note, Skeleton } from "@/ui/blocks";
import { DiffView, Findings } from "@/ui/DiffView";
import { countsText } from "@/ui/effect";
import { plural } from "@/ui/format";
import { ReasonedButton } from "@/ui/ReasonedButton";

/** `total`: how many objects differ; undefined: not known. */
const whyNot = (total: number | undefined): string | null =>
  total === undefined
    ? "the difference could not be read"
    : total === 0
      ? "nothing differs from what runs now"
      : null;

/** A restore shows its difference before it is one. */
export function RestoreDialog({
  revision,
  head,
  onClose,
}: {
  revision: number;
  head: number;
  onClose: () => void;
}) {
  const diff = useQuery(revisionDiffQuery(head, revision));
  const restore = useRestore();
  const [message, setMessage] = useState(`Restore of revision ${revision}`);
  const [seconds, setSeconds] = useState(USUAL_WINDOW_S);
  const problem = restore.error ? asProblem(restore.error) : null;
  const run = () =>
    restore.mutate({ revision, message, confirm_within_s: seconds || null }, { onSuccess: onClose });
  return (
    <Modal opened onClose={onClose} title={`Restore revision ${revision}`} size="xl">
      <div className="stack">
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            run();
          }}
        >
          <TextInput
            label="Why"
            value={message}
            maxLength={1000}
            onChange={(event) => setMessage(event.currentTarget.value)}
            data-autofocus
          />
          <RollbackWindow seconds={seconds} onSeconds={setSeconds} />
          {problem ? (
            <Note severity="error" live>
              {problem.findings.length > 0 ? "Not restored:" : problem.message} Nothing was changed.
            </Note>
          ) : null}
          {problem ? <Findings findings={problem.findings} /> : null}
          <div className="row">
            <ReasonedButton
              type="submit"
              variant="filled"
              loading={restore.isPending || diff.isPending}
              why={whyNot(diff.data?.total)}
            >
              Restore
            </ReasonedButton>
            <Button onClick={onClose}>Cancel</Button>
          </div>
        </form>
        {diff.data ? (
          <p>
            {plural(diff.data.total, "object")}: <strong>{countsText(diff.data.counts)}</strong>, against what
            runs now.
          </p>
        ) : null}
        {diff.data ? (
          <DiffView changes={diff.data.changes} total={diff.data.total} />
        ) : diff.isError ? (
          <Note severity="error">{asProblem(diff.error).message}</Note>
        ) : (
          <Skeleton />
        )}
      </div>
    </Modal>
  );
}

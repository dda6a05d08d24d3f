// SPDX-License-Identifier: Apache-2.0
import { Button, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { IconDownload } from "@tabler/icons-react";
import { useRef, useState } from "react";
import { api, need } from "@/api/client";
import { ONLY_READS, useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import { refreshConfig } from "@/api/queries";
import type { BackupReport } from "@/api/types";
import { rememberConfirmation, sayCommitted } from "@/api/writes";
import { RollbackWindow, USUAL_WINDOW_S } from "@/app/RollbackWindow";
import { Facts, Note, Page, Section } from "@/ui/blocks";
import { Findings } from "@/ui/DiffView";
import { countsText } from "@/ui/effect";
import { bytesText, plural, stampText } from "@/ui/format";
import { ReasonedButton } from "@/ui/ReasonedButton";

/** The API's document says "string, binary"; the file is sent as it is. */
const asBody = (file: File) => ({
  body: file as unknown as string,
  bodySerializer: (body: unknown) => body as BodyInit,
  headers: { "Content-Type": "application/octet-stream" },
});

const useCheck = () =>
  useMutation({
    mutationFn: (file: File) => need(api.POST("/api/v1/backup/check", asBody(file))),
    meta: { inline: true },
  });

interface RestoreOptions {
  file: File;
  message: string;
  confirmWithinS: number | undefined;
}

const useRestoreFile = () =>
  useMutation({
    mutationFn: async ({ file, message, confirmWithinS }: RestoreOptions) => {
      const answer = await need(
        api.POST("/api/v1/backup/restore", {
          params: { query: { message, confirm_within_s: confirmWithinS } },
          ...asBody(file),
        }),
      );
      rememberConfirmation(answer);
      await refreshConfig();
      return answer;
    },
    onSuccess: (answer) => sayCommitted("ok", answer),
    meta: { inline: true },
  });

/** The configuration as one file, and back: what a file would do is shown before it does it. */
export default function BackupPage() {
  const may = useMay("write");
  return (
    <Page title="Backup">
      <Section title="Take one">
        <div className="stack">
          <p className="dim">
            All that runs now, as one file with a digest: queues, types, interfaces, routes, firewall, tuning.
            It holds no accounts, tokens or other secrets, and no history.
          </p>
          <div className="row">
            <Button
              component="a"
              href="/api/v1/backup"
              download
              variant="filled"
              leftSection={<IconDownload size={15} />}
            >
              Download the configuration
            </Button>
          </div>
        </div>
      </Section>
      {may ? <RestoreSection /> : <Note severity="notice">{ONLY_READS}</Note>}
    </Page>
  );
}

function RestoreSection() {
  const [file, setFile] = useState<File | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const check = useCheck();
  const choose = (next: File | null) => {
    setFile(next);
    check.reset();
    if (next) check.mutate(next);
  };
  return (
    <Section title="Restore one">
      <div className="stack">
        <p className="dim">
          The file is read and compared first; nothing is changed before you say so. The restore is one
          revision, so the history can undo it.
        </p>
        <input
          ref={input}
          type="file"
          className="hidden-text"
          aria-label="Backup to restore"
          tabIndex={-1}
          onChange={(event) => choose(event.currentTarget.files?.[0] ?? null)}
        />
        <div className="row">
          <Button loading={check.isPending} onClick={() => input.current?.click()}>
            {file ? `${file.name} (${bytesText(file.size)})` : "Choose a file"}
          </Button>
        </div>
        {check.error ? (
          <Note severity="error" live>
            {asProblem(check.error).message} Nothing was changed.
          </Note>
        ) : null}
        {file && check.data ? (
          <Review
            key={`${file.name} ${file.lastModified}`}
            file={file}
            report={check.data}
            onDone={() => choose(null)}
          />
        ) : null}
      </div>
    </Section>
  );
}

function Review({ file, report, onDone }: { file: File; report: BackupReport; onDone: () => void }) {
  const [message, setMessage] = useState(`Restore of ${file.name}`);
  const [seconds, setSeconds] = useState(USUAL_WINDOW_S);
  const restore = useRestoreFile();
  const problem = restore.error ? asProblem(restore.error) : null;
  const nothing = report.counts.added + report.counts.changed + report.counts.removed === 0;
  const run = () =>
    restore.mutate({ file, message, confirmWithinS: seconds || undefined }, { onSuccess: onDone });
  return (
    <form
      className="stack"
      aria-label="Restore"
      onSubmit={(event) => {
        event.preventDefault();
        run();
      }}
    >
      <Facts
        items={[
          ["Taken", `${stampText(report.made_at)} on ${report.hostname}`],
          ["By release", report.release],
          ["Holds", `${plural(report.objects, "object")} of revision ${report.revision} there`],
          ["It would do", <strong key="counts">{countsText(report.counts)}</strong>],
        ]}
      />
      <Findings findings={report.findings} />
      {nothing ? <Note severity="ok">The router runs just this already.</Note> : null}
      {report.can_restore ? null : (
        <Note severity="error">It cannot be restored as it is, for the reasons above.</Note>
      )}
      <TextInput
        label="Why"
        description="The history keeps it beside your name."
        value={message}
        maxLength={1000}
        onChange={(event) => setMessage(event.currentTarget.value)}
      />
      <RollbackWindow seconds={seconds} onSeconds={setSeconds} />
      {problem ? (
        <Note severity="error" live>
          {problem.message} Nothing was changed.
        </Note>
      ) : null}
      {problem ? <Findings findings={problem.findings} /> : null}
      <div className="row">
        <ReasonedButton
          type="submit"
          variant="filled"
          color={report.counts.removed > 0 ? "red" : undefined}
          loading={restore.isPending}
          why={
            nothing
              ? "the router runs what is in the file already"
              : report.can_restore
                ? null
                : "the findings above have to be mended first"
          }
        >
          Restore: {countsText(report.counts)}
        </ReasonedButton>
        <Button onClick={onDone}>Not this one</Button>
      </div>
    </form>
  );
}

// SPDX-License-Identifier: Apache-2.0
import { Button, Modal, TextInput } from "@mantine/core";
import { useDebouncedCallback, useMediaQuery } from "@mantine/hooks";
import { useMutation } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api, need } from "@/api/client";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import { refreshConfig } from "@/api/queries";
import type { ImportReport } from "@/api/types";
import { rememberConfirmation, sayCommitted } from "@/api/writes";
import { RollbackWindow, USUAL_WINDOW_S } from "@/app/RollbackWindow";
import { Note } from "@/ui/blocks";
import { Findings, KernelText } from "@/ui/DiffView";
import { kindWords } from "@/kinds/names";
import { countsText } from "@/ui/effect";
import { countText, plural } from "@/ui/format";
import { say } from "@/ui/toast";
import { ReasonedButton } from "@/ui/ReasonedButton";
import classes from "./Import.module.css";
import { LineTable } from "./LineTable";
import { FATE_WORD, type Fate } from "./upload";

const FATES: readonly Fate[] = ["imported", "changed", "warning", "left_out"];
const TONE: Record<Fate, string> = { imported: "ok", changed: "dim", warning: "warn", left_out: "warn" };

export function ReportView({ report }: { report: ImportReport }) {
  const search = useSearch({ from: "/frame/import" });
  const navigate = useNavigate({ from: "/import" });
  const [asking, setAsking] = useState(false);
  const may = useMay("write");
  const cards = useMediaQuery("(max-width: 52em)", false, { getInitialValueInEffect: false });
  const setFate = (fate: Fate | undefined) =>
    void navigate({ search: (before) => ({ ...before, fate }), replace: true });
  const setQuery = useDebouncedCallback(
    (q: string) => void navigate({ search: (before) => ({ ...before, q: q || undefined }), replace: true }),
    200,
  );
  const nothing = report.counts.added + report.counts.changed + report.counts.removed === 0;
  const errors = report.findings.filter((finding) => finding.severity === "error");
  const ofFiles = report.findings.filter((finding) => finding.kind === "file");
  const others = report.findings.filter((finding) => finding.severity !== "error" && finding.kind !== "file");
  return (
    <>
      <div className={classes.summary}>
        <span className="grow">
          <strong>{report.file_names.join(", ")}</strong>{" "}
          <span className="dim">
            {nothing
              ? "changes nothing: everything in it is already so"
              : `${countsText(report.counts)} when committed; nothing is written yet`}
          </span>
        </span>
        <ReasonedButton
          variant="filled"
          why={
            !may
              ? "your account may look at everything here and change nothing"
              : nothing
                ? "everything in it is already so"
                : report.can_commit
                  ? null
                  : "the findings below have to be mended first"
          }
          onClick={() => setAsking(true)}
        >
          Commit this import
        </ReasonedButton>
      </div>
      <KindCounts report={report} />
      {ofFiles.length > 0 ? <Findings findings={ofFiles} /> : null}
      {errors.length > 0 ? <Findings findings={errors} /> : null}
      {others.length > 0 ? (
        <details className={classes.others}>
          <summary>{plural(others.length, "warning")} about the configuration as it would be</summary>
          <div className="stack-tight">
            <Findings findings={others} />
          </div>
        </details>
      ) : null}
      <div className={classes.fates} role="group" aria-label="Filter by fate">
        <button type="button" aria-pressed={search.fate === undefined} onClick={() => setFate(undefined)}>
          <strong>{countText(report.total_lines)}</strong>{" "}
          {report.total_lines === 1 ? "statement" : "statements"}
        </button>
        {FATES.map((fate) => (
          <button
            key={fate}
            type="button"
            aria-pressed={search.fate === fate}
            onClick={() => setFate(search.fate === fate ? undefined : fate)}
          >
            <strong className={report.summary[fate] > 0 ? TONE[fate] : "dim"}>
              {countText(report.summary[fate])}
            </strong>{" "}
            {fate === "warning" && report.summary[fate] !== 1 ? "warnings" : FATE_WORD[fate]}
          </button>
        ))}
        <TextInput
          aria-label="Search the lines"
          type="search"
          placeholder="Search the lines"
          defaultValue={search.q ?? ""}
          onChange={(event) => setQuery(event.currentTarget.value)}
        />
      </div>
      <LineTable report={report.id} fate={search.fate} q={search.q} cards={cards} />
      {asking ? <CommitImport report={report} onClose={() => setAsking(false)} /> : null}
    </>
  );
}

/** `12 firewall rules: 12 added`, for each kind that the import has to do with. */
function KindCounts({ report }: { report: ImportReport }) {
  if (report.kinds.length === 0) return null;
  return (
    <ul className={classes.kinds} aria-label="Objects by kind">
      {report.kinds.map((item) => (
        <li key={item.kind}>
          <strong>{plural(item.added + item.changed + item.removed, ...kindWords(item.kind))}</strong>{" "}
          <span className="dim">{countsText(item)}</span>
        </li>
      ))}
    </ul>
  );
}

function CommitImport({ report, onClose }: { report: ImportReport; onClose: () => void }) {
  const navigate = useNavigate();
  const [message, setMessage] = useState(`Import of ${report.file_names.join(", ")}`);
  const [seconds, setSeconds] = useState(USUAL_WINDOW_S);
  const commit = useMutation({
    mutationFn: (candidate: boolean) =>
      need(
        api.POST("/api/v1/import/reports/{report_id}/commit", {
          params: { path: { report_id: report.id } },
          body: { message, confirm_within_s: candidate ? null : seconds || null, candidate },
        }),
      ),
    onSuccess: async (answer) => {
      if ("revision" in answer) {
        rememberConfirmation(answer);
        sayCommitted("ok", answer);
      } else say("notice", "The import is among your pending changes.");
      await refreshConfig();
      onClose();
      const onlyQueues = report.kinds.every((item) => item.kind === "queue" || item.kind === "queue-type");
      await navigate({ to: onlyQueues ? "/queues" : "/" });
    },
    meta: { inline: true },
  });
  const problem = commit.error ? asProblem(commit.error) : null;
  return (
    <Modal opened onClose={onClose} title={`Import ${report.file_names.join(", ")}`} size="lg">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          commit.mutate(false);
        }}
      >
        <p>
          {countsText(report.counts)}.{" "}
          {report.summary.left_out > 0 ? (
            <span className="warn">
              {plural(report.summary.left_out, "statement is", "statements are")} left out.
            </span>
          ) : null}
        </p>
        <KernelText kernel={report.kernel} />
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
            {problem.findings.length > 0 ? "Not committed, for these reasons." : problem.message} Nothing was
            changed.
          </Note>
        ) : null}
        {problem ? <Findings findings={problem.findings} /> : null}
        <div className="row">
          <Button type="submit" variant="filled" loading={commit.isPending}>
            {seconds === 0 ? "Commit" : "Commit with timer"}
          </Button>
          <Button loading={commit.isPending} onClick={() => commit.mutate(true)}>
            Add to my pending changes
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Modal>
  );
}

// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useFailure } from "@/api/known";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import { findingsQuery } from "@/api/diagnosis";
import type { DiagnosisFinding, Findings as Answer, Remedy } from "@/api/types";
import { useRemedy } from "@/api/writes";
import { Note, Section, Skeleton } from "@/ui/blocks";
import { agoText, clause, sentence } from "@/ui/format";
import classes from "./Findings.module.css";

/** What ails the router, what was looked at, and what is not known (docs/diagnosis.md). */
export function Findings() {
  const query = useQuery(findingsQuery);
  const failure = useFailure(query);
  const found = failure === null ? query.data : undefined;
  return (
    <Section title="Findings" aside={<Looked found={found} />}>
      {failure !== null ? (
        <Note severity="warning" live>
          What ails the router is not known: {clause(asProblem(failure).message)}
        </Note>
      ) : found ? (
        <List found={found} />
      ) : (
        <Skeleton lines={3} />
      )}
    </Section>
  );
}

function Looked({ found }: { found: Answer | undefined }) {
  if (!found?.at) return null;
  return <span className="dim">looked at {agoText(found.at)}</span>;
}

function List({ found }: { found: Answer }) {
  return (
    <>
      {found.findings.map((finding) => (
        <Finding key={`${finding.code} ${finding.subject}`} finding={finding} />
      ))}
      <LookedAt found={found} />
      {found.trials.map((trial) => (
        <Note
          key={`${trial.at} ${trial.code} ${trial.remedy}`}
          severity={trial.outcome === "helped" ? "ok" : trial.outcome === "no-change" ? "warning" : "notice"}
        >
          {trial.remedy} against {trial.code} of {trial.subject} (revision {trial.revision}). {trial.sentence}
        </Note>
      ))}
      {found.not_looked_at.length > 0 ? (
        <>
          <p>Not looked at:</p>
          <ul className={classes.looks}>
            {found.not_looked_at.map((look) => (
              <li key={look.id} className="dim">
                {look.what}, because {look.reason}
              </li>
            ))}
          </ul>
        </>
      ) : null}
    </>
  );
}

/** All of it where nothing was found; beside findings, what has a figure. */
function LookedAt({ found }: { found: Answer }) {
  const isClean = found.findings.length === 0;
  const looks = found.looked_at.filter((look) => isClean || look.figure);
  if (looks.length === 0) return null;
  return (
    <>
      {isClean ? <p>Nothing was found. This was looked at:</p> : null}
      <ul className={classes.looks}>
        {looks.map((look) => (
          <li key={look.id}>{look.figure ? `${look.what}: ${look.figure}` : look.what}</li>
        ))}
      </ul>
    </>
  );
}

function Finding({ finding }: { finding: DiagnosisFinding }) {
  return (
    <Note severity={finding.severity}>
      <strong>{finding.title}.</strong> {sentence(finding.sentence)} Since {agoText(finding.since)} (
      {finding.evidence}).
      <ul>
        {finding.numbers.map((number) => (
          <li key={number.name}>
            <span className="mono">{number.name}</span> {number.shown}
            {number.threshold_shown === null ? null : <> (threshold {number.threshold_shown})</>}
          </li>
        ))}
        {finding.remedies.map((remedy) => (
          <li key={remedy.id}>
            {remedy.text} {remedy.cost === null ? null : <>Cost: {sentence(remedy.cost)} </>}
            <Apply finding={finding} remedy={remedy} />
          </li>
        ))}
      </ul>
      {finding.doubt === null ? null : <p>It could not be looked at lately, because {finding.doubt}.</p>}
    </Note>
  );
}

/** Commits the remedy on trial: it goes back by itself unless it is confirmed in the bar above. */
function Apply({ finding, remedy }: { finding: DiagnosisFinding; remedy: Remedy }) {
  const mayWrite = useMay("write");
  const apply = useRemedy();
  if (remedy.setting === null || !mayWrite) return null;
  return (
    <>
      <Button
        size="compact-xs"
        variant="default"
        loading={apply.isPending}
        onClick={() => apply.mutate({ code: finding.code, subject: finding.subject, remedy: remedy.id })}
      >
        Apply {remedy.setting} = {remedy.value} on trial
      </Button>
      {apply.isError ? <span role="alert"> {asProblem(apply.error).message}</span> : null}
    </>
  );
}

// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { useFailure } from "@/api/known";
import { asProblem } from "@/api/problem";
import { incidentsQuery } from "@/api/diagnosis";
import type { IncidentHead, Incidents as Answer } from "@/api/types";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Note, Section, SeverityIcon, Skeleton, Tag } from "@/ui/blocks";
import { clause, sentence, stampText } from "@/ui/format";
import { IncidentDetail } from "./IncidentDetail";
import classes from "./Incidents.module.css";

const WORDS: Readonly<Record<string, string>> = {
  "port-down": "Port without carrier",
  "port-gone": "Interface gone",
  "agent-away": "Agent away",
  rollback: "Rollback",
  "commit-failed": "Commit failed",
};

export const stateText = ({ state }: IncidentHead): string =>
  state === "recording" ? "recording" : state === "cut" ? "cut short" : "";

const COLUMNS: readonly Column<IncidentHead>[] = [
  {
    id: "at",
    title: "Began",
    render: (item) => (
      <Link
        from="/diagnostics"
        to="/diagnostics"
        search={(old) => ({ ...old, incident: item.id })}
        resetScroll={false}
        className="nowrap num"
      >
        {stampText(item.at)}
      </Link>
    ),
  },
  {
    id: "code",
    title: "What",
    render: (item) => (
      <span className="row nowrap">
        <SeverityIcon severity={item.severity} /> {WORDS[item.code] ?? item.code}
      </span>
    ),
  },
  { id: "sentence", title: "What it says", wide: true, render: (item) => sentence(item.sentence) },
  {
    id: "times",
    title: "Times",
    numeric: true,
    blank: true,
    render: (item) => (item.times > 1 ? item.times : null),
  },
  {
    id: "state",
    title: "State",
    blank: true,
    render: (item) => (stateText(item) ? <Tag>{stateText(item)}</Tag> : null),
  },
];

/** What began lately, each with the seconds around it (docs/diagnosis.md). */
export function Incidents() {
  const query = useQuery(incidentsQuery);
  const failure = useFailure(query);
  const found = failure === null ? query.data : undefined;
  const { incident } = useSearch({ from: "/frame/diagnostics" });
  return (
    <Section
      title="Incidents"
      aside={found ? <span className="dim">looked for since {stampText(found.since)}</span> : null}
    >
      {failure !== null ? (
        <Note severity="warning" live>
          What began lately is not known: {clause(asProblem(failure).message)}
        </Note>
      ) : found ? (
        <List found={found} current={incident} />
      ) : (
        <Skeleton lines={3} />
      )}
      {incident === undefined ? null : <IncidentDetail key={incident} id={incident} />}
    </Section>
  );
}

function List({ found, current }: { found: Answer; current: number | undefined }) {
  const minutes = found.around_s / 60;
  return (
    <>
      {found.problems.map((problem) => (
        <Note key={problem} severity="warning">
          {sentence(problem)}
        </Note>
      ))}
      {found.items.length > 0 ? (
        <div className={classes.list}>
          <SimpleTable
            caption="Incidents"
            columns={COLUMNS}
            rows={found.items}
            rowKey={(item) => String(item.id)}
            rowCurrent={(item) => item.id === current}
          />
        </div>
      ) : (
        <p>
          Nothing began since {stampText(found.since)}. When a finding begins, a port loses its carrier, the
          agent stops answering, a commit fails or is rolled back, the {minutes} minutes before and after are
          kept here, second by second.
        </p>
      )}
    </>
  );
}

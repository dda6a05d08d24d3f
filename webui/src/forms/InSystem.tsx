// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { asProblem } from "@/api/problem";
import { explanationQuery } from "@/api/queries";
import type { Explanation } from "@/api/types";
import { DECLARED, declaredLabel } from "@/kinds/kinds";
import { Note, SeverityIcon, Skeleton } from "@/ui/blocks";
import { stampText } from "@/ui/format";
import { Fold } from "./Fold";
import classes from "./InSystem.module.css";

type Line = Explanation["lines"][number];

const SEVERITY = (agrees: boolean | null) => (agrees === null ? "warning" : agrees ? "ok" : "error");
const AGREEMENT = (found: Explanation): string =>
  found.lines.length === 0
    ? "nothing in it is made of this now"
    : found.agrees === null
      ? "not all of it was read"
      : found.agrees
        ? "it is as configured"
        : "it differs from what is configured";

/** What became of a stored object: what was asked, what it was compiled to, and what the system has now. */
export function InSystem({ kind, id }: { kind: string; id: string }) {
  const declared = DECLARED.get(kind);
  const path = declared && (declared.isSingle ? declared.path : `${declared.path}/${encodeURIComponent(id)}`);
  const query = useQuery({ ...explanationQuery(path ?? ""), enabled: path !== undefined });
  if (path === undefined) return null;
  const found = query.data;
  const summary = found ? AGREEMENT(found) : query.isError ? "not known" : "being read…";
  return (
    <Fold title="In the system" summary={summary} open={found?.agrees === false}>
      {query.isError ? <Note severity="warning">{asProblem(query.error).message}</Note> : null}
      {query.isPending ? <Skeleton lines={2} /> : null}
      {found && found.lines.length > 0 ? (
        <ul className={classes.lines}>
          {found.lines.map((line, index) => (
            <Told key={index} kind={kind} line={line} />
          ))}
        </ul>
      ) : null}
      {found?.drift.map((item, index) => (
        <Note key={index} severity={item.repaired ? "notice" : "error"}>
          {item.repaired ? "Repaired" : "Still different"} in {item.part}
          {item.at ? `, ${stampText(item.at)}` : ""}: {item.what}
        </Note>
      ))}
    </Fold>
  );
}

function Told({ kind, line }: { kind: string; line: Line }) {
  return (
    <li>
      <SeverityIcon severity={SEVERITY(line.agrees)} />
      <dl>
        <dt>
          {declaredLabel(kind, line.field) ?? (line.field || line.part)}{" "}
          {line.field ? <span className="dim">{line.part}</span> : null}
        </dt>
        {line.asked && line.asked !== line.compiled ? <dd>asked: {line.asked}</dd> : null}
        {line.compiled ? <dd className="mono">{line.compiled}</dd> : null}
        {line.system === line.compiled ? null : (
          <dd>
            in the system: <span className="mono">{line.system}</span>
          </dd>
        )}
      </dl>
    </li>
  );
}

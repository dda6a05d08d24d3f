// SPDX-License-Identifier: Apache-2.0
import { IconMinus, IconPencil, IconPlus } from "@tabler/icons-react";
import type { ReactNode } from "react";
import type { Change, FieldChange, Finding, KernelEffect } from "@/api/types";
import { kindWords } from "@/kinds/names";
import { Note } from "./blocks";
import classes from "./DiffView.module.css";
import { costText, countsText, effectText, effectTone } from "./effect";
import { fieldWords, tellingFields, valueText } from "./fieldText";
import { plural, sentence } from "./format";

const ACTION = {
  add: { icon: IconPlus, word: "added", tone: "ok" },
  change: { icon: IconPencil, word: "changed", tone: "dim" },
  remove: { icon: IconMinus, word: "removed", tone: "warn" },
} as const;

/** Old and new of each field; what an added or removed object has by default is left out. */
export function FieldChanges({
  kind,
  fields,
  action,
  name,
}: {
  kind: string;
  fields: readonly FieldChange[];
  action: Change["action"];
  name: string;
}) {
  const shown = tellingFields(kind, fields, action, name);
  return (
    <dl className={classes.fields}>
      {shown.map((field) => (
        <div key={field.field} className={classes.field}>
          <dt>{fieldWords(kind, field.field)}</dt>
          <dd>
            {action === "add" ? null : <del>{valueText(kind, field.field, field.old)}</del>}
            {action === "change" ? <span aria-hidden="true"> → </span> : null}
            {action === "remove" ? null : <ins>{valueText(kind, field.field, field.new)}</ins>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function KernelText({ kernel }: { kernel: KernelEffect }) {
  if (!kernel.available)
    return (
      <Note severity="warning">
        What this does to the kernel is not known: {sentence(kernel.reason ?? "the agent does not answer")}
      </Note>
    );
  return (
    <>
      {kernel.effect === null ? <Note severity="warning">{costText(kernel)}</Note> : null}
      <details className={classes.kernel}>
        <summary>In the kernel: {countsText(kernel.counts)}. No other queue is touched.</summary>
        <ol>
          {kernel.steps.map((step, index) => (
            <li key={index}>
              <span className="dim">{step.backend}</span> {step.action}{" "}
              <span className="mono">{step.what}</span>
            </li>
          ))}
        </ol>
      </details>
    </>
  );
}

export function Findings({ findings }: { findings: readonly Finding[] }) {
  const shown = findings.slice(0, 20);
  return (
    <>
      {shown.map((finding, index) => (
        <Note key={index} severity={finding.severity}>
          {finding.message}
        </Note>
      ))}
      {findings.length > shown.length ? (
        <p className="dim">and {plural(findings.length - shown.length, "more finding")}</p>
      ) : null}
    </>
  );
}

interface DiffViewProps {
  changes: readonly Change[];
  total: number;
  kernel?: KernelEffect;
  findings?: readonly Finding[];
  /** False while findings and the effect on the kernel are still being worked out. */
  complete?: boolean;
  /** A button for each change, such as "take it back". */
  action?: (change: Change) => ReactNode;
}

export function DiffView({ changes, total, kernel, findings = [], complete = true, action }: DiffViewProps) {
  if (total === 0) return <p className="dim">There is no difference.</p>;
  return (
    <div className="stack">
      <Findings findings={findings} />
      <ul className={classes.list}>
        {changes.map((change) => {
          const style = ACTION[change.action];
          return (
            <li key={`${change.kind}/${change.id}`} className={classes.change}>
              <div className={classes.head}>
                <style.icon size={15} className={style.tone} aria-hidden="true" />
                <span className="grow">
                  <strong>{change.name || change.id}</strong>{" "}
                  <span className="dim">
                    {kindWords(change.kind)[0]} {style.word}
                  </span>
                </span>
                {action?.(change)}
              </div>
              {kernel && complete ? (
                <p className={classes.effect}>
                  Effect: <span className={effectTone(change.effect)}>{effectText(change.effect)}</span>
                </p>
              ) : null}
              <FieldChanges
                kind={change.kind}
                fields={change.fields}
                action={change.action}
                name={change.name || change.id}
              />
            </li>
          );
        })}
      </ul>
      {total > changes.length ? (
        <p className="dim">and {plural(total - changes.length, "more change")} of the same commit</p>
      ) : null}
      {complete ? null : (
        <p className="dim" role="status">
          Checking these changes and their effect on the kernel…
        </p>
      )}
      {kernel && complete ? <KernelText kernel={kernel} /> : null}
    </div>
  );
}

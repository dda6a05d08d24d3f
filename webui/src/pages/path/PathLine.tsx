// SPDX-License-Identifier: Apache-2.0
import type { PacketPath } from "@/api/types";
import { ObjectLink } from "@/kinds/links";
import { kindWords } from "@/kinds/names";
import { Tag } from "@/ui/blocks";
import { PLACES } from "./places";
import classes from "./PacketPath.module.css";

type Step = PacketPath["steps"][number];

const STATES: Record<Step["state"], readonly [string, "bad" | "warn" | "ok" | "accent" | undefined]> = {
  passes: ["Passes", "ok"],
  changes: ["Changes it", "accent"],
  waits: ["Waits", "warn"],
  drops: ["Drops it", "bad"],
  unknown: ["Not known", undefined],
};

/** The packet's way from where it comes in to where it leaves or is dropped (docs/diagnosis.md). */
export function PathAnswer({ found }: { found: PacketPath }) {
  return (
    <div role="status">
      <p className={classes.answer} data-fate={found.fate}>
        {found.sentence}
      </p>
      <ol className={classes.line} aria-label="The way of the packet">
        {found.steps.map((step, at) => (
          <StepItem key={at} step={step} />
        ))}
      </ol>
      <p className="dim">
        By revision {found.revision}
        {found.candidate ? " and what is pending" : ""}. No packet was sent.
      </p>
    </div>
  );
}

function StepItem({ step }: { step: Step }) {
  const [word, tone] = STATES[step.state];
  return (
    <li data-state={step.state}>
      <strong>{PLACES[step.at]}</strong>
      <span>
        <Tag {...(tone ? { tone } : {})}>{word}</Tag>
      </span>
      <span className={classes.text}>
        <span>
          {step.sentence} <Decided step={step} />
        </span>
        {step.details.map((text) => (
          <span key={text} className="dim">
            {text}
          </span>
        ))}
        {step.not_known.length > 0 ? (
          <span className="dim">Not known: {step.not_known.join("; ")}.</span>
        ) : null}
      </span>
    </li>
  );
}

/** What decided there, as a link to it. */
function Decided({ step }: { step: Step }) {
  if (step.kind === null || step.id === null) return null;
  const [one] = kindWords(step.kind);
  return (
    <ObjectLink kind={step.kind} id={step.id}>
      {step.kind === step.id ? one : `${one} ${step.id}`}
    </ObjectLink>
  );
}

// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import classes from "./Frame.module.css";

const KEPT = "weir.tour";
const OVER = "over";

/** What somebody who is new here would not find without a hint. */
const STEPS: readonly ReactNode[] = [
  <>
    <kbd>Ctrl</kbd>+<kbd>K</kbd> finds queues, addresses, pages and commands: try a customer's address.
  </>,
  <>
    <Link to="/queues">Queues</Link> are who may send how fast. <kbd>Enter</kbd> on a row edits its limits in
    place.
  </>,
  <>
    A change is pending at first: the bar at the bottom shows the difference. Nothing reaches a customer
    before the commit.
  </>,
  <>
    A commit with a timer undoes itself unless you keep it, so that nobody locks himself out.{" "}
    <Link to="/history">History</Link> restores any earlier state.
  </>,
  <>
    Each queue's page explains what was asked, compiled and is in the kernel. <kbd>?</kbd> lists the keys.
  </>,
];

const stepKept = (): number | null => {
  const kept = localStorage.getItem(KEPT);
  if (kept === OVER) return null;
  const step = Number(kept ?? 0);
  return Number.isInteger(step) && step >= 0 && step < STEPS.length ? step : 0;
};

/** Five hints, one at a time, on whatever page one is; once skipped or read to the end it does not come back. */
export function Tour() {
  const [step, setStep] = useState(stepKept);
  if (step === null) return null;
  const go = (next: number | null) => {
    localStorage.setItem(KEPT, next === null ? OVER : String(next));
    setStep(next);
  };
  const isLast = step === STEPS.length - 1;
  return (
    <section className={classes.tour} aria-label="Tour">
      <span className="dim" aria-live="polite">
        Tour, {step + 1} of {STEPS.length}
      </span>
      <span className="grow">{STEPS[step]}</span>
      {step > 0 ? (
        <Button size="compact-xs" onClick={() => go(step - 1)}>
          Step back
        </Button>
      ) : null}
      <Button size="compact-xs" onClick={() => go(isLast ? null : step + 1)}>
        {isLast ? "End the tour" : "Next hint"}
      </Button>
      {isLast ? null : (
        <Button size="compact-xs" variant="subtle" onClick={() => go(null)}>
          Skip the tour
        </Button>
      )}
    </section>
  );
}

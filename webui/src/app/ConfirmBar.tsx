// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { IconClockExclamation } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import { useMay } from "@/api/may";
import { refreshConfig, revisionDiffQuery, type PendingHere } from "@/api/queries";
import { putBackAction, useConfirm, useRevert } from "@/api/writes";
import { countsText } from "@/ui/effect";
import { useFocusBack } from "@/ui/focus";
import { clockText } from "@/ui/format";
import { say } from "@/ui/toast";
import { ReasonedButton } from "@/ui/ReasonedButton";
import classes from "./PendingBar.module.css";

function useCountdown(pending: PendingHere | null): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!pending) return;
    const timer = window.setInterval(() => setNow(Date.now()), 250);
    return () => window.clearInterval(timer);
  }, [pending]);
  return pending ? Math.max(0, (pending.deadlineMs - now) / 1000) : 0;
}

const clock = (seconds: number): string =>
  `${Math.floor(Math.ceil(seconds) / 60)}:${String(Math.ceil(seconds) % 60).padStart(2, "0")}`;

/** Says what became of a confirmation that went away without this tab having asked for it. */
function useOutcome(pending: PendingHere | null, left: number, decided: boolean): void {
  const may = useMay("support");
  const last = useRef<{ pending: PendingHere; left: number } | null>(null);
  useEffect(() => {
    const before = last.current;
    if (before && !pending && !decided && before.left < 3)
      say(
        "warning",
        `Revision ${before.pending.revision} was not kept in time: the router rolled back to revision ${before.pending.base_revision}.`,
        may ? putBackAction(before.pending) : undefined,
      );
    last.current = pending ? { pending, left } : null;
  }, [pending, left, decided, may]);
}

/** What the running confirmation holds, in numbers. */
function Held({ pending }: { pending: PendingHere }) {
  const counts = useQuery(revisionDiffQuery(pending.base_revision, pending.revision)).data?.counts;
  return (
    <Link
      className="inline-link"
      to="/history"
      search={{ from: pending.base_revision, to: pending.revision }}
    >
      {counts ? countsText(counts) : "what it holds"}
    </Link>
  );
}

const TOO_LATE = "the time is over, and the router is rolling back";

/** The bar goes away with its buttons. */
function FocusBack() {
  useFocusBack();
  return null;
}

export function ConfirmBar({ pending }: { pending: PendingHere | null }) {
  const left = useCountdown(pending);
  const keep = useConfirm();
  const revert = useRevert();
  const may = useMay("support");
  const expired = pending !== null && left === 0;
  useOutcome(pending, left, keep.isSuccess || revert.isSuccess || keep.isPending || revert.isPending);
  useEffect(() => {
    if (!expired) return;
    const timer = window.setInterval(() => void refreshConfig(), 1_000);
    return () => window.clearInterval(timer);
  }, [expired]);
  useEffect(() => {
    if (pending) {
      keep.reset();
      revert.reset();
    }
    // A new confirmation starts with a clean slate.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [pending?.revision]);
  if (!pending) return null;
  return (
    <section className={`${classes.bar} ${classes.confirm}`} aria-label="Confirmation">
      <FocusBack />
      <IconClockExclamation size={18} className="warn" aria-hidden="true" />
      <span className={classes.clock} role="timer" aria-label={`${Math.ceil(left)} seconds left`}>
        {clock(left)}
      </span>
      <span className={classes.text}>
        <strong>Revision {pending.revision}</strong>{" "}
        {expired ? "is being rolled back" : "rolls back by itself unless it is kept"}{" "}
        <span className="dim">
          <Held pending={pending} />, begun by {pending.author} at {clockText(pending.started_at)}
          {pending.message ? `: ${pending.message}` : ""}
        </span>
      </span>
      {may ? (
        <>
          <ReasonedButton
            variant="filled"
            loading={keep.isPending}
            why={expired ? TOO_LATE : null}
            onClick={() => keep.mutate(pending.revision)}
          >
            Keep
          </ReasonedButton>
          <ReasonedButton
            loading={revert.isPending}
            why={expired ? TOO_LATE : null}
            onClick={() => revert.mutate()}
          >
            Revert now
          </ReasonedButton>
        </>
      ) : null}
    </section>
  );
}

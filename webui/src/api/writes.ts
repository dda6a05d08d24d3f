// SPDX-License-Identifier: Apache-2.0
import { useMutation, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { costText } from "@/ui/effect";
import { plural } from "@/ui/format";
import { say, type ToastAction } from "@/ui/toast";
import { api, need } from "./client";
import { putAgreed } from "./elsewhere";
import { asProblem } from "./problem";
import { findingsQuery } from "./diagnosis";
import {
  CANDIDATE,
  candidateQuery,
  pendingQuery,
  queryClient,
  refreshConfig,
  stagedRowsQuery,
} from "./queries";
import {
  drop,
  keyOf,
  OVERLAY_LIMIT,
  put,
  stageChecked,
  stagedAll,
  stageMove,
  type Place,
  type Staged,
} from "./staging";
import { stageEdited, type FormEdit } from "./trial";
import { forgetSteps, MOST_UNDONE, newestStep, remember, undoStep, type Step } from "./undo";
import type { Change, ChangeInput, CommitAnswer, Kind, Queue, QueueInput } from "./types";

/**
 * Every edit in the browser is staged first: it joins the user's pending changes and touches
 * nothing until it is committed from the bar at the bottom of the page.
 */

const STAGE_BATCH = 2_000;
/** As many are checked while they are staged, so that a form can show the errors. */
const CHECKED_AT_ONCE = 20;

export async function stageChanges(given: readonly ChangeInput[]): Promise<Staged> {
  // Of more staged changes than are read, the versions are not known here.
  const isKnown = (queryClient.getQueryData(candidateQuery.queryKey)?.change_count ?? 0) <= OVERLAY_LIMIT;
  const changes = isKnown ? given : given.map((change) => ({ ...change, base: null }));
  try {
    return changes.length <= CHECKED_AT_ONCE ? await stageChecked(changes) : await stageMany(changes);
  } finally {
    await queryClient.invalidateQueries({ queryKey: CANDIDATE });
  }
}

/** What the router thinks of so many is left to the diff; they can be undone all the same. */
async function stageMany(changes: readonly ChangeInput[]): Promise<Staged> {
  const before = await stagedAll(MOST_UNDONE);
  for (let at = 0; at < changes.length; at += STAGE_BATCH)
    await putAgreed(changes.slice(at, at + STAGE_BATCH), put);
  const after = before && (await stagedAll(MOST_UNDONE));
  if (before === null || after === null) forgetSteps();
  else {
    const versions = new Map(before.map((change) => [keyOf(change), change]));
    remember(
      after.filter((change) => versions.get(keyOf(change))?.etag !== change.etag),
      versions,
    );
  }
  return "mine";
}

/** Says what was staged, with a way back. */
export function sayStaged(text: string): void {
  const step = newestStep();
  say("notice", text, step && { label: "Undo", run: () => tell(undoStaged(step)) });
}

/** What is begun from a toast has no place of its own for its error. */
const tell = (work: Promise<unknown>): void =>
  void work.catch((error: unknown) => say("error", asProblem(error).message));

async function undoStaged(step: Step | undefined): Promise<number> {
  try {
    const count = await undoStep(step);
    say("notice", `Undone: ${plural(count, "staged change")}.`);
    return count;
  } finally {
    await queryClient.invalidateQueries({ queryKey: CANDIDATE });
  }
}

/** `inline`: the caller shows the problem at its fields, so no message is raised elsewhere. */
export const useStage = (inline = false) => useMutation({ mutationFn: stageChanges, meta: { inline } });

/** Of an object of an ordered kind, whose list is at `path`. */
export const useStageMove = () =>
  useMutation({
    mutationFn: async (move: { path: string; id: string; place: Place }): Promise<Staged> => {
      try {
        return await stageMove(move.path, move.id, move.place);
      } finally {
        await queryClient.invalidateQueries({ queryKey: CANDIDATE });
      }
    },
  });

/** Of a form: its own errors and the router's come back together. */
export const useStageForm = () =>
  useMutation({
    mutationFn: async (edit: FormEdit): Promise<Staged> => {
      try {
        return await stageEdited(edit);
      } finally {
        await queryClient.invalidateQueries({ queryKey: CANDIDATE });
      }
    },
    meta: { inline: true },
  });

/** Undoes what was staged last in this tab. */
export const useUndo = () =>
  useMutation({
    mutationFn: () => undoStaged(newestStep()),
  });

export const useUnstage = () =>
  useMutation({
    mutationFn: async (change: Pick<Change, "kind" | "id">) => {
      await drop(change);
      await queryClient.invalidateQueries({ queryKey: CANDIDATE });
    },
  });

export const useDiscard = () =>
  useMutation({
    mutationFn: async () => {
      const staged = await stagedAll(MOST_UNDONE);
      await need(api.DELETE("/api/v1/candidate"));
      forgetSteps();
      await queryClient.invalidateQueries({ queryKey: CANDIDATE });
      return staged;
    },
    onSuccess: (staged) =>
      say(
        "notice",
        "The pending changes were discarded.",
        staged?.length ? { label: "Undo", run: () => tell(stageAgain(staged)) } : undefined,
      ),
  });

/** Stages what was staged or committed before, on whatever is there now. */
async function stageAgain(changes: readonly Pick<Change, "kind" | "id" | "new">[]): Promise<void> {
  await stageChanges(changes.map(({ kind, id, new: next }) => ({ kind, id, new: next, base: null })));
  sayStaged(`${plural(changes.length, "change")} put back. Pending until committed.`);
}

const DIFF_PAGE = 1_000;

async function changesBetween(from: number, to: number): Promise<Pick<Change, "kind" | "id" | "new">[]> {
  const found: Pick<Change, "kind" | "id" | "new">[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await need(
      api.GET("/api/v1/revisions/{from_number}/diff/{to_number}", {
        params: {
          path: { from_number: from, to_number: to },
          query: { limit: DIFF_PAGE, ...(cursor ? { cursor } : {}) },
        },
      }),
    );
    found.push(...page.changes);
    cursor = page.next_cursor;
  } while (cursor);
  return found;
}

/** What a revision held that was rolled back, as pending changes again. */
export const putBackAction = (pending: { revision: number; base_revision: number }): ToastAction => ({
  label: "Put back as pending",
  run: () => tell(changesBetween(pending.base_revision, pending.revision).then(stageAgain)),
});

export const useResolve = () =>
  useMutation({
    mutationFn: async (keep: "mine" | "theirs") => {
      await need(api.POST("/api/v1/candidate/resolve", { body: { keep } }));
      await queryClient.invalidateQueries({ queryKey: CANDIDATE });
    },
  });

export interface CommitOptions {
  message: string;
  confirm_within_s: number | null;
}

/** The confirmation token of a commit made in this tab: it lets this tab confirm even after a new sign-in. */
const TOKEN_KEY = "weir.confirm";

export function rememberConfirmation(answer: CommitAnswer): void {
  if (answer.pending?.token)
    sessionStorage.setItem(
      TOKEN_KEY,
      JSON.stringify({ revision: answer.revision, token: answer.pending.token }),
    );
}

function confirmationToken(revision: number): string | null {
  const kept = JSON.parse(sessionStorage.getItem(TOKEN_KEY) ?? "null") as {
    revision: number;
    token: string;
  } | null;
  return kept?.revision === revision ? kept.token : null;
}

async function committed(answer: CommitAnswer): Promise<CommitAnswer> {
  rememberConfirmation(answer);
  forgetSteps();
  await refreshConfig();
  return answer;
}

export const committedText = (answer: CommitAnswer): string => {
  const ms = answer.kernel.apply_ms;
  const cost = answer.kernel.effect === "hitless" ? "" : ` ${costText(answer.kernel)}`;
  return `Revision ${answer.revision} is running${ms === null ? "" : `, applied in ${ms.toFixed(1)} ms`}.${cost}`;
};

/** Runs the revision before again, unless another one was committed since. */
async function undoCommit({ revision, base_revision }: CommitAnswer): Promise<void> {
  const { revision: head } = await need(api.GET("/api/v1/config/pending"));
  if (head !== revision)
    throw new Error(`Revision ${head} was committed since. History shows it, and restores any revision.`);
  const answer = await need(
    api.POST("/api/v1/revisions/{number}/restore", {
      params: { path: { number: base_revision } },
      body: { message: `Undo of revision ${revision}`, confirm_within_s: null },
    }),
  );
  say("ok", committedText(await committed(answer)));
}

/** Says what runs now, with a way back; without one where nothing was changed. */
export const sayCommitted = (severity: "ok" | "warning", answer: CommitAnswer): void =>
  say(
    severity,
    committedText(answer),
    answer.revision === answer.base_revision || answer.pending
      ? undefined
      : { label: "Undo", run: () => tell(undoCommit(answer)) },
  );

export const useCommit = () =>
  useMutation({
    mutationFn: async (options: CommitOptions) =>
      committed(await need(api.POST("/api/v1/candidate/commit", { body: options }))),
    onSuccess: (answer) => {
      // While the timer runs, its bar says what was committed: only what it cost is left to be said.
      const isFree = answer.kernel.effect === "hitless";
      if (!answer.pending) sayCommitted(isFree ? "ok" : "warning", answer);
      else if (!isFree) say("warning", costText(answer.kernel));
    },
    meta: { inline: true },
  });

/** Seconds in which a remedy has to be confirmed: the router needs 35 to measure whether it helps. */
const TRIAL_S = 300;

export interface AppliedRemedy {
  code: string;
  subject: string;
  remedy: string;
}

/** Commits a remedy of a finding; it goes back by itself unless it is confirmed. */
export const useRemedy = () =>
  useMutation({
    mutationFn: async (remedy: AppliedRemedy) => {
      const body = { ...remedy, confirm_within_s: TRIAL_S };
      const answer = await need(api.POST("/api/v1/diagnosis/apply", { body }));
      await committed(answer.committed);
      await queryClient.invalidateQueries({ queryKey: findingsQuery.queryKey });
      return answer;
    },
    meta: { inline: true },
  });

export const useRestore = () =>
  useMutation({
    mutationFn: async ({ revision, ...body }: CommitOptions & { revision: number }) =>
      committed(
        await need(
          api.POST("/api/v1/revisions/{number}/restore", { params: { path: { number: revision } }, body }),
        ),
      ),
    onSuccess: (answer) => sayCommitted("ok", answer),
    meta: { inline: true },
  });

export const useConfirm = () =>
  useMutation({
    mutationFn: async (revision: number) => {
      await need(
        api.POST("/api/v1/config/confirm", { body: { revision, token: confirmationToken(revision) } }),
      );
      await refreshConfig();
    },
    onSuccess: () => say("ok", "The change is kept. It is permanent now."),
  });

export const useRevert = () =>
  useMutation({
    mutationFn: async () => {
      const { pending } = await queryClient.query(pendingQuery);
      await need(api.POST("/api/v1/config/revert"));
      await refreshConfig();
      return pending;
    },
    onSuccess: (pending) =>
      say(
        "notice",
        "Reverted. The router runs as before the change.",
        pending ? putBackAction(pending) : undefined,
      ),
  });

/** The version that a change is made on: what is staged of the object, or else what runs; "" where its removal is staged. */
export const baseOf = (change: Change | undefined, etag: string | null | undefined): string =>
  change?.action === "remove" ? "" : (change?.etag ?? (etag || "none"));

/** What may be sent back of a queue that was read. */
export function queueInput(queue: Queue): QueueInput {
  const {
    id: _id,
    etag: _etag,
    path: _path,
    child_count: _children,
    enforcement: _enforcement,
    warnings: _warnings,
    ...input
  } = queue;
  return input;
}

/** The user's pending changes by `kind/id`, to show them in lists before they run. */
export function useStagedChanges(kind: Kind): ReadonlyMap<string, Change> {
  const candidate = useQuery(candidateQuery).data;
  const some = (candidate?.change_count ?? 0) > 0;
  const diff = useQuery({ ...stagedRowsQuery(OVERLAY_LIMIT), enabled: some }).data;
  return useMemo(
    () =>
      new Map(
        (some ? (diff?.changes ?? []) : [])
          .filter((change) => change.kind === kind)
          .map((change) => [change.id, change]),
      ),
    [some, diff, kind],
  );
}

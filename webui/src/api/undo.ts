// SPDX-License-Identifier: Apache-2.0
import { ApiProblem } from "./problem";
import { keyOf, stagedNow, takeBack, type Undo } from "./staging";
import type { Change } from "./types";

/** One staging, so that it can be taken back as one. */
type Step = readonly (Undo & { etag: string })[];

const MOST_STEPS = 50;
let steps: readonly Step[] = [];

/** Remembers what was staged in this tab, and what was there before. */
export function remember(mine: readonly Change[], before: ReadonlyMap<string, Change>): void {
  if (mine.length === 0) return;
  steps = [
    ...steps.slice(1 - MOST_STEPS),
    mine.map((change) => ({
      kind: change.kind,
      id: change.id,
      etag: change.etag ?? "",
      previous: before.get(keyOf(change))?.new,
    })),
  ];
}

/** After a staging that is too large to be taken back one by one, or when nothing is pending any more. */
export function forgetSteps(): void {
  steps = [];
}

const refused = (detail: string): ApiProblem =>
  new ApiProblem({ status: 409, code: "no-undo", detail, path: null, findings: [] });

/** What was put back has a new version: the steps before are made on it. */
export async function renewSteps(back: readonly Pick<Change, "kind" | "id">[]): Promise<void> {
  const keys = new Set(back.map(keyOf));
  if (!steps.some((step) => step.some((item) => keys.has(keyOf(item))))) return;
  const now = new Map((await stagedNow(false))?.changes.map((change) => [keyOf(change), change.etag]));
  steps = steps.map((step) =>
    step.map((item) => (keys.has(keyOf(item)) ? { ...item, etag: now.get(keyOf(item)) ?? item.etag } : item)),
  );
}

/** Undoes the newest staging of this tab. Raises `ApiProblem` where there is none, or another window changed it. */
export async function undoLast(): Promise<number> {
  const step = steps.at(-1);
  if (!step)
    throw refused(
      "nothing was staged in this tab that could be taken back; the bar below discards all pending changes",
    );
  const now = new Map((await stagedNow(false))?.changes.map((change) => [keyOf(change), change]));
  if (step.some((item) => now.get(keyOf(item))?.etag !== item.etag)) {
    steps = steps.slice(0, -1);
    throw refused(
      "what was staged last is no longer pending, or was changed in another window; nothing was taken back",
    );
  }
  for (const item of step) await takeBack(item);
  steps = steps.slice(0, -1);
  await renewSteps(step);
  return step.length;
}

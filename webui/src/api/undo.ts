// SPDX-License-Identifier: Apache-2.0
import { ApiProblem } from "./problem";
import { dropAll, keyOf, put, stagedAll, type Undo } from "./staging";
import type { Change } from "./types";

/** One staging, so that it can be undone as one. */
export type Step = readonly (Undo & { etag: string })[];

const MOST_STEPS = 50;
/** A staging of more changes cannot be undone by itself: to know their versions would take too long. */
export const MOST_UNDONE = 10_000;
const AT_ONCE = 2_000;
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

/** The staging that was remembered last. */
export const newestStep = (): Step | undefined => steps.at(-1);

/** After a staging that is too large to be undone by itself, or when nothing is pending any more. */
export function forgetSteps(): void {
  steps = [];
}

const refused = (detail: string): ApiProblem =>
  new ApiProblem({ status: 409, code: "no-undo", detail, path: null, findings: [] });

/** What was put back has a new version: the steps before are made on it. */
export async function renewSteps(back: readonly Pick<Change, "kind" | "id">[]): Promise<void> {
  const keys = new Set(back.map(keyOf));
  if (!steps.some((step) => step.some((item) => keys.has(keyOf(item))))) return;
  const staged = (await stagedAll(MOST_UNDONE)) ?? [];
  const now = new Map(staged.map((change) => [keyOf(change), change.etag]));
  steps = steps.map((step) =>
    step.map((item) => (keys.has(keyOf(item)) ? { ...item, etag: now.get(keyOf(item)) ?? item.etag } : item)),
  );
}

const partsOf = <T>(items: readonly T[]): T[][] =>
  Array.from({ length: Math.ceil(items.length / AT_ONCE) }, (_, part) =>
    items.slice(part * AT_ONCE, (part + 1) * AT_ONCE),
  );

/** Stages again what was staged before, and takes out what was not; each only if nobody changed it since. */
async function takeStepBack(step: Step): Promise<void> {
  const added = step.filter((item) => item.previous === undefined);
  const replaced = step.filter((item) => item.previous !== undefined);
  for (const part of partsOf(added))
    await dropAll(part.map(({ kind, id, etag }) => ({ kind, id, base: etag || null })));
  for (const part of partsOf(replaced))
    await put(part.map(({ kind, id, etag, previous }) => ({ kind, id, base: etag, new: previous ?? null })));
}

/** Undoes one staging of this tab. Raises `ApiProblem` where it is pending no more, or another window changed it. */
export async function undoStep(step: Step | undefined): Promise<number> {
  if (!step || !steps.includes(step))
    throw refused(
      "nothing was staged in this tab that could be undone; the bar below discards all pending changes",
    );
  const at = steps.indexOf(step);
  try {
    await takeStepBack(step);
  } catch (error) {
    if (!(error instanceof ApiProblem && [404, 409, 412].includes(error.status))) throw error;
    steps = steps.filter((other) => other !== step);
    throw refused(
      "what was staged is no longer pending, or was changed in another window or by a later edit; nothing was undone",
    );
  }
  steps = steps.filter((_, index) => index !== at);
  await renewSteps(step);
  return step.length;
}

// SPDX-License-Identifier: Apache-2.0
import { ApiProblem, asProblem, formField } from "./problem";
import {
  keyOf,
  OVERLAY_LIMIT,
  put,
  stageChecked,
  stagedNow,
  takeBack,
  type Staged,
  type Undo,
} from "./staging";
import { renewSteps } from "./undo";
import type { ChangeInput, Finding } from "./types";

/**
 * A form shows all of its errors at once: its own, what the router cannot read, and what validation says of the rest.
 * To hear the last, the object is staged for a moment with valid values where it is wrong, and taken back.
 */
export interface FormEdit {
  change: ChangeInput;
  /** What the form itself found, by field. */
  own: Record<string, string>;
  /** The object before it was edited: its values stand for the wrong ones. */
  instead: Record<string, unknown>;
}

type Body = Record<string, unknown>;

/** A field can be wrong, then its old value, then whatever holds it. */
const MOST_ROUNDS = 5;
const KEPT = "weir.trial";

const isBody = (value: unknown): value is Body =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const topOf = (field: string): string => field.split(".", 1)[0] ?? "";
const fieldOf = (finding: Finding): string => formField(finding.field ?? "");
const isError = (finding: Finding): boolean => finding.severity === "error";

/** The object with another's value at a field such as `max_limit_bps.upload`; without the whole member where the other has none. */
export function withField(object: Body, field: string, other: Body): Body {
  const [top = "", ...below] = field.split(".");
  const [mine, theirs] = [object[top], other[top]];
  if (below.length > 0 && isBody(mine) && isBody(theirs))
    return { ...object, [top]: withField(mine, below.join("."), theirs) };
  const { [top]: _wrong, ...rest } = object;
  return theirs === undefined ? rest : { ...rest, [top]: theirs };
}

/** Undoes a trial whose end was lost: the tab was closed, or the router was out of reach. */
export async function endTrial(): Promise<void> {
  const kept = localStorage.getItem(KEPT);
  if (kept === null) return;
  const undo = JSON.parse(kept) as Undo;
  try {
    await takeBack(undo);
    await renewSteps([undo]);
  } catch (error) {
    if (asProblem(error).status !== 404) throw error;
  }
  localStorage.removeItem(KEPT);
}

/** What the router says of one object; nothing of it stays staged. Raises `ApiProblem` (422) where it cannot be read. */
async function judged(change: ChangeInput & { id: string }): Promise<readonly Finding[]> {
  const before = await stagedNow(false);
  if (before && before.total > OVERLAY_LIMIT) return [];
  localStorage.setItem(
    KEPT,
    JSON.stringify({
      kind: change.kind,
      id: change.id,
      previous: before?.changes.find((item) => keyOf(item) === keyOf(change))?.new,
    } satisfies Undo),
  );
  try {
    await put([change]);
  } catch (error) {
    // Nothing was staged, except where the answer was lost.
    if (asProblem(error).status >= 400) localStorage.removeItem(KEPT);
    throw error;
  }
  try {
    const after = await stagedNow(true);
    return (after?.findings ?? []).filter((finding) => isError(finding) && keyOf(finding) === keyOf(change));
  } finally {
    await endTrial();
  }
}

/** The router's errors in what is not wrong already. */
async function othersThan(
  wrong: readonly string[],
  { change, instead }: FormEdit,
): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  const replaced = new Set<string>();
  let object = change.new ?? {};
  let next = wrong;
  for (let round = 0; round < MOST_ROUNDS && next.length > 0; round++) {
    for (const field of next)
      object = withField(
        object,
        replaced.has(field) ? topOf(field) : field,
        replaced.has(field) ? {} : instead,
      );
    for (const field of next) replaced.add(field);
    const id =
      change.id === null || wrong.includes("id")
        ? `trial-${Math.random().toString(36).slice(2, 8)}`
        : change.id;
    try {
      found.push(
        ...(await judged({ ...change, id, new: object, base: id === change.id ? change.base : null })),
      );
      break;
    } catch (error) {
      const problem = asProblem(error);
      // Out of reach, or another window was quicker: what is known is shown.
      if (problem.status !== 422) break;
      next = problem.findings.filter(isError).map(fieldOf).filter(Boolean);
      found.push(...problem.findings.filter((finding) => !replaced.has(fieldOf(finding))));
    }
  }
  return found.filter(
    (finding) => !wrong.some((field) => fieldOf(finding) === field || topOf(field) === fieldOf(finding)),
  );
}

const asFinding = ({ kind, id }: ChangeInput, field: string, message: string): Finding => ({
  severity: "error",
  code: "form",
  message,
  kind,
  id: id ?? "",
  field,
});

function refused({ change }: FormEdit, findings: readonly Finding[]): ApiProblem {
  const first = findings[0];
  return new ApiProblem({
    status: 422,
    code: "invalid",
    detail: first?.message ?? "This cannot be staged.",
    path: `${change.kind}/${change.id ?? ""}`,
    findings: [...findings],
  });
}

/** Stages what a form holds. Raises `ApiProblem` with the findings of all sides where something is wrong with it. */
export async function stageEdited(edit: FormEdit): Promise<Staged> {
  await endTrial();
  const own = Object.entries(edit.own).map(([field, message]) => asFinding(edit.change, field, message));
  if (own.length > 0) throw refused(edit, [...own, ...(await othersThan(Object.keys(edit.own), edit))]);
  try {
    return await stageChecked([edit.change]);
  } catch (error) {
    const problem = asProblem(error);
    const unread = problem.findings.filter(isError);
    // Validation names everything that it finds; a body that cannot be read is not validated.
    if (
      problem.status !== 422 ||
      unread.length === 0 ||
      edit.change.new === null ||
      problem.path === keyOf({ kind: edit.change.kind, id: unread[0]?.id ?? "" })
    )
      throw error;
    throw refused(edit, [...unread, ...(await othersThan(unread.map(fieldOf).filter(Boolean), edit))]);
  }
}

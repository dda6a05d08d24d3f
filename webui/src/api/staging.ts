// SPDX-License-Identifier: Apache-2.0
import { api, need } from "./client";
import { putAgreed } from "./elsewhere";
import { ApiProblem } from "./problem";
import { remember, renewSteps } from "./undo";
import type { CandidateDiff, Change, ChangeInput } from "./types";

/** More staged changes than these are not read to the end. */
export const OVERLAY_LIMIT = 500;

/** Whose change is staged now: another window's may have been kept. */
export type Staged = "mine" | "theirs";

export const put = (changes: ChangeInput[]) =>
  need(
    api.PUT("/api/v1/candidate/changes", {
      // What fits the kind is the router's to say: forms send wrong values on purpose, to show all errors at once.
      body: { changes: changes.map((change) => ({ ...change, base: change.base || null })) } as never,
    }),
  );
export const drop = (change: Pick<Change, "kind" | "id">) =>
  need(
    api.DELETE("/api/v1/candidate/changes/{kind}/{object_id}", {
      params: { path: { kind: change.kind, object_id: change.id } },
    }),
  );
export const keyOf = (change: { kind: string; id: string }): string => `${change.kind}/${change.id}`;

/** What is staged; without its effect there are no findings either. */
export async function stagedNow(effect: boolean): Promise<CandidateDiff | null> {
  const { candidate } = await need(api.GET("/api/v1/candidate"));
  if (!candidate || candidate.change_count === 0) return null;
  return need(
    api.GET("/api/v1/candidate/diff", {
      params: { query: { limit: OVERLAY_LIMIT, effect } },
    }),
  );
}

const PAGE = 1_000;

/** All that is staged, or null where that is more than `most`. */
export async function stagedAll(most: number): Promise<readonly Change[] | null> {
  const { candidate } = await need(api.GET("/api/v1/candidate"));
  if (!candidate) return [];
  if (candidate.change_count > most) return null;
  const found: Change[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await need(
      api.GET("/api/v1/candidate/diff", {
        params: { query: { limit: PAGE, effect: false, ...(cursor ? { cursor } : {}) } },
      }),
    );
    found.push(...page.changes);
    cursor = page.next_cursor;
  } while (cursor);
  return found;
}

/** Takes the changes of many objects out, all or none; each only if it is still the version named. */
export const dropAll = (changes: readonly (Pick<Change, "kind" | "id"> & { base: string | null })[]) =>
  need(api.POST("/api/v1/candidate/unstage", { body: { changes: [...changes] } }));

export interface Undo extends Pick<Change, "kind" | "id"> {
  /** What was staged of the object before; undefined: nothing. */
  previous: Change["new"] | undefined;
}

/** Stages again what was staged before, or nothing. */
export async function takeBack({ kind, id, previous }: Undo): Promise<void> {
  if (previous !== undefined) await put([{ kind, id, new: previous }]);
  else await drop({ kind, id });
}

/**
 * Stages a few changes and asks the router what it thinks of them. What would be refused at the
 * commit is taken back at once and reported, so that the form can show it at its field.
 */
export async function stageChecked(wanted: readonly ChangeInput[]): Promise<Staged> {
  const before = await stagedByKey();
  const changes = await putAgreed(wanted, put);
  if (changes.length === 0) return "theirs";
  const asked = new Set(
    changes.flatMap((change) => (change.id === null ? [] : [`${change.kind}/${change.id}`])),
  );
  return checked(before, (change) => asked.has(keyOf(change)) || !before.has(keyOf(change)));
}

/** The neighbour that an object is put next to; neither: to the end of its list. */
export interface Place {
  before: string | null;
  after: string | null;
}

/** Stages a move in the order of a kind, which may change its neighbours, too. */
export async function stageMove(path: string, id: string, place: Place): Promise<Staged> {
  const before = await stagedByKey();
  await need(
    // Every ordered kind is moved like this one.
    api.POST(`/api/v1/${path}/{rule_id}/move` as "/api/v1/firewall-rules/{rule_id}/move", {
      params: { path: { rule_id: id }, query: { candidate: true } },
      body: place,
    }),
  );
  return checked(before, (change) => before.get(keyOf(change))?.etag !== change.etag);
}

const stagedByKey = async (): Promise<ReadonlyMap<string, Change>> =>
  new Map((await stagedNow(false))?.changes.map((change) => [keyOf(change), change]));

/** Of what was just staged: taken back if the router would refuse it, or else remembered for an undo. */
async function checked(
  before: ReadonlyMap<string, Change>,
  isMine: (change: Change) => boolean,
): Promise<Staged> {
  const after = await stagedNow(true);
  const mine = (after?.changes ?? []).filter(isMine);
  const keys = new Set(mine.map(keyOf));
  const findings = (after?.findings ?? []).filter((finding) => keys.has(keyOf(finding)));
  const first = findings.find((finding) => finding.severity === "error");
  if (!first) {
    remember(mine, before);
    return "mine";
  }
  for (const change of mine)
    await takeBack({ kind: change.kind, id: change.id, previous: before.get(keyOf(change))?.new });
  await renewSteps(mine);
  throw new ApiProblem({ status: 422, code: "invalid", detail: first.message, path: keyOf(first), findings });
}

// SPDX-License-Identifier: Apache-2.0
import { api, need } from "./client";
import { ApiProblem } from "./problem";
import type { Change, ChangeInput } from "./types";

/** Two windows of one account changed the same object: the second is asked whose change stays. */
export interface Dispute {
  mine: ChangeInput;
  /** What is staged now; null: it was committed or discarded meanwhile. */
  theirs: Change | null;
}
export type Whose = "mine" | "theirs";

export interface OpenDispute extends Dispute {
  answer: (whose: Whose) => void;
}

let open: OpenDispute | null = null;
const listeners = new Set<() => void>();

function set(next: OpenDispute | null): void {
  open = next;
  for (const listener of listeners) listener();
}

export const disputes = {
  subscribe: (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  now: () => open,
  /** Nobody is there to answer: what is staged stays. */
  giveWay: () => open?.answer("theirs"),
};

const ask = (dispute: Dispute): Promise<Whose> =>
  new Promise((resolve) => {
    set({
      ...dispute,
      answer: (whose) => {
        set(null);
        resolve(whose);
      },
    });
  });

const OTHERS = 500;

async function stagedOf(change: ChangeInput): Promise<Change | null> {
  const { candidate } = await need(api.GET("/api/v1/candidate"));
  if (!candidate) return null;
  const diff = await need(
    api.GET("/api/v1/candidate/diff", { params: { query: { limit: OTHERS, effect: false } } }),
  );
  return diff.changes.find((item) => item.kind === change.kind && item.id === change.id) ?? null;
}

/** Which of the changes was made on another version than there is now. */
function refusedOf(changes: readonly ChangeInput[], error: unknown): ChangeInput | undefined {
  if (!(error instanceof ApiProblem) || ![404, 409, 412].includes(error.status)) return undefined;
  return changes.find((change) => Boolean(change.base) && `${change.kind}/${change.id ?? ""}` === error.path);
}

/** Stages changes, asking about each that another window was quicker with. What is left of them was staged. */
export async function putAgreed(
  changes: readonly ChangeInput[],
  put: (changes: ChangeInput[]) => Promise<unknown>,
): Promise<readonly ChangeInput[]> {
  let left = changes;
  while (left.length > 0) {
    try {
      await put([...left]);
      return left;
    } catch (error) {
      const refused = refusedOf(left, error);
      if (!refused) throw error;
      const theirs = await stagedOf(refused);
      const whose = await ask({ mine: refused, theirs });
      left =
        whose === "theirs"
          ? left.filter((change) => change !== refused)
          : left.map((change) =>
              change === refused ? { ...change, base: theirs?.new ? theirs.etag : null } : change,
            );
    }
  }
  return left;
}

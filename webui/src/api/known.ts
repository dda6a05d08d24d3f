// SPDX-License-Identifier: Apache-2.0
/** Whether an answer is still of now. What may be long untrue is never shown as a fact. */
import { useSilence } from "./live";
import { asProblem } from "./problem";

/** Why nothing may be said from the last answer to a query; null while the router answers. */
export function useDoubt(query: { isError: boolean; error: unknown }): string | null {
  const silent = useSilence();
  if (silent) return "the router does not answer";
  return query.isError ? asProblem(query.error).message : null;
}

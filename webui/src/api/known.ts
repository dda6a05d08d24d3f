// SPDX-License-Identifier: Apache-2.0
/** Whether an answer is still of now. What may be long untrue is never shown as a fact. */
import { useState } from "react";
import { useSilence } from "./live";
import { asProblem } from "./problem";

/**
 * Why a query has no answer of now; null while it has one, and before the first. The library forgets the error
 * of a query without an answer while it asks again: a page would change with each try.
 */
export function useFailure(query: { isError: boolean; isPending: boolean; error: unknown }): unknown {
  const [last, setLast] = useState<unknown>(null);
  const now = query.isError ? query.error : query.isPending ? last : null;
  if (now !== last) setLast(now);
  return now;
}

/** Why nothing may be said from the last answer to a query; null while the router answers. */
export function useDoubt(query: Parameters<typeof useFailure>[0]): string | null {
  const silent = useSilence();
  const failure = useFailure(query);
  if (silent) return "the router does not answer";
  return failure === null ? null : asProblem(failure).message;
}

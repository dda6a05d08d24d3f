// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { meQuery } from "./queries";
import type { Scope } from "./types";

const RANK: Record<Scope, number> = { read: 1, support: 2, write: 3, admin: 4 };

/** What a form says to who may not send it. */
export const ONLY_READS = "Your account may look at everything here and change nothing.";
/** What the form of a queue says to who may change a part of it. */
export const ONLY_PLANS =
  "Your account may change limits, bursts, state and comment of this queue; the rest takes the scope write.";

/** Whether the signed-in user has `scope`; false until that is known. The router decides; the page only hides what it would refuse. */
export function useMay(scope: Scope): boolean {
  const mine = useQuery(meQuery).data?.scope;
  return mine !== undefined && RANK[mine] >= RANK[scope];
}

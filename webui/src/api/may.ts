// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { meQuery } from "./queries";
import type { Scope } from "./types";

const RANK: Record<Scope, number> = { read: 1, write: 2, admin: 3 };

/** What a form says to who may not send it. */
export const ONLY_READS = "Your account may look at everything here and change nothing.";

/** Whether the signed-in user has `scope`; false until that is known. The router decides; the page only hides what it would refuse. */
export function useMay(scope: Scope): boolean {
  const mine = useQuery(meQuery).data?.scope;
  return mine !== undefined && RANK[mine] >= RANK[scope];
}

// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { interfacesQuery } from "./queries";
import type { Change, Interface, Pair } from "./types";
import { useStagedChanges } from "./writes";

/** Stored interfaces with what is staged of them, and staged new ones. */
function withStaged(items: readonly Interface[], staged: ReadonlyMap<string, Change>): Interface[] {
  const known = items.map((item) => ({
    ...item,
    ...(staged.get(item.id)?.new as Partial<Interface> | null),
  }));
  const ids = new Set(items.map((item) => item.id));
  const added = [...staged.values()].filter((change) => change.action === "add" && !ids.has(change.id));
  return [
    ...known,
    ...added.map((change) => ({
      ...(change.new as unknown as Interface),
      id: change.id,
      configured: false,
      etag: null,
      state: null,
      warnings: [],
    })),
  ];
}

/** No customers are known to be behind an interface in one of these zones. */
const NOT_OF_CUSTOMERS = ["wan", "open", "none"];

/** As the customers see it, on every page: what comes in from a LAN, and what goes out elsewhere, is upload. */
export const asCustomersSee = <T>(zone: string, received: T, sent: T): Pair<T> =>
  NOT_OF_CUSTOMERS.includes(zone)
    ? { upload: sent, download: received }
    : { upload: received, download: sent };

/** Every interface as it will be, with what is staged. */
export function useInterfaces() {
  const query = useQuery(interfacesQuery);
  const staged = useStagedChanges("interface");
  return { query, staged, items: withStaged(query.data?.items ?? [], staged) };
}

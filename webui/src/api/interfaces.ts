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

/** As the customers see it, on every page: what comes in from a LAN, and what goes out elsewhere, is upload. */
export const asCustomersSee = <T>(role: string, received: T, sent: T): Pair<T> =>
  role === "lan" ? { upload: received, download: sent } : { upload: sent, download: received };

/** Every interface as it will be, and what others may name: those that are configured, or will be. */
export function useInterfaces() {
  const query = useQuery(interfacesQuery);
  const staged = useStagedChanges("interface");
  const items = withStaged(query.data?.items ?? [], staged);
  const configured = items.filter((item) => item.configured || staged.get(item.id)?.new);
  const vrfs = configured.filter((item) => item.vrf_table !== null).map((item) => item.id);
  const ports = configured.filter((item) => item.vrf_table === null);
  return { query, staged, items, vrfs, ports };
}

// SPDX-License-Identifier: Apache-2.0
import type { Host, Interface } from "@/api/types";

/** What a search in the lists of the router found; where it leads is the dialog's business. */
export interface Found {
  key: string;
  title: string;
  detail: string;
  /** The interface or the address. */
  id: string;
}

export const includes = (text: string, words: string): boolean =>
  text.toLowerCase().includes(words.toLowerCase().trim());

const MOST = 6;

/** Every address that an interface has or learned, and what it is. */
function addressesOf(item: Interface): [address: string, what: string][] {
  const lease = item.state?.lease;
  const own = [
    ...new Set([...item.addresses, ...(item.state?.addresses ?? []), ...(lease ? [lease.address] : [])]),
  ];
  const learned: [string | null | undefined, string][] = [
    [lease?.gateway, "gateway by DHCP on"],
    [lease?.server, "DHCP server on"],
    ...(lease?.dns ?? []).map((address): [string, string] => [address, "DNS by DHCP on"]),
  ];
  return [
    ...own.map((address): [string, string] => [address, "address of"]),
    ...learned.flatMap(([address, what]): [string, string][] => (address ? [[address, what]] : [])),
  ];
}

export const interfacesWith = (items: readonly Interface[], words: string): Found[] =>
  items
    .filter((item) => includes(`${item.id} ${item.description}`, words))
    .slice(0, MOST)
    .map((item) => ({
      key: `port ${item.id}`,
      title: item.id,
      detail: item.description || item.addresses.join(" "),
      id: item.id,
    }));

/** An address may be the router's own and a server's at once: each is told. */
export const addressesWith = (items: readonly Interface[], words: string): Found[] =>
  items
    .flatMap((item) =>
      addressesOf(item)
        .filter(([address]) => includes(address, words))
        .map(([address, what]) => ({
          key: `address ${item.id} ${what} ${address}`,
          title: address,
          detail: `${what} ${item.id}`,
          id: item.id,
        })),
    )
    .slice(0, MOST);

/** Hosts that the router found: by the address that matches, or by their first one. */
export const hostsAs = (items: readonly Host[], words: string): (Found & { queue: string | null })[] =>
  items.slice(0, MOST).flatMap((host) => {
    const found = host.addresses.find(({ address }) => includes(address, words)) ?? host.addresses[0];
    if (!found) return [];
    return {
      key: `host ${host.id}`,
      title: found.address,
      detail: [host.mac, `on ${host.interface}`, found.queue ? `in ${found.queue.name}` : "in no queue"]
        .filter(Boolean)
        .join(" "),
      id: found.address,
      queue: found.queue?.id ?? null,
    };
  });

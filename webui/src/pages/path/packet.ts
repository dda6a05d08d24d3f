// SPDX-License-Identifier: Apache-2.0
import { PROTOCOLS, WITH_PORTS } from "@/kinds/firewall/protocols";
import type { PacketPathQuery, PathProofInput } from "@/api/types";
import type { PathSearch } from "@/app/search";

/** `in`: an interface, "-" = the router itself sends it, "" = found by the way back to its source. */
export interface Packet {
  from: string;
  to: string;
  protocol: (typeof PROTOCOLS)[number];
  port: string;
  in: string;
  pending: boolean;
}

/** Null: the page's address asks about none. */
export function packetOf(search: PathSearch): Packet | null {
  if (search.from === undefined || search.to === undefined) return null;
  return {
    from: search.from,
    to: search.to,
    protocol: PROTOCOLS.find((each) => each === search.protocol) ?? "tcp",
    port: search.port ?? "",
    in: search.in ?? "",
    pending: search.pending ?? false,
  };
}

export const searchOf = (packet: Packet): PathSearch => ({
  from: packet.from,
  to: packet.to,
  protocol: packet.protocol,
  port: portOf(packet) === 0 ? undefined : packet.port,
  in: packet.in || undefined,
  pending: packet.pending || undefined,
});

/** As the API takes it. */
export const queryOf = (packet: Packet): PacketPathQuery => ({
  source: packet.from,
  destination: packet.to,
  protocol: packet.protocol,
  port: portOf(packet),
  ...(packet.in === "" || packet.in === "-" ? {} : { in_interface: packet.in }),
  ...(packet.in === "-" ? { from_router: true } : {}),
  ...(packet.pending ? { candidate: true } : {}),
});

/** What a frame is to be; null: none can be sent for it. */
export function proofOf(packet: Packet): PathProofInput | null {
  const protocol = PROVED.find((each) => each === packet.protocol);
  if (protocol === undefined || packet.pending) return null;
  return {
    source: packet.from,
    destination: packet.to,
    protocol,
    port: portOf(packet),
    in_interface: packet.in === "" || packet.in === "-" ? null : packet.in,
    from_router: packet.in === "-",
    source_port: 0,
    vlan: null,
    tos: 0,
  };
}

const PROVED = ["tcp", "udp", "icmp"] as const;

const portOf = (packet: Packet): number => (WITH_PORTS.includes(packet.protocol) ? Number(packet.port) : 0);

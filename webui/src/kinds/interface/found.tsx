// SPDX-License-Identifier: Apache-2.0
/** Cells of what the router found of an interface, and of what that is made of. */
import type { Interface, Lease } from "@/api/types";
import { stampText } from "@/ui/format";

const FAST_PATH_STATES = { off: "off", on: "on", established: "on, for connections" };

const ofPorts = (count: number): string => `of ${count === 1 ? "1 port" : `${count} ports`}`;

/** What it is made as, what that means for this one, and more of it for those who ask. */
function made(item: Interface): readonly [what: string, more: string, title?: string] {
  const vlan = item.vlan ?? item.state?.vlan;
  const table = item.vrf_table || item.state?.vrf_table;
  if (table || item.vrf_table === 0) return ["VRF", table ? `table ${table}` : ""];
  if (item.wireguard) return ["WireGuard", `UDP port ${item.wireguard.listen_port}`];
  if (item.vxlan) {
    const { vni, remotes } = item.vxlan;
    return [
      `VXLAN ${vni}`,
      remotes.length === 1 ? `to ${remotes[0]}` : `to ${remotes.length} remotes`,
      remotes.join(", "),
    ];
  }
  if (item.gre) return ["GRE", `to ${item.gre.remote}`];
  if (item.pppoe) return ["PPPoE", `over ${item.pppoe.parent}`];
  if (item.bridge) {
    const ports = item.bridge.ports.map((port) => port.interface);
    return ["bridge", ofPorts(ports.length), ports.join(", ")];
  }
  if (item.bond) {
    const members = item.bond.members.map((member) => member.interface);
    return ["bond", ofPorts(members.length), members.join(", ")];
  }
  if (item.loopback) return ["loopback", ""];
  if (vlan) return [`VLAN ${vlan.id}`, `on ${vlan.parent}`, vlan.protocol];
  return [item.state?.kind ?? "", ""];
}

export const madeText = (item: Interface): string => made(item).slice(0, 2).join(" ").trim();

/** Whether the router has it and nobody made it. */
export const isPort = (item: Interface): boolean => item.state !== null && madeText(item) === item.state.kind;

/** What an interface is made of, as it is configured, or as the kernel has it. */
export function MadeOf({ item }: { item: Interface }) {
  const [what, more, title] = made(item);
  return (
    <span title={title}>
      {what || "–"} <span className="dim">{more}</span>
    </span>
  );
}

/** Those that are configured, or else the kernel's. */
const ownAddresses = (item: Interface): readonly string[] =>
  item.addresses.length > 0 || item.addressing === "dhcp" ? item.addresses : (item.state?.addresses ?? []);

export const addressesText = (item: Interface): string =>
  [...ownAddresses(item), ...(item.addressing === "dhcp" ? ["from a DHCP server"] : [])].join(", ");

/** With what a DHCP server gave. */
export function Addresses({ item }: { item: Interface }) {
  const lease = item.state?.lease ?? null;
  const own = ownAddresses(item);
  const isAwaited = lease === null && item.addressing === "dhcp";
  if (own.length === 0 && lease === null && !isAwaited) return <span className="dim">–</span>;
  return (
    <span title={lease ? leaseWords(lease) : own.join(", ")}>
      <span className="mono">{[...own, ...(lease ? [lease.address] : [])].join(", ")}</span>{" "}
      {lease ? <span className="dim">DHCP</span> : null}
      {isAwaited ? <span className="dim">{item.disabled ? "DHCP" : "no DHCP answer yet"}</span> : null}
    </span>
  );
}

const leaseWords = (lease: Lease): string =>
  [
    `from ${lease.server}`,
    lease.gateway ? `gateway ${lease.gateway}` : "no gateway",
    lease.dns.length > 0 ? `DNS ${lease.dns.join(", ")}` : "no DNS server",
    `until ${stampText(lease.expires_at)} unless prolonged`,
  ].join("; ");

/** What is done to packets, and why not more. */
export function Handling({ item: { state } }: { item: Interface }) {
  if (!state) return <span className="dim">–</span>;
  const { shaper, shaper_reason: why, fast_path: path, fast_path_reason: whyPath } = state;
  const reasons = [why, path === "off" ? whyPath : null].filter(Boolean).join("; ");
  return (
    <span title={reasons || undefined}>
      {shaper ?? "none"}, fast path {FAST_PATH_STATES[path ?? "off"]}
      {reasons ? <span className="dim"> {reasons}</span> : null}
    </span>
  );
}

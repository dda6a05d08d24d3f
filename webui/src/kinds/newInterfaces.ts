// SPDX-License-Identifier: Apache-2.0
/** Interfaces that can be made; in the address of their page by a word that is no interface's name. */
export const NEW = {
  new: { title: "New VLAN", item: "VLAN", key: "n" },
  "new:vrf": { title: "New VRF", item: "VRF", key: "v" },
  "new:wireguard": { title: "New tunnel", item: "WireGuard tunnel", key: "t" },
  "new:vxlan": { title: "New VXLAN", item: "VXLAN", key: "x" },
  "new:gre": { title: "New GRE tunnel", item: "GRE tunnel", key: "u" },
  "new:pppoe": { title: "New PPPoE session", item: "PPPoE session", key: "e" },
  "new:bridge": { title: "New bridge", item: "Bridge", key: "b" },
  "new:bond": { title: "New bond", item: "Bond", key: "o" },
  "new:loopback": { title: "New loopback", item: "Loopback", key: "l" },
} as const;
export type Made = keyof typeof NEW;
export const MADE = Object.keys(NEW) as Made[];

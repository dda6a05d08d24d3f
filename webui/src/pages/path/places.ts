// SPDX-License-Identifier: Apache-2.0
import type { PacketPath } from "@/api/types";

/** The places on a packet's way, in words. */
export const PLACES: Record<PacketPath["steps"][number]["at"], string> = {
  ingress: "Comes in",
  source: "Source",
  "queue-in": "Queue",
  "nat-in": "NAT",
  route: "Route",
  firewall: "Firewall",
  "nat-out": "NAT",
  neighbour: "Neighbor",
  egress: "Leaves",
  "queue-out": "Queue",
  "fast-path": "Fast path",
};

// SPDX-License-Identifier: Apache-2.0
/** What a packet may be of, where one is asked about. */
export const PROTOCOLS = ["tcp", "udp", "icmp", "sctp", "gre", "esp"] as const;
export const WITH_PORTS: readonly string[] = ["tcp", "udp", "sctp"];

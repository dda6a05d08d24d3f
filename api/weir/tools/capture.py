# SPDX-License-Identifier: Apache-2.0
"""Packets of an interface as a file that Wireshark reads."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Annotated

from weir.fields import INTERFACE_NAMES, Choice, Port, Prefix, Ref, Whole
from weir.model.problem import Finding
from weir.tools.tool import PCAPNG, Tool

MAPS = ("weir_ports", "weir_devices")
"""Of the datapath, which the program looks into; the agent gives descriptors of them in this order."""
STATISTICS = 5
"""The type of the block that ends a capture (IETF draft-ietf-opsawg-pcapng, 4.6)."""
_LAST_BYTES = 52
START_S = 3.0
"""For the kernel to check the program, and for what has come when time is over."""
PROTOCOLS = ("any", "tcp", "udp", "icmp", "arp")


@dataclass(frozen=True, slots=True)
class Capture:
    """Which packets, how much of each, and how many at most."""

    interface: Annotated[str, Ref("interface", INTERFACE_NAMES, unconfigured=True, help="Where.")]
    network: Annotated[
        str | None, Prefix(help="Only from or to this address or network.", example="10.64.0.2/32")
    ] = None
    protocol: Annotated[str, Choice(*PROTOCOLS, help="Only of this protocol.")] = "any"
    port: Annotated[int | None, Port(help="Only from or to this port of TCP or UDP.")] = None
    seconds: Annotated[int, Whole(1, 60, help="For how long at most.")] = 30
    packet_bytes: Annotated[
        int, Whole(64, 1536, importance="folded", help="How much of each packet is kept.")
    ] = 128
    most_bytes: Annotated[
        int, Whole(4096, 50_000_000, importance="folded", help="How long the file gets at most.")
    ] = 10_000_000


def _can_match(asked: Capture) -> Finding | None:
    if asked.protocol == "arp" and asked.network is not None and ip_network(asked.network).version == 6:
        text = f"network {asked.network} must be of IPv4 or left out: with protocol arp no packet has it"
        return Finding("error", "family-mismatch", text, "capture", "", "network")
    if asked.port is not None and asked.protocol not in ("any", "tcp", "udp"):
        text = f"port must be left out: {asked.protocol} has no ports"
        return Finding("error", "no-ports", text, "capture", "", "port")
    return None


def _has_statistics(tail: bytes) -> bool:
    if len(tail) != _LAST_BYTES:
        return False
    kind, length = struct.unpack_from("=II", tail)
    return (kind, length, tail[-4:]) == (STATISTICS, _LAST_BYTES, tail[4:8])


CAPTURE = Tool(
    "capture",
    "Capture",
    Capture,
    about="Packets of an interface, as a pcapng file: those that the network stack sees, and those that the "
    "fast path forwards, which are marked and shown as they leave. Where these cannot be seen, the file's "
    "comment says why.",
    scope="admin",
    subject="interface",
    seconds=lambda asked: asked.seconds + START_S,
    needs="A packet socket, and an eBPF program at the tracepoint of XDP's redirects, which ends with the "
    "run; both are opened, with their filters, before the tool gives up all rights.",
    answers=PCAPNG,
    asks_agent=True,
    check=_can_match,
    tail_bytes=_LAST_BYTES,
    is_whole=_has_statistics,
)

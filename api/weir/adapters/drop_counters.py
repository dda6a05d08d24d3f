# SPDX-License-Identifier: Apache-2.0
"""Counters of the kernel that say how many packets were dropped, and by whom.

Named counters of nftables by netlink (uapi/linux/netfilter/nf_tables.h): `nft` takes ten times as long, as it
reads all rules with them. Root qdiscs and leaves of HTB by rtnetlink. Those of the network stack are files
(RFC 4293; net/ipv4/proc.c).
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from weir.adapters import rtnl_dump
from weir.adapters.netfilter import FAMILY_INET
from weir.adapters.nft_elements import ask_objects
from weir.adapters.tc import HTB_MAJOR, HTB_OWN
from weir.model.problem import Unavailable

_OBJECT_NAME, _OBJECT_DATA = 2, 4
_BYTES, _PACKETS = 1, 2
_GET_QDISC = 38
_TC = struct.Struct("=BxxxiIII")
_ROOT = 0xFFFF_FFFF
_STATS2, _QUEUE_STATS = 7, 3
_DROPS_AT = 8
"""In struct gnet_stats_queue: behind the length of the queue and its backlog."""
_STACK: Mapping[str, tuple[tuple[str, str], ...]] = {
    "snmp": (
        ("Ip:InHdrErrors", "header"),
        ("Ip:InAddrErrors", "address"),
        ("Ip:InDiscards", "discarded"),
        ("Ip:OutDiscards", "discarded"),
        ("Ip:OutNoRoutes", "no-route"),
        ("Ip:FragFails", "too-large"),
    ),
    "netstat": (
        ("IpExt:InNoRoutes", "no-route"),
        ("IpExt:InTruncatedPkts", "header"),
        ("TcpExt:IPReversePathFilter", "reverse-path"),
    ),
    "snmp6": (
        ("Ip6InHdrErrors", "header"),
        ("Ip6InAddrErrors", "address"),
        ("Ip6InDiscards", "discarded"),
        ("Ip6OutDiscards", "discarded"),
        ("Ip6InNoRoutes", "no-route"),
        ("Ip6OutNoRoutes", "no-route"),
        ("Ip6InTooBigErrors", "too-large"),
        ("Ip6InTruncatedPkts", "header"),
    ),
}
"""Files of /proc/net, their counters of packets that went no further, and why."""


@dataclass(frozen=True, slots=True)
class QdiscDrops:
    """Packets dropped by the qdiscs of one interface since each was made; 32 bits, which wrap. `root` has
    those of `leaves`, which are by the slot of their class."""

    root: int
    leaves: Mapping[int, int]


class Passed(NamedTuple):
    """What a named counter has counted since it was made."""

    packets: int
    bytes: int


def of_rules(table: str, family: int = FAMILY_INET) -> dict[str, Passed]:
    """What the named counters of a table of ours counted. Raises `Unavailable`, `ApplyFailed`."""
    found = {}
    for attributes in ask_objects(table, family):
        name = attributes.get(_OBJECT_NAME, b"").rstrip(b"\0").decode()
        data = rtnl_dump.attributes(attributes.get(_OBJECT_DATA, b""))
        if name and _PACKETS in data and _BYTES in data:
            counted = (int.from_bytes(data[number], "big") for number in (_PACKETS, _BYTES))
            found[name] = Passed(*counted)
    return found


def of_qdiscs() -> dict[str, QdiscDrops]:
    """By interface. Raises `Unavailable`."""
    names = dict(socket.if_nameindex())
    roots: dict[str, int] = {}
    leaves: dict[str, dict[int, int]] = {}
    try:
        for message in rtnl_dump.dump(_GET_QDISC, _TC.pack(0, 0, 0, 0, 0)):
            _, index, _, parent, _ = _TC.unpack_from(message)
            name = names.get(index)
            if name is None:
                continue
            if parent == _ROOT:
                roots[name] = _drops(message)
            elif parent >> 16 == HTB_MAJOR and parent & HTB_OWN:
                leaves.setdefault(name, {})[parent & (HTB_OWN - 1)] = _drops(message)
    except OSError as error:
        raise Unavailable(f"the qdiscs cannot be asked: {error.strerror}") from error
    return {name: QdiscDrops(count, leaves.get(name, {})) for name, count in roots.items()}


def _drops(message: bytes) -> int:
    stats = rtnl_dump.attributes(rtnl_dump.attributes(message, _TC.size).get(_STATS2, b""))
    queue = stats.get(_QUEUE_STATS, b"")
    return int.from_bytes(queue[_DROPS_AT : _DROPS_AT + 4], "little")


def of_stack(proc: Path = Path("/proc/thread-self/net")) -> dict[str, int]:
    """Packets that the network stack of this namespace took no further, by reason. Raises `Unavailable`."""
    found: dict[str, int] = {}
    for file, counters in _STACK.items():
        held = dict(_file(proc / file))
        for name, reason in counters:
            found[reason] = found.get(reason, 0) + held.get(name, 0)
    return found


def _file(path: Path) -> Iterator[tuple[str, int]]:
    """`Ip:InDiscards` from two lines of a group each, or `Ip6InDiscards` from one line each."""
    try:
        lines = [line.split() for line in path.read_text(encoding="ascii").splitlines()]
    except FileNotFoundError:
        return  # no IPv6
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}") from error
    if path.name == "snmp6":
        yield from ((line[0], int(line[1])) for line in lines if len(line) == 2)
        return
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        for name, value in zip(names[1:], values[1:], strict=False):
            yield names[0] + name, int(value)

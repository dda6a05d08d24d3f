# SPDX-License-Identifier: Apache-2.0
"""Trees of three levels for the forwarding rig, as Weir's classes and as HTB's.

Every packet conforms: the root has 100 Gbit/s, each of 64 towers 4 Gbit/s, each customer 50 Mbit/s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench.forwarding import Port, Prepare, leaf_number
from lab import netns
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import ClassRecord, LineRecord, Mode, PrefixEntry, Role
from weir.adapters.kernel_routes import read_route_facts

TOWERS = 64
LEAF_BPS, TOWER_BPS, ROOT_BPS = 50_000_000, 4_000_000_000, 100_000_000_000
BURST_NS, LIMIT_NS = 20_000_000, 200_000_000
SHAPED = Role.CLASSIFY | Role.SHAPE


class Trees:
    """One tree for each configuration, written to the datapath as the agent would."""

    def __init__(self, datapath: Datapath) -> None:
        self.datapath = datapath
        self._next_slot = 1

    def tree(
        self,
        network: int,
        leaves: int,
        *,
        root_bps: int = ROOT_BPS,
        leaf_bps: int = LEAF_BPS,
        length: int = 32,
        htb: bool = False,
    ) -> None:
        """`leaves` customers with one prefix each, from the first destination of the network on.

        Each tower's are neighbours, and slots are in turn as the compiler gives them (docs/adr/0097).
        """
        root = self._next_slot
        first = root + 1 + TOWERS
        classes = [(root, record(root, root_bps, 0, 0))]
        towers_bps = max(TOWER_BPS, leaf_bps)
        classes += [(root + 1 + n, record(root + 1 + n, towers_bps, root, 0)) for n in range(TOWERS)]
        for number in range(leaves):
            classid = (1 << 16) + 0x100 + number if htb else 0
            parent = root + 1 + number * TOWERS // leaves
            classes.append((first + number, record(first + number, leaf_bps, parent, classid)))
        self.datapath.write_classes(classes)
        size = 1 << (32 - length)
        self.classify(
            [PrefixEntry(0, 4, leaf_number(network, n * size), length, first + n) for n in range(leaves)]
        )
        self._next_slot = first + leaves

    def classify(self, prefixes: Sequence[PrefixEntry]) -> None:
        """Into the table that the programs look addresses up in."""
        self.datapath.change_prefixes(add=prefixes)

    def stack(
        self, mode: Mode, leaves: int, *, root_bps: int = ROOT_BPS, leaf_bps: int = LEAF_BPS, length: int = 32
    ) -> Prepare:
        """The stack's path: departure times, or policing."""

        def prepare(port: Port) -> None:
            self.tree(port.network, leaves, root_bps=root_bps, leaf_bps=leaf_bps, length=length)
            self.datapath.attach(port.egress, SHAPED, mode)

        return prepare

    def fast(self, leaves: int, *, leaf_bps: int = LEAF_BPS, length: int = 32) -> Prepare:
        """The fast path: XDP on both links."""

        def prepare(port: Port) -> None:
            self.tree(port.network, leaves, leaf_bps=leaf_bps, length=length)
            for device in (port.ingress, port.egress):
                self.datapath.attach(device, SHAPED | Role.FAST, "edt")
            self.datapath.refuse_sources([])  # none of the packets claims to be the router

        return prepare

    def keep_answers(self) -> None:
        """As the agent does whenever routes have changed."""
        self.datapath.look_at_routes()
        self.datapath.routes_are_plain(read_route_facts().regions)

    def htb(self, leaves: int, leaf: str = "") -> Prepare:
        """HTB classes with the same rates; our program finds the class of each packet."""

        def prepare(port: Port) -> None:
            self.tree(port.network, leaves, htb=True)
            htb_classes(port, leaves, leaf=leaf)
            self.datapath.attach(port.egress, SHAPED, "htb")

        return prepare


def record(key: int, rate_bps: int, parent_slot: int, htb_classid: int) -> ClassRecord:
    line = LineRecord(rate_bps, BURST_NS, LIMIT_NS, htb_classid).quantised
    return ClassRecord(key=key, parent_slot=parent_slot, upload=line, download=line)


def htb_classes(port: Port, leaves: int, root_bps: int = ROOT_BPS, leaf: str = "") -> None:
    """Root, towers and customers on the egress link; `leaf`: each customer's qdisc, if not the default."""
    add = f"class add dev {port.egress} parent"
    # Up to its rate a class does not ask its parent: the sum of the rates may not be above the parent's.
    leaf_bps = min(LEAF_BPS // 2, root_bps // leaves)
    lines = [
        f"qdisc replace dev {port.egress} root handle 1: htb default 0",
        f"{add} 1: classid 1:1 htb rate {root_bps}bit",
    ]
    for tower in range(TOWERS):
        lines.append(
            f"{add} 1:1 classid 1:{2 + tower:x} htb rate {root_bps // TOWERS}bit ceil {TOWER_BPS}bit"
        )
    for number in range(leaves):
        lines.append(
            f"{add} 1:{2 + number * TOWERS // leaves:x} classid 1:{0x100 + number:x} htb "
            f"rate {leaf_bps}bit ceil {LEAF_BPS}bit"
        )
        if leaf:
            lines.append(f"qdisc add dev {port.egress} parent 1:{0x100 + number:x} {leaf}")
    batch(lines)


def htb_u32(leaves: int, root_bps: int, leaf: str, port: Port) -> None:
    """HTB classified by u32 alone: two hash tables of 256 buckets over the last two octets."""
    htb_classes(port, leaves, root_bps, leaf)
    add = f"filter add dev {port.egress} parent 1: protocol ip prio 1"
    tables = -(-(leaves + 256) // 256)
    lines = [f"{add} handle {0x100 + table:x}: u32 divisor 256" for table in range(tables)]
    lines.append(f"{add} handle 2: u32 divisor 256")
    for number in range(leaves):
        third, last = divmod(number + 256, 256)
        lines.append(
            f"{add} u32 ht {0x100 + third:x}:{last:x}: match ip dst {port.network}.0.{third}.{last} "
            f"flowid 1:{0x100 + number:x}"
        )
    for third in range(tables):
        lines.append(
            f"{add} u32 ht 2:{third:x}: match ip dst {port.network}.0.{third}.0/24 "
            f"hashkey mask 0x000000ff at 16 link {0x100 + third:x}:"
        )
    lines.append(
        f"{add} u32 ht 800:: match ip dst {port.network}.0.0.0/16 hashkey mask 0x0000ff00 at 16 link 2:"
    )
    batch(lines)


def by_u32(leaves: int, root_bps: int = ROOT_BPS, leaf: str = "") -> Prepare:
    return partial(htb_u32, leaves, root_bps, leaf)


def qdisc(words: str) -> Prepare:
    """One qdisc for all packets at the root of the egress link."""

    def prepare(port: Port) -> None:
        batch([f"qdisc replace dev {port.egress} root {words}"])

    return prepare


def mq_of(leaf: str, queues: int = 2) -> Prepare:
    """mq with `leaf` under each transmit queue."""

    def prepare(port: Port) -> None:
        lines = [f"qdisc replace dev {port.egress} root handle 1: mq"]
        lines += [f"qdisc replace dev {port.egress} parent 1:{n + 1:x} {leaf}" for n in range(queues)]
        batch(lines)

    return prepare


def unshaped(port: Port) -> None:
    """No qdisc, no program: the kernel's own forwarding."""


def batch(lines: list[str]) -> None:
    netns.run(["tc", "-batch", "-"], stdin="\n".join(lines) + "\n")

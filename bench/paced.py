# SPDX-License-Identifier: Apache-2.0
"""Packets per second with 4,096 queues in three levels, against no shaping and against HTB doing the same.

64-byte packets forwarded on every core at once by the rig of `bench.forwarding`. All packets conform, so
nothing is dropped and each one pays for lookup, three clocks and counters.
"""

from __future__ import annotations

from contextlib import ExitStack

from bench import forwarding
from bench.forwarding import Configuration, leaf_number
from bench.rows import Row
from lab import netns
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import ClassRecord, LineRecord, PrefixEntry, Role

LEAVES = 4096
MIDDLES = 64
ROUNDS = 9
LEAF_BPS, MIDDLE_BPS, ROOT_BPS = 50_000_000, 4_000_000_000, 100_000_000_000
BURST_NS, LIMIT_NS = 20_000_000, 200_000_000


class Shaped:
    """The datapath with one tree of classes for each network, as the agent would write it."""

    def __init__(self, datapath: Datapath) -> None:
        self.datapath = datapath
        self._next_slot = 1

    def edt(self, egress: str, network: int) -> None:
        self._tree(network, htb=False)
        self.datapath.attach(egress, Role.CLASSIFY | Role.SHAPE, "edt")

    def police(self, egress: str, network: int) -> None:
        self._tree(network, htb=False)
        self.datapath.attach(egress, Role.CLASSIFY | Role.SHAPE, "police")

    def htb(self, egress: str, network: int) -> None:
        """HTB classes with the same rates; the program finds the leaf, as a u32 filter could not."""
        self._tree(network, htb=True)
        netns.run(["tc", "-batch", "-"], stdin="\n".join(htb_tree(egress)) + "\n")
        self.datapath.attach(egress, Role.CLASSIFY | Role.SHAPE, "htb")

    def _tree(self, network: int, *, htb: bool) -> None:
        root = self._next_slot
        leaf = root + 1 + MIDDLES
        classes = [(root, record(root, ROOT_BPS, 0, 0))]
        classes += [(root + 1 + n, record(root + 1 + n, MIDDLE_BPS, root, 0)) for n in range(MIDDLES)]
        for number in range(LEAVES):
            parent = root + 1 + number % MIDDLES
            classid = (1 << 16) + 0x100 + number if htb else 0
            classes.append((leaf + number, record(leaf + number, LEAF_BPS, parent, classid)))
        self.datapath.write_classes(classes)
        self.datapath.change_prefixes(
            add=[PrefixEntry(0, 4, leaf_number(network, n), 32, leaf + n) for n in range(LEAVES)]
        )
        self._next_slot = leaf + LEAVES


def record(key: int, rate_bps: int, parent_slot: int, htb_classid: int) -> ClassRecord:
    line = LineRecord(rate_bps, BURST_NS, LIMIT_NS, htb_classid).quantised
    return ClassRecord(key=key, parent_slot=parent_slot, upload=line, download=line)


def htb_tree(egress: str) -> list[str]:
    lines = [
        f"qdisc replace dev {egress} root handle 1: htb default 0",
        f"class add dev {egress} parent 1: classid 1:1 htb rate {ROOT_BPS}bit",
    ]
    for number in range(MIDDLES):
        lines.append(
            f"class add dev {egress} parent 1:1 classid 1:{2 + number:x} htb "
            f"rate {ROOT_BPS // MIDDLES}bit ceil {MIDDLE_BPS}bit"
        )
    for number in range(LEAVES):
        lines.append(
            f"class add dev {egress} parent 1:{2 + number % MIDDLES:x} classid 1:{0x100 + number:x} htb "
            f"rate {LEAF_BPS // 2}bit ceil {LEAF_BPS}bit"
        )
    return lines


def unshaped(egress: str, network: int) -> None:
    """No qdisc, no program: the kernel's own forwarding."""


def run() -> list[Row]:
    forwarding.build()
    with ExitStack() as stack:
        datapath = stack.enter_context(Datapath.open(None))
        shaped = Shaped(datapath)
        configurations = [
            Configuration("unshaped", unshaped),
            Configuration("edt", shaped.edt),
            Configuration("police", shaped.police),
            Configuration("htb", shaped.htb),
        ]
        rig = stack.enter_context(forwarding.Rig(configurations, LEAVES))
        rates = rig.measure(ROUNDS)
    return ratios(rates)


def ratios(rates: dict[str, list[float]]) -> list[Row]:
    """Medians of the ratios within each round."""

    def over(first: str, second: str) -> list[float]:
        return [a / b for a, b in zip(rates[first], rates[second], strict=True)]

    tree = "4,096 queues in 3 levels"
    return [
        Row.of(
            "paced-4096x3", f"packets per second, {tree} (edt): over unshaped", "ratio",
            over("edt", "unshaped"), must=0.85, aim=0.95, better="higher",
        ),
        Row.of(
            "paced-4096x3-vs-htb", f"packets per second, {tree} (edt): over HTB", "ratio", over("edt", "htb"),
            must=2.0, aim=2.5, better="higher",
        ),
        Row.of(
            "policed-4096x3", f"packets per second, {tree} (police): over unshaped", "ratio",
            over("police", "unshaped"), must=0.85, aim=0.95, better="higher",
        ),
        Row.of(
            "unshaped-mpps", "packets per second unshaped (only to judge the machine by)", "Mp/s",
            [value / 1e6 for value in rates["unshaped"]], must=0, aim=0, better="higher",
        ),
    ]  # fmt: skip

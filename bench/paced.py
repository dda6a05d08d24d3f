# SPDX-License-Identifier: Apache-2.0
"""The stack's path with 4,096 and 100,000 queues in three levels, against no shaping and against HTB.

64-byte packets forwarded on every core at once by the rig of `bench.forwarding`. All packets conform but in
`overload`, so nothing is dropped and each one pays for lookup, three clocks and counters.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from operator import attrgetter

from bench import forwarding, trees, trie
from bench.forwarding import Configuration, Rate
from bench.rows import Row
from bench.trees import Trees
from bench.trie import TrieTrees
from lab import netns
from weir.adapters.datapath import Datapath

LEAVES, MANY = 4096, 100_000
ROUNDS = 9
OVERLOAD_BPS = 200_000_000
OVERLOAD_SETTLE_MS, OVERLOAD_MS = 1500, 900
HTB_LEAF_PACKETS = 20
"""Of each of 4,096 queues: 200 ms at the parent's rate, as `trees.LIMIT_NS`."""


def run() -> list[Row]:
    """Shaping alone."""
    with ExitStack() as stack:
        shaped = Trees(stack.enter_context(Datapath.open(None, capacity=131_072, prefixes=131_072)))
        other = Datapath.open(None, trie.build(), capacity=131_072, prefixes=131_072)
        by_trie = TrieTrees(stack.enter_context(other))
        rates = measure(
            stack,
            [
                Configuration("unshaped", trees.unshaped),
                Configuration("edt", shaped.stack("edt", LEAVES)),
                Configuration("edt-spread", shaped.stack("edt", LEAVES), spread=True),
                Configuration("police", shaped.stack("police", LEAVES)),
                Configuration("htb", shaped.htb(LEAVES)),
                Configuration("htb-u32", trees.by_u32(LEAVES)),
                Configuration("tbf", trees.qdisc("tbf rate 100gbit burst 10mb latency 50ms")),
                Configuration("pfifo", trees.qdisc("pfifo limit 1000")),
                Configuration("edt-100k", shaped.stack("edt", MANY), addresses=MANY),
                Configuration("trie", by_trie.stack("edt", LEAVES)),
                Configuration("trie-100k", by_trie.stack("edt", MANY), addresses=MANY),
            ],
        )
    return [*ratios(rates), *units(rates)]


def ratios(rates: dict[str, list[Rate]]) -> list[Row]:
    tree = "4,096 queues in 3 levels"
    rows = [
        ratio("paced-4096x3", f"{tree} (edt): over unshaped", rates, "edt", "unshaped"),
        ratio("paced-4096x3-vs-htb", f"{tree} (edt): over HTB", rates, "edt", "htb"),
        ratio("policed-4096x3", f"{tree} (police): over unshaped", rates, "police", "unshaped"),
        ratio(
            "paced-100kx3", "100,000 queues in 3 levels (edt): over unshaped", rates, "edt-100k", "unshaped"
        ),
        ratio(
            "paced-4096x3-spread",
            f"{tree} (edt), each queue's packets on all processors in turn: over unshaped",
            rates, "edt-spread", "unshaped",
        ),
    ]  # fmt: skip
    rows += [
        ratio(f"peer-{name}", f"{what}: over unshaped", rates, name, "unshaped")
        for name, what in (
            ("htb", f"HTB, {tree}, class by BPF"),
            ("htb-u32", f"HTB, {tree}, class by hashed u32"),
            ("tbf", "tbf, one queue"),
            ("pfifo", "pfifo, one queue"),
            ("trie", f"{tree} (edt), class by an LPM trie"),
            ("trie-100k", "100,000 queues in 3 levels (edt), class by an LPM trie"),
        )
    ]
    return rows


def units(rates: dict[str, list[Rate]]) -> list[Row]:
    """What the ratios are made of: they flatter a machine on which an unshaped packet takes long."""
    tree, many = "4,096 queues in 3 levels", "100,000 queues in 3 levels"
    return [
        added_ns("paced-4096x3-ns", f"{tree} (edt): above unshaped", rates, "edt", "unshaped"),
        added_ns("paced-100kx3-ns", f"{many} (edt): above unshaped", rates, "edt-100k", "unshaped"),
        added_ns("policed-4096x3-ns", f"{tree} (police): above unshaped", rates, "police", "unshaped"),
        added_ns("peer-htb-ns", f"HTB, {tree}, class by BPF: above unshaped", rates, "htb", "unshaped"),
        Row.of(
            "unshaped-mpps", "packets per second unshaped (only to judge the machine by)", "Mp/s",
            [rate.counted / 1e6 for rate in rates["unshaped"]], better="higher",
        ),
    ]  # fmt: skip


def overload() -> list[Row]:
    """A parent of 200 Mbit/s offered all that the machine can make: packets forwarded or dropped by decision.

    Counted only when every queue is full: HTB's hold as much time as a class's horizon lets wait.
    """
    leaf = f"pfifo limit {HTB_LEAF_PACKETS}"
    with ExitStack() as stack:
        shaped = Trees(stack.enter_context(Datapath.open(None, capacity=16_384)))
        rates = measure(
            stack,
            [
                Configuration("unshaped", trees.unshaped),
                Configuration("edt", shaped.stack("edt", LEAVES, root_bps=OVERLOAD_BPS)),
                Configuration("police", shaped.stack("police", LEAVES, root_bps=OVERLOAD_BPS)),
                Configuration("htb", trees.by_u32(LEAVES, OVERLOAD_BPS, leaf)),
            ],
            run_ms=OVERLOAD_MS,
            settle_ms=OVERLOAD_SETTLE_MS,
        )
    what = "handled (forwarded or dropped by decision), 4,096 queues under a parent of 200 Mbit/s, flooded"
    handled = attrgetter("handled")
    rows = [
        ratio("overload", f"{what} (edt): over unshaped", rates, "edt", "unshaped", handled),
        ratio("overload-police", f"{what} (police): over unshaped", rates, "police", "unshaped", handled),
        ratio("peer-overload-htb", f"{what}, HTB by u32: over unshaped", rates, "htb", "unshaped", handled),
    ]
    for name in ("edt", "htb"):
        # What was queued before the count and leaves within it is forwarded without being handled again.
        dropped = [max(0.0, 1 - rate.counted / rate.handled) for rate in rates[name]]
        rows.append(
            Row.of(
                f"overload-dropped-{name}",
                f"share of these that were dropped ({name})",
                "share",
                dropped,
                "higher",
            )
        )
    return rows


def translated() -> list[Row]:
    """With nftables' connection tracking and masquerading on every packet."""
    with ExitStack() as stack:
        shaped = Trees(stack.enter_context(Datapath.open(None, capacity=16_384)))
        rates = measure(
            stack,
            [
                Configuration("unshaped", trees.unshaped),
                Configuration("edt", shaped.stack("edt", LEAVES)),
                Configuration("htb", shaped.htb(LEAVES)),
            ],
            before=masquerade,
        )
    what = "4,096 queues in 3 levels behind masquerading (edt)"
    return [
        ratio("paced-4096x3-nat-vs-htb", f"{what}: over HTB", rates, "edt", "htb"),
        ratio("paced-4096x3-nat", f"{what}: over unshaped with masquerading", rates, "edt", "unshaped"),
        added_ns(
            "paced-4096x3-nat-ns", f"{what}: above unshaped with masquerading", rates, "edt", "unshaped"
        ),
    ]


def masquerade() -> None:
    """Every egress link, of all networks, in the namespace of the router."""
    rules = """
    table ip weir_bench {
        chain post { type nat hook postrouting priority srcnat; oifname "out*" masquerade; }
    }
    """
    netns.run(["nft", "-f", "-"], stdin=rules)


def measure(
    stack: ExitStack,
    configurations: Sequence[Configuration],
    *,
    before: Callable[[], None] | None = None,
    run_ms: int = forwarding.RUN_MS,
    settle_ms: int = forwarding.SETTLE_MS,
) -> dict[str, list[Rate]]:
    forwarding.build()
    rig = stack.enter_context(forwarding.Rig(configurations, LEAVES))
    if before is not None:
        with netns.inside(forwarding.ROUTER):
            before()
    return rig.measure(ROUNDS, run_ms, settle_ms)


def ratio(
    id: str,
    what: str,
    rates: dict[str, list[Rate]],
    first: str,
    second: str,
    figure: Callable[[Rate], float] = attrgetter("counted"),
) -> Row:
    """Medians of the ratios within each round, of packets that arrived or another `figure`."""
    values = [figure(a) / figure(b) for a, b in zip(rates[first], rates[second], strict=True)]
    return Row.of(id, f"packets per second, {what}", "ratio", values, better="higher")


def added_ns(id: str, what: str, rates: dict[str, list[Rate]], first: str, second: str) -> Row:
    """What a packet of `first` takes longer on its processor than one of `second`; all processors send."""
    scale = (os.cpu_count() or 1) * 1e9
    values = [scale / a.counted - scale / b.counted for a, b in zip(rates[first], rates[second], strict=True)]
    return Row.of(id, f"time of a packet, {what}", "ns", values, better="lower")

# SPDX-License-Identifier: Apache-2.0
"""The fast path with 4,096 and 100,000 queues in three levels, and what random destinations cost.

Frames come over a real link here, so that XDP runs where a driver would run it, in every configuration.
"""

from __future__ import annotations

from contextlib import ExitStack

from bench import forwarding, trees, xdp_forward
from bench.forwarding import Configuration, Prepare
from bench.paced import LEAVES, MANY, ROUNDS, added_ns, ratio
from bench.rows import Row
from bench.trees import Trees
from lab.netns import LabError
from weir.adapters.datapath import Datapath

RANDOM = 1 << 20
"""Destinations of the flood: 256 in each customer's /24."""
TURN = 16
"""Destinations that come in turn: few, but seldom twice running (docs/adr/0092)."""


def on_fast_path(
    name: str, shaped: Trees, prepare: Prepare, addresses: int | None = None, *, spread: bool = False
) -> Configuration:
    return Configuration(
        name, prepare, "wire", addresses, spread=spread, own_xdp=True, before=shaped.keep_answers
    )


def run() -> list[Row]:
    forwarding.build()
    with ExitStack() as stack:
        shaped = Trees(stack.enter_context(Datapath.open(None, capacity=131_072, prefixes=131_072)))
        configurations = [
            Configuration("unshaped", trees.unshaped, "wire"),
            on_fast_path("fast", shaped, shaped.fast(LEAVES)),
            on_fast_path("fast-spread", shaped, shaped.fast(LEAVES), spread=True),
            on_fast_path("fast-100k", shaped, shaped.fast(MANY), MANY),
        ]
        try:
            prepare = stack.enter_context(xdp_forward.loaded(xdp_forward.fetch()))
            configurations.append(Configuration("xdp-forward", prepare, "wire", own_xdp=True))
        except LabError as error:
            print(f"bench: no fast-vs-xdp-forward: {error}", flush=True)
        rates = stack.enter_context(forwarding.Rig(configurations, LEAVES)).measure(ROUNDS)
    tree = "queues in 3 levels"
    rows = [
        ratio(
            "fast-4096x3", f"fast path, 4,096 {tree}: over the kernel's path, unshaped",
            rates, "fast", "unshaped",
        ),
        ratio(
            "fast-100kx3-vs-4096", f"fast path, 100,000 {tree}: over 4,096",
            rates, "fast-100k", "fast",
        ),
        ratio(
            "fast-4096x3-spread",
            f"fast path, 4,096 {tree}, each queue's packets on all processors in turn: over one each",
            rates, "fast-spread", "fast",
        ),
        added_ns(
            "fast-100kx3-ns", f"fast path, 100,000 {tree}: above 4,096", rates, "fast-100k", "fast",
        ),
    ]  # fmt: skip
    if "xdp-forward" in rates:
        rows += [
            ratio(
                "fast-vs-xdp-forward", f"fast path, 4,096 {tree}: over xdp-forward, unshaped",
                rates, "fast", "xdp-forward",
            ),
            ratio(
                "peer-xdp-forward", "xdp-forward: over the kernel's path",
                rates, "xdp-forward", "unshaped",
            ),
            added_ns(
                "fast-4096x3-ns", f"fast path, 4,096 {tree}: above xdp-forward, unshaped",
                rates, "fast", "xdp-forward",
            ),
        ]  # fmt: skip
    return rows


def destinations() -> list[Row]:
    """A million random destinations against one, and against a few in turn, all of them customers'.

    No customer is near a limit.
    """
    forwarding.build()
    with ExitStack() as stack:
        shaped = Trees(stack.enter_context(Datapath.open(None, capacity=32_768)))
        configurations = []
        for name, addresses in (("one", 1), ("turn", TURN), ("random", RANDOM)):
            paced = shaped.stack("edt", LEAVES, leaf_bps=trees.ROOT_BPS, length=24)
            if name != "turn":
                fast = shaped.fast(LEAVES, leaf_bps=trees.ROOT_BPS, length=24)
                configurations.append(on_fast_path(f"fast-{name}", shaped, fast, addresses))
            configurations += [
                Configuration(f"edt-{name}", paced, addresses=addresses),
                Configuration(f"unshaped-{name}", trees.unshaped, addresses=addresses),
            ]
        rates = stack.enter_context(forwarding.Rig(configurations, LEAVES)).measure(ROUNDS)
    what = "a million random destinations over one"
    turn = f"a million random destinations over {TURN} in turn"
    return [
        ratio("random-dst-fast", f"{what}, fast path", rates, "fast-random", "fast-one"),
        ratio("random-dst-kernel", f"{what}, the kernel's path (edt)", rates, "edt-random", "edt-one"),
        ratio("peer-random-dst", f"{what}, unshaped", rates, "unshaped-random", "unshaped-one"),
        ratio("random-dst-turn", f"{turn}, the kernel's path (edt)", rates, "edt-random", "edt-turn"),
        ratio("peer-random-dst-turn", f"{turn}, unshaped", rates, "unshaped-random", "unshaped-turn"),
    ]

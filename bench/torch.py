# SPDX-License-Identifier: Apache-2.0
"""What torch takes of the fast path at full load, once it has begun.

The run is the product's own: its process, its bounds, its socket to the agent. It has told of a second before
a round begins, so loading its programs is not in it. Rounds with and without come in pairs of random order.

`torch-fast` has so many pairs that its median has bounds (docs/adr/0243): that of all such pairs is, 95 %
certain, between `torch-fast-least` and `torch-fast-most`. What others take of the machine widens them.

`torch-fast` and `torch-fast-quiet`: all processors but the last one forward, and the run has that one.
`torch-fast-shared`: all of them forward, in real time (`bench/rig/rig.c`), so the run gets little time, late.
"""

from __future__ import annotations

import json
import os
import random
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext

from bench import forwarding
from bench.forwarding import ROUTER, Configuration, Rate, Rig
from bench.paced import LEAVES, ratio
from bench.rows import Row, bounds_of_median
from bench.trees import Trees
from lab import netns
from lab.netns import LabError
from weir.adapters.datapath import Datapath
from weir.adapters.probes import Probe
from weir.agent.torch import Seat
from weir.tools.torch import MAPS, TORCH, Torch

ROUNDS, PAIRS = 7, 41
"""Pairs of rounds that compare, and of those that decide."""
ROUND_MS, PAIR_MS, SETTLE_MS = 3000, 2000, 200
"""Whole seconds, as torch watches a part of each."""
START_S = 20.0
"""So long a run may take until it has told of its first second."""
QUIET = "quiet0"
"""A port that nothing leaves by."""


def run() -> list[Row]:
    forwarding.build()
    cpus = os.cpu_count() or 1
    if cpus < 2:
        raise LabError("torch needs a processor that does not forward, and there is only one")
    with Datapath.open(None, capacity=16_384) as datapath:
        alone, told = measured(datapath, cpus - 1, None, PAIRS, PAIR_MS)
        quiet, _ = measured(datapath, cpus - 1, QUIET)
        shared, _ = measured(datapath, cpus)
    what = "fast path, 4,096 queues in 3 levels, with torch open at"
    reader = "its reader on a processor that does not forward"
    return [
        *bounded(alone, f"{what} the port that they leave by, {reader}"),
        Row.of(
            "torch-fast-told", "packets per second that torch tells of these: over those forwarded", "ratio",
            told, "higher",
        ),
        over(quiet, "torch-fast-quiet", f"{what} a port without traffic, {reader}"),
        over(shared, "torch-fast-shared", f"{what} the port that they leave by, all processors forwarding"),
    ]  # fmt: skip


def bounded(rates: dict[str, list[Rate]], what: str) -> list[Row]:
    """The row that decides, and how sure it is."""
    pairs = [a.counted / b.counted for a, b in zip(rates["with"], rates["without"], strict=True)]
    least, most = bounds_of_median(pairs)
    certain = f"the median of `torch-fast`, 95 % certain of {len(pairs)} pairs: at"
    return [
        over(rates, "torch-fast", what),
        Row.of("torch-fast-least", f"{certain} least", "ratio", [least], "higher"),
        Row.of("torch-fast-most", f"{certain} most", "ratio", [most], "higher"),
    ]


def over(rates: dict[str, list[Rate]], id: str, what: str) -> Row:
    return ratio(id, f"{what}: over without", rates, "with", "without")


def measured(
    datapath: Datapath,
    cpus: int,
    ifname: str | None = None,
    rounds: int = ROUNDS,
    round_ms: int = ROUND_MS,
) -> tuple[dict[str, list[Rate]], list[float]]:
    """Rates with and without torch at an interface, or at the port that packets leave by, the first `cpus`
    processors forwarding; and of each round with it, what it told over what was forwarded."""
    rates: dict[str, list[Rate]] = {"with": [], "without": []}
    told = []
    fast = Configuration("fast", Trees(datapath).fast(LEAVES), "wire", own_xdp=True)
    with Rig([fast], LEAVES, cpus) as rig:
        netns.ip(ROUTER, [f"link add {QUIET} type veth peer {QUIET}s"])
        at = ifname or rig.ports[0][1].egress
        rig.measure(1)
        for _ in range(rounds):
            for name in random.sample(("with", "without"), 2):
                with torch(datapath, at) if name == "with" else nullcontext() as seen:
                    (rate,) = rig.measure(1, round_ms, SETTLE_MS)["fast"]
                    seconds = seen.rates() if seen else []
                rates[name].append(rate)
                told += [seconds[-1] / rate.counted] if seconds else []
    return rates, told


class Told:
    """What a run of torch tells, read from its pipe."""

    def __init__(self, output: int) -> None:
        self._output = output
        self._rest = b""

    def rates(self, wait_s: float = 0.0) -> list[float]:
        """Packets per second of all flows: of each second that was told since the last call, or of the first
        one that is told within a time. Raises LabError when the run has ended."""
        found: list[float] = []
        until_s = time.monotonic() + wait_s
        while select.select([self._output], [], [], 0 if found else max(until_s - time.monotonic(), 0))[0]:
            read = os.read(self._output, 1 << 16)
            *lines, self._rest = (self._rest + read).split(b"\n")
            events = [json.loads(line) for line in lines]
            why = [str(event) for event in events if event["event"] in ("unseen", "end")]
            if why or not read:
                raise LabError(f"torch does not see the fast path: {' '.join(why) or 'it has ended'}")
            found += [float(event["packets_per_s"]) for event in events if event.get("rank") == 0]
        return found


@contextmanager
def torch(datapath: Datapath, ifname: str) -> Iterator[Told]:
    """A run at an interface of the router, on the last processor; it has told of its first second."""
    with ExitStack() as stack:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            probe = start(ifname, theirs.fileno())
        stack.callback(probe.wait, START_S)
        stack.callback(probe.stop)
        stack.callback(os.close, probe.output)
        seat = stack.enter_context(seat_of(datapath, ifname))
        threading.Thread(target=seat.serve, args=(ours,), daemon=True).start()
        told = Told(probe.output)
        if not told.rates(START_S):
            raise LabError(f"torch told nothing in {START_S:g} s")
        yield told


def start(ifname: str, seat: int) -> Probe:
    everywhere = os.sched_getaffinity(0)
    body = json.dumps(TORCH.to_json(Torch(interface=ifname, seconds=60)))
    os.sched_setaffinity(0, {max(everywhere)})
    try:
        with netns.inside(ROUTER):
            return Probe("torch", body, "", seat)
    finally:
        os.sched_setaffinity(0, everywhere)


def seat_of(datapath: Datapath, ifname: str) -> Seat:
    """As the agent's, which knows the names of no address here (`weir.agent.torch`)."""
    with netns.inside(ROUTER):
        told = {"library": datapath.library, "ifindexes": [socket.if_nametoindex(ifname)], "slots": ""}
    maps = tuple(datapath.map_fd(name) for name in MAPS)
    nothing = {"host": None, "queue": None}
    return Seat("", json.dumps(told).encode(), maps, lambda addresses: dict.fromkeys(addresses, nothing))

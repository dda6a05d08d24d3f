# SPDX-License-Identifier: Apache-2.0
"""A limit holds during every moment of a change: another shaper, parent, target or queue type, the queue made
again, an agent that is killed. And packets of 40 bytes are charged as they are on a wire."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.agent.meter import BUCKET_S, IP_BYTES, MOST_PACKETS, RATE_BPS, SPAN_S, Meter, metered
from tests.agent.rig import Rig, client_queue, lan, running, wan
from tests.polling import until
from weir.model.objects import Pair, Queue
from weir.model.overhead import FRAME_BYTES

OFFERED_BPS = 20_000_000
APART_S = 4 * SPAN_S
"""Between two steps of a change: each may make a class, and two new buckets in one span would be right."""
PCQ = Pair("pcq-upload-default", "pcq-download-default")
LIMIT = Pair(RATE_BPS, RATE_BPS)
Step = Callable[[Rig], object]
"""What is done counts, not what is answered."""


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        made.commit(lan(), wan(), client_queue(RATE_BPS))
        yield made


def shaper(name: str) -> Step:
    return lambda rig: rig.commit(lan(shaper=name), wan(shaper=name))


def commit(*queues: Queue, delete: str | None = None) -> Step:
    return lambda rig: rig.commit(*queues, delete=[("queue", delete)] if delete else [])


def another_agent(rig: Rig) -> None:
    rig.kill_agent()
    rig.start_agent()


CLIENT = client_queue(RATE_BPS)
TOP = Queue("top", "top", ("10.64.0.0/24",), max_limit_bps=LIMIT)
TWO = Queue("two", "two", ("10.64.0.2/32",), max_limit_bps=LIMIT)

CHANGES: dict[str, tuple[Step, ...]] = {
    "to-htb": (shaper("htb"),),
    "htb-to-police": (shaper("police"),),
    "a-parent": (commit(TOP, replace(CLIENT, parent="top")),),
    "no-parent": (commit(CLIENT, delete="top"),),
    "a-target": (commit(replace(CLIENT, target=("10.64.0.0/24",))), commit(CLIENT)),
    "sub-queues": (commit(replace(CLIENT, queue_type=PCQ)), commit(CLIENT)),
    # The same addresses in another queue, in one commit, and back.
    "made-again": (commit(TWO, delete="client"), commit(CLIENT, delete="two")),
    "another-agent": (another_agent,),
}


@pytest.mark.parametrize("steps", CHANGES.values(), ids=CHANGES)
def test_no_span_of_50_ms_has_more_than_the_limit_and_the_burst(rig: Rig, steps: tuple[Step, ...]) -> None:
    with metered(rig, OFFERED_BPS) as meter:
        meter.watch(0.5)
        begun_s = time.time()
        for step in steps:
            step(rig)
            meter.watch(APART_S)
        meter.watch(1.0)
        ended_s = time.time()
    most, mean_bps = meter.most(begun_s), arrived_bps(meter, begun_s, ended_s)
    print(f"at most {most} packets in 50 ms, {mean_bps / 1e6:.2f} Mbit/s in all")
    assert most <= MOST_PACKETS
    # One bucket for each class that the change makes; never the 20 Mbit/s that are offered.
    assert mean_bps * (ended_s - begun_s) <= RATE_BPS * (ended_s - begun_s + 3 * BUCKET_S)
    until("explain agrees", lambda: rig.explain("client")["agrees"])


def test_packets_of_40_bytes_take_no_more_of_the_wire_than_the_limit(rig: Rig) -> None:
    """With the overhead that the first setup gives an interface; a frame has 64 bytes at least."""
    rig.commit(lan(overhead_bytes=FRAME_BYTES), wan(overhead_bytes=FRAME_BYTES), client_queue(RATE_BPS))
    with metered(rig, 3 * RATE_BPS, ip_bytes=40) as meter:
        meter.watch(1.5)  # the credit of an idle class goes
        begun_s = time.time()
        meter.watch(3.0)
        packets, took_s = meter.arrived(begun_s), time.time() - begun_s
    wire_bps = packets * (40 + FRAME_BYTES) * 8 / took_s
    print(f"{wire_bps / 1e6:.3f} Mbit/s of frames, {packets * 64 * 8 / took_s / 1e6:.3f} with their padding")
    assert 0.8 * RATE_BPS <= wire_bps <= 1.03 * RATE_BPS
    rig.commit(lan(), wan())


def arrived_bps(meter: Meter, from_s: float, until_s: float) -> float:
    return meter.arrived(from_s) * IP_BYTES * 8 / (until_s - from_s)

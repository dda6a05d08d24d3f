# SPDX-License-Identifier: Apache-2.0
"""Packets on routes that a neighbour has told, while the daemons that learnt them are killed: BIRD is the
neighbour, and what it was told by this router stands there as well.

`WEIR_KILLS=50` kills as often as the figure asks (docs/benchmarks.md). Kills are as far apart as a daemon has
to run to be started at once (`STABLE_S`).
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from lab import netns
from tests.agent.bird import Bird
from tests.agent.meter import metered
from tests.agent.rig import Rig, lan, running, wan
from tests.agent.test_bgp import CORE, OURS, POLICY, bgpd, neighbor
from tests.polling import until
from weir.adapters.daemon import STABLE_S
from weir.model.objects import ConfigObject
from weir.model.problem import Unavailable

KILLS = int(os.environ.get("WEIR_KILLS", "3"))
LEARNT, FAR = "10.0.0.0/16", "10.0.0.1"
OFFERED_BPS, IP_BYTES = 2_000_000, 228


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running(frr=True) as made:
        netns.ip(made.internet, [f"addr add {FAR}/32 dev lo"])
        until("it is committed", lambda: is_taken(made, lan(), wan(), *POLICY, CORE), 90.0)
        yield made


def is_taken(rig: Rig, *objects: ConfigObject) -> bool:
    """FRR may be slower than a commit waits for it, on a machine that others use."""
    try:
        rig.commit(*objects)
    except Unavailable:
        return False
    return True


@pytest.fixture(scope="module")
def bird(rig: Rig) -> Bird:
    found = Bird(rig, "203.0.113.10", 65100, LEARNT, more="graceful restart on;")
    until("it is committed", lambda: is_taken(rig, neighbor(found)), 90.0)
    until("the session is up", lambda: found.since, 60.0)
    until("the route is learnt", lambda: LEARNT in rig.run("ip", "route"), 30.0)
    until("ours is told", lambda: OURS in found.learned(), 30.0)
    return found


def kill_bgpd(rig: Rig) -> None:
    killed = bgpd(rig)
    os.kill(killed, signal.SIGKILL)
    until("another one runs", lambda: bgpd(rig) != killed, 60.0)


def kill_zebra(rig: Rig) -> None:
    rig.kill_frr_daemon("zebra")
    rig.start_frr_daemon("zebra")


KILLED: dict[str, Callable[[Rig], None]] = {"bgpd": kill_bgpd, "zebra": kill_zebra}


@pytest.mark.parametrize("kill", KILLED.values(), ids=KILLED)
def test_no_packet_on_a_learnt_route_is_lost_and_the_neighbour_keeps_what_it_was_told(
    rig: Rig, bird: Bird, kill: Callable[[Rig], None]
) -> None:
    withdrawn = 0
    with metered(rig, OFFERED_BPS, far=FAR, ip_bytes=IP_BYTES) as meter:
        for _ in range(KILLS):
            kill(rig)
            deadline_s = time.monotonic() + STABLE_S
            while time.monotonic() < deadline_s:
                withdrawn += OURS not in bird.learned()
                meter.watch(0.2)
            until("the session is up", lambda: bird.since, 60.0)
        sent = meter.stop_sending()
        lost = sent - meter.arrived(0)
    print(f"{lost} of {sent} packets lost by {KILLS} kills; {withdrawn} looks without our route")
    assert (lost, withdrawn) == (0, 0)
    until("the state is well", lambda: rig.status()["state"] == "ok", 60.0)

# SPDX-License-Identifier: Apache-2.0
"""New connections of a full queue, with pacing: as many as fit, and bulk alone keeps none out."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.new_flows import ATTACKER, BYSTANDER, NEW_BYTES, SERVER, flooded, flows, opens, tracked
from tests.agent.rig import Rig, lan, wan
from tests.polling import until
from weir.adapters import connection_limits
from weir.kinds.firewall import Firewall
from weir.model.objects import Pair, Queue

pytestmark = [
    pytest.mark.measured,
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

LIMIT_BPS = 200_000


@pytest.fixture(scope="module")
def rig(bare_rig: Rig) -> Iterator[Rig]:
    limit = Pair(LIMIT_BPS, LIMIT_BPS)
    queues = [Queue(name, name, (name,), max_limit_bps=limit) for name in (ATTACKER, BYSTANDER)]
    bare_rig.commit(lan(), wan(), Firewall(connections_per_source=0), *queues)
    netns.ip(bare_rig.client_ns, [f"addr add {BYSTANDER}/24 dev c0"])
    until("the server answers", lambda: opens(bare_rig))
    yield bare_rig
    netns.ip(bare_rig.client_ns, [f"addr delete {BYSTANDER}/24 dev c0"])


def test_packets_wait_for_their_time(rig: Rig) -> None:
    assert {item["mode"] for item in rig.status()["shapers"].values()} == {"edt"}


def test_a_flood_of_new_flows_makes_as_many_entries_as_fit(rig: Rig) -> None:
    rig.run("conntrack", "-F")
    seconds = 5.0
    sent = flows(rig, ATTACKER, seconds)
    fits = LIMIT_BPS / 8 / NEW_BYTES * seconds
    assert sent > 2.5 * fits
    assert 0.3 * fits < tracked(rig) < 1.5 * fits


def test_others_open_connections_during_a_flood(rig: Rig) -> None:
    with flooded(rig, ATTACKER):
        assert all(opens(rig, BYSTANDER) for _ in range(5))


def test_a_customers_own_bulk_keeps_none_of_his_connections_out(rig: Rig) -> None:
    before = dropped(rig)
    with bulk(rig):
        until("the queue has a backlog", lambda: dropped(rig) > before + 50)
        assert all(opens(rig, ATTACKER) for _ in range(50))


def dropped(rig: Rig) -> int:
    return int(rig.counters(ATTACKER, "upload")["drop_packets"])


@contextmanager
def bulk(rig: Rig) -> Iterator[None]:
    """One flow at three times the limit."""
    over = threading.Event()

    def send() -> None:
        with bound(rig.internet, SERVER) as sink, bound(rig.client_ns, ATTACKER) as source:
            source.connect(sink.getsockname())
            while not over.wait(1200 * 8 / (3 * LIMIT_BPS)):
                source.send(bytes(1172))

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_this_kernel_counts_connections_by_source(rig: Rig) -> None:
    with netns.inside(rig.router):
        assert connection_limits.unsupported_reason() == ""

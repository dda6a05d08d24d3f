# SPDX-License-Identifier: Apache-2.0
"""The agent tells of the hosts that the kernel knows, with the queue that limits each address."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.agent.rig import Rig, client_queue, lan, running, wan
from tests.polling import until


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        made.commit(lan(), wan(), client_queue(50_000_000))
        yield made


def told(rig: Rig, address: str) -> dict[str, Any] | None:
    found = [item for item in rig.agent.call("hosts")["hosts"] if item["address"] == address]
    return found[0] if found else None


def test_a_neighbour_is_told_with_its_queue(rig: Rig) -> None:
    rig.run("ping", "-c1", "-W1", "10.64.0.2")
    host = told(rig, "10.64.0.2")
    assert host is not None
    (cable,) = json.loads(rig.run("ip", "-j", "link", "show", "c0", namespace=rig.client_ns))
    assert (host["interface"], host["mac"], host["queue"]) == ("lan0", cable["address"], "client")
    assert host["state"] in ("reachable", "stale")
    assert 0 <= host["confirmed_s"] < 60


def test_an_address_in_no_queue_is_told_so(rig: Rig) -> None:
    rig.run("ip", "addr", "add", "10.64.0.3/24", "dev", "c0", namespace=rig.client_ns)
    rig.run("ping", "-c1", "-W1", "10.64.0.3")
    host = told(rig, "10.64.0.3")
    assert host is not None
    assert host["queue"] is None


def test_an_address_that_does_not_answer_has_no_mac(rig: Rig) -> None:
    rig.run("sh", "-c", "ping -c1 -W1 10.64.0.99 || true")
    until("it is given up", lambda: (told(rig, "10.64.0.99") or {}).get("state") == "failed")
    host = told(rig, "10.64.0.99")
    assert host is not None
    assert (host["mac"], host["confirmed_s"]) == (None, None)

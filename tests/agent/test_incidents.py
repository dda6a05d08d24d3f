# SPDX-License-Identifier: Apache-2.0
"""Incidents of a router in namespaces: a cable is pulled, an agent is killed, the seconds before are kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lab import netns
from tests.agent.meter import metered
from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from weir.http.context import Context
from weir.model.objects import Pair, Queue
from weir.service.incidents import RANKED_S

M = 1_000_000


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        limit = Pair(M, M)
        made.commit(lan(), wan(), Queue("home", "Home", ("10.64.0.2/32",), max_limit_bps=limit))
        yield made


def newest(parts: Context, code: str) -> dict[str, Any] | None:
    found = (item for item in parts.stats.incidents.listed()["items"] if item["code"] == code)
    head = next(found, None)
    return head and parts.stats.incidents.one(head["id"])


def test_a_pulled_cable_and_a_killed_agent_are_recorded(rig: Rig, parts: Context) -> None:
    with metered(rig, 2 * M) as meter:
        rate = parts.stats.ranking
        until("the queue is measured", lambda: "home" in rate("rate_upload", 5))
        meter.watch(RANKED_S + 1.5)  # whose traffic is younger may be missing: it was ranked before
        netns.ip(rig.client_ns, ["link set c0 down"])
        until("it is recorded", lambda: newest(parts, "port-down") is not None)
    found = newest(parts, "port-down")
    assert found is not None and found["subject"] == "lan0", found
    lan0 = next(item for item in found["interfaces"] if item["id"] == "lan0")
    assert max(filter(None, lan0["ways"]["rx"]["rate_bps"])) > M
    (home,) = found["queues"]
    assert max(filter(None, home["ways"]["upload"]["drops_ps"])) > 10
    assert found["names"] == {"home": "Home"} and any(any(shares) for shares in found["cores"] if shares)
    rig.kill_agent()
    until("that it is away is recorded", lambda: newest(parts, "agent-away") is not None)
    away = newest(parts, "agent-away")
    assert away is not None and any(event["code"] == "port-down" for event in away["events"])

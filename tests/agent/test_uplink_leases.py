# SPDX-License-Identifier: Apache-2.0
"""An uplink whose gateway is that of a DHCP lease."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from weir.kinds.uplink import Uplink
from weir.kinds.uplink_check import UplinkCheck


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running(frr=True) as made:
        made.start_dhcp_server()
        yield made


def state(rig: Rig) -> dict[str, Any]:
    found: dict[str, Any] = rig.agent.call("state", {"kind": "uplink", "ids": ["u"]})["objects"]["u"]
    return found


def metrics(rig: Rig) -> list[int]:
    """Of all default routes."""
    return [item["metric"] for item in rig.json("ip", "-j", "-4", "route", "show", "default")]


def test_the_lease_gives_the_gateway_and_takes_it_along(rig: Rig) -> None:
    rig.commit(
        lan(),
        wan(addresses=(), addressing="dhcp"),
        Uplink("u", "wan0"),
        UplinkCheck("c", "u", "203.0.113.1"),
    )
    until("it is up by its lease", lambda: state(rig)["status"] == "up")
    until("it is in use", lambda: state(rig)["in_use"])
    assert state(rig)["via"] == "203.0.113.1"
    until("one by FRR, a copy, one for checks", lambda: len(metrics(rig)) == 3)
    lines = rig.explain("u", "uplink")
    assert lines["agrees"] is True, lines
    rig.commit(delete=[("uplink-check", "c"), ("uplink", "u")])
    until("the lease's own route is back, without one for checks", lambda: len(metrics(rig)) == 2)
    rig.commit(Uplink("u", "wan0"), UplinkCheck("c", "u", "203.0.113.1"))
    rig.commit(wan(addresses=("203.0.113.2/24",), addressing="static"), Uplink("u", "wan0", "203.0.113.1"))
    until("it goes on by a fixed address", lambda: state(rig)["status"] == "up" and state(rig)["in_use"])

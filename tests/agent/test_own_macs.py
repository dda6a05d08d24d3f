# SPDX-License-Identifier: Apache-2.0
"""Interfaces with a MAC address that is configured: it is there before anybody sees another one, neighbours
are told of it, and what was there before comes back."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from lab import netns
from tests.agent.rig import Rig, lan, running, wan
from tests.agent.test_bridges import mac_of
from tests.agent.test_effects import foreseen
from tests.polling import until

ETH_P_ALL = 3
OWN, OTHER = "02:00:5e:10:00:01", "02:00:5e:10:00:02"


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        made.commit(lan(), wan())
        yield made


def known_mac(rig: Rig) -> str | None:
    """What the provider's router sends to for the WAN's address, without asking."""
    rows = json.loads(rig.run("ip", "-j", "neigh", "show", "203.0.113.2", namespace=rig.internet))
    return rows[0].get("lladdr") if rows else None


def test_neighbours_are_told_of_it_and_the_one_of_before_comes_back(rig: Rig) -> None:
    before = mac_of(rig, "wan0")
    rig.run("ping", "-c1", "-W2", "203.0.113.2", namespace=rig.internet)
    assert known_mac(rig) == before
    said = foreseen(rig, wan(mac=OWN))["interface", "wan0"]
    assert said["effect"] == "resets" and "wan0 gets another MAC address" in said["text"]
    rig.commit(wan(mac=OWN))
    assert mac_of(rig, "wan0") == OWN
    until("the neighbour was told", lambda: known_mac(rig) == OWN)
    lines = {line["field"]: line for line in rig.explain("wan0", "interface")["lines"]}
    assert (lines["mac"]["compiled"], lines["mac"]["agrees"]) == (OWN, True)
    rig.commit(wan(mac=OTHER))
    rig.commit(wan())
    assert mac_of(rig, "wan0") == before
    until("the neighbour was told", lambda: known_mac(rig) == before)


def test_it_is_put_right_and_outlives_an_agent_that_was_killed(rig: Rig) -> None:
    before = mac_of(rig, "wan0")
    rig.commit(wan(mac=OWN))
    rig.run("ip", "link", "set", "wan0", "address", OTHER)
    until("it is put right", lambda: mac_of(rig, "wan0") == OWN)
    rig.kill_agent()
    rig.start_agent()
    assert mac_of(rig, "wan0") == OWN
    rig.commit(wan())
    assert mac_of(rig, "wan0") == before, "which was remembered"


def test_nobody_sees_another_one_before(rig: Rig) -> None:
    before = mac_of(rig, "wan0")
    rig.commit(wan(disabled=True))
    with netns.inside(rig.internet):
        wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    with wire:
        wire.bind(("i0", 0))
        wire.settimeout(10)
        rig.commit(wan(mac=OWN))
        assert wire.recv(14)[6:12].hex(":") == OWN
    rig.commit(wan())
    assert mac_of(rig, "wan0") == before

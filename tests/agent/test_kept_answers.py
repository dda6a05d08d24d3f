# SPDX-License-Identifier: Apache-2.0
"""The agent lets the fast path keep the FIB's answers while routes and rules are plain, and after each change
again."""

from __future__ import annotations

import mmap
import os
import struct
import threading
from collections.abc import Iterator

import pytest

from tests.agent.hooks import opened, pins
from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until

WITHIN_S = 20
"""Well below the 30 s after which routes are looked at without an event."""
_STATE = struct.Struct("=QI")  # net and routes of struct weir_hop_state


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running("--probe-after-s", "0", xdp=True) as made:
        made.commit(lan(), wan())
        yield made


def kept_for(rig: Rig) -> int:
    """The generation of routes whose answers may be kept; 0 = of none."""
    fd = opened(pins(rig) / "weir_hop_state")
    with mmap.mmap(fd, mmap.PAGESIZE) as state:
        net, routes = _STATE.unpack_from(state)
    os.close(fd)
    return int(routes) if net else 0


def test_after_each_change_of_routes_answers_are_kept_again(rig: Rig) -> None:
    for number in (1, 2):
        before = until("routes are found plain", lambda: kept_for(rig), within_s=WITHIN_S)
        rig.run("ip", "route", "add", f"192.0.{number}.0/24", "via", "203.0.113.1")
        until("they are again", lambda was=before: kept_for(rig) not in (0, was), within_s=WITHIN_S)


def test_nothing_is_kept_while_a_route_looks_at_more(rig: Rig) -> None:
    until("routes are found plain", lambda: kept_for(rig), within_s=WITHIN_S)
    route = ("192.0.9.0/24", "tos", "0x10")
    rig.run("ip", "route", "add", *route, "via", "203.0.113.1")
    until("they are not", lambda: not kept_for(rig), within_s=WITHIN_S)
    rig.run("ip", "route", "del", *route)
    until("they are plain again", lambda: kept_for(rig), within_s=WITHIN_S)


def test_nothing_is_kept_while_a_rule_looks_at_more(rig: Rig) -> None:
    until("routes are found plain", lambda: kept_for(rig), within_s=WITHIN_S)
    threading.Event().wait(2)  # what came before the rule is looked at
    rig.run("ip", "rule", "add", "from", "192.0.2.0/24", "lookup", "main")
    until("they are not", lambda: not kept_for(rig), within_s=WITHIN_S)
    rig.run("ip", "rule", "del", "from", "192.0.2.0/24", "lookup", "main")
    until("they are plain again", lambda: kept_for(rig), within_s=WITHIN_S)

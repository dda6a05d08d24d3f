# SPDX-License-Identifier: Apache-2.0
"""How soon the fast path knows of routes that XDP cannot see, and what looking for them may cost."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager
from types import SimpleNamespace

import pytest

from weir.adapters.kernel_routes import RouteFacts
from weir.adapters.plain_routes import NO_REGIONS
from weir.agent import routing
from weir.agent.options import ROUTES_SHARE

LAN, WAN, SECOND_WAN = 2, 3, 4
ONE_GATEWAY = RouteFacts()
TWO_GATEWAYS = RouteFacts(largest_bytes={WAN: 0, SECOND_WAN: 0})


class Datapath:
    """`told`: what it was told of routes since it last looked at their generation, oldest first."""

    def __init__(self) -> None:
        self.told: list[bytes | None] = []

    def refuse_sources(self, addresses: Iterable[int] | None) -> None: ...

    def look_at_routes(self) -> None:
        self.told.clear()

    def routes_are_plain(self, regions: bytes | None) -> None:
        self.told.append(regions)

    def take_used(self) -> bytes:
        return b""


class Kernel:
    """Whose routes take `look_s` of a processor to read."""

    def __init__(self) -> None:
        self.now_s, self.look_s, self.looks = 1000.0, 0.02, 0
        self.facts = ONE_GATEWAY

    @property
    def worked_s(self) -> float:
        return self.looks * self.look_s

    def read(self) -> RouteFacts:
        self.looks += 1
        self.now_s += self.look_s
        return self.facts


class Commit(AbstractContextManager[None]):
    """A lock that somebody else holds for `lasts_s`."""

    def __init__(self, kernel: Kernel, lasts_s: float) -> None:
        self._kernel, self._lasts_s = kernel, lasts_s

    def __enter__(self) -> None:
        self._kernel.now_s += self._lasts_s

    def __exit__(self, *raised: object) -> None: ...


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    made = Kernel()
    monkeypatch.setattr(routing, "read_route_facts", made.read)
    monkeypatch.setattr(
        routing, "time", SimpleNamespace(monotonic=lambda: made.now_s, thread_time=lambda: made.worked_s)
    )
    return made


def test_the_second_gateway_of_a_route_is_known_at_once(kernel: Kernel) -> None:
    """The routing daemon brings a route with its first gateway, and a moment later with both."""
    followed, told = routing.Routing(Datapath(), ROUTES_SHARE), list[int]()
    followed.begin()
    followed.follow(threading.Lock(), lambda: told.append(1))
    kernel.facts, kernel.now_s = TWO_GATEWAYS, kernel.now_s + 0.001
    followed.follow(threading.Lock(), lambda: told.append(2))
    assert (followed.largest(WAN), told) == (0, [2])
    assert followed.largest(LAN) > 0


def test_what_was_read_of_routes_is_said_of_their_generation_before(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change while they are read is of a later one."""
    datapath = Datapath()

    def read() -> RouteFacts:
        assert datapath.told == [], "the generation is noted first"
        return kernel.facts

    monkeypatch.setattr(routing, "read_route_facts", read)
    followed = routing.Routing(datapath, ROUTES_SHARE)
    kernel.facts = RouteFacts(regions=NO_REGIONS)
    followed.begin()
    assert datapath.told == [NO_REGIONS]
    kernel.facts, kernel.now_s = TWO_GATEWAYS, kernel.now_s + 1
    followed.follow(threading.Lock(), lambda: None)
    assert datapath.told == [None]


def test_routes_are_looked_at_at_once_however_long_a_commit_was_waited_for(kernel: Kernel) -> None:
    """Three seconds of waiting were counted as work, and the next change was seen two minutes later."""
    followed = routing.Routing(Datapath(), ROUTES_SHARE)
    followed.begin()
    followed.follow(Commit(kernel, lasts_s=60.0), lambda: None)
    kernel.facts, kernel.now_s = TWO_GATEWAYS, kernel.now_s + 0.001
    followed.follow(threading.Lock(), lambda: None)
    assert followed.largest(WAN) == 0


def test_looking_at_many_routes_that_change_all_the_time_takes_its_share(kernel: Kernel) -> None:
    followed = routing.Routing(Datapath(), ROUTES_SHARE)
    followed.begin()
    kernel.look_s, kernel.looks, from_s = 3.0, 0, kernel.now_s
    while kernel.now_s < from_s + 3600:
        kernel.now_s += min(followed.follow(threading.Lock(), lambda: None), 0.1)
    spent_s = kernel.worked_s
    assert spent_s <= 3600 * ROUTES_SHARE + routing.SAVED_S + kernel.look_s
    assert spent_s >= 3600 * ROUTES_SHARE * 0.9, "and it goes on looking"

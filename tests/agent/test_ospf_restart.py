# SPDX-License-Identifier: Apache-2.0
"""What comes before the next ospfd, byte by byte, and which copies of its routes stay how long."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable
from pathlib import Path

import pytest

from weir.adapters import ospf_grace, standing_routes
from weir.adapters.followed_routes import FollowedRoutes
from weir.adapters.frr import Frr
from weir.adapters.netlink import Links
from weir.adapters.ospf_grace import GRACE_S, Link, packet
from weir.adapters.route_messages import Hop, KernelRoute
from weir.agent.kept_routes import Identity, KeptRoutes
from weir.backends import ospf_restart
from weir.backends.ospf_restart import is_unfit, links_of
from weir.backends.routing import RoutingBackend, RoutingState
from weir.kinds.ospf import Ospf
from weir.model.document import Document
from weir.parts.routing import ROUTING

NOW_S = 1_800_000_000
BIRDS_TICK_S = 1.0
"""How often it looks whether its routes are to be calculated again, by default."""
PLAIN = Link("wan0", "203.0.113.2", 7)
SIGNED = Link("wan0", "203.0.113.2", 7, (3, "s3cret"))


def test_a_grace_lsa_is_as_the_rfcs_have_it() -> None:
    sent = packet("192.0.2.1", PLAIN, NOW_S)
    assert struct.unpack_from("!BBH4sI", sent) == (2, 4, len(sent), bytes((192, 0, 2, 1)), 7)
    words = struct.unpack(f"!{(len(sent) - 8) // 2}H", sent[:16] + sent[24:])
    assert sum(words) % 0xFFFF == 0, "the checksum of the packet"
    lsa = sent[28:]
    kind, name, length = struct.unpack_from("!BI", lsa, 3) + struct.unpack_from("!H", lsa, 18)
    assert (kind, name, length) == (9, 0x0300_0000, len(lsa))
    first = second = 0
    for byte in lsa[2:]:
        first = (first + byte) % 255
        second = (second + first) % 255
    assert (first, second) == (0, 0), "the checksum of the LSA"
    assert struct.unpack_from("!HHI", lsa, 20) == (1, 4, GRACE_S)
    assert struct.unpack_from("!HHB", lsa, 28) == (2, 1, 0)
    assert struct.unpack_from("!HH4s", lsa, 36) == (3, 4, bytes((203, 0, 113, 2)))


def test_a_later_one_is_newer_and_a_password_signs_it() -> None:
    earlier, later = (packet("192.0.2.1", SIGNED, at_s) for at_s in (NOW_S, NOW_S + 1))
    assert earlier[40:44] < later[40:44]
    text, digest = later[:-16], later[-16:]
    assert struct.unpack_from("!HHHBBI", text, 12) == (0, 2, 0, 3, 16, NOW_S + 1)
    assert digest == hashlib.md5(text + b"s3cret".ljust(16, b"\0"), usedforsecurity=False).digest()
    assert "s3cret" not in repr(SIGNED)


def test_each_address_of_an_interface_with_neighbours_is_a_link() -> None:
    lines = [
        ("router ospf", "ospf router-id 192.0.2.1"),
        *(("interface wan0", f"ip ospf {line}") for line in ("area 7", "message-digest-key 3 md5 s3cret")),
        *(("interface lan0", f"ip ospf {line}") for line in ("area 0", "passive")),
    ]
    addresses = [("lan0", "10.64.0.1"), ("wan0", "203.0.113.2"), ("wan0", "198.51.100.1"), ("x", "192.0.2.9")]
    links = [SIGNED, Link("wan0", "198.51.100.1", 7, SIGNED.key)]
    assert list(links_of(lines, addresses)) == links


def test_the_next_ospfd_is_told_until_when_it_restarts(tmp_path: Path) -> None:
    ospf_grace.prepare(NOW_S + 0.5, tmp_path / "gr.json")
    until = {"gracePeriod": GRACE_S, "timestamp": NOW_S + GRACE_S}
    assert json.loads((tmp_path / "gr.json").read_text()) == {"instances": {"default": until}}


@pytest.mark.parametrize(("area", "comes"), [("area 7", ["asked", "prepared"]), ("cost 5", ["prepared"])])
def test_the_neighbours_that_were_asked_have_time_to_calculate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, area: str, comes: list[str]
) -> None:
    """Before the next ospfd begins; nobody waits for nobody."""
    came: list[str] = []
    waited_s: list[float] = []
    monkeypatch.setattr(ospf_grace, "announce", lambda *_: came.append("asked"))
    monkeypatch.setattr(ospf_grace, "prepare", lambda *_: came.append("prepared"))
    monkeypatch.setattr(ospf_restart, "_addresses", lambda _: [("wan0", "203.0.113.2")])
    monkeypatch.setattr(ospf_restart, "sleep", waited_s.append)
    monkeypatch.setattr(Frr, "has_mgmtd", lambda _: False)
    lines = [("router ospf", "ospf router-id 192.0.2.1"), ("interface wan0", f"ip ospf {area}")]
    ospf_restart.revive(Frr(tmp_path, tmp_path), Links(), lines)
    assert came == comes
    assert [wait_s > BIRDS_TICK_S for wait_s in waited_s] == [True] * (comes[0] == "asked")


ROUTE = KernelRoute("10.0.0.0/16", "254", "unicast", (Hop("203.0.113.1", "wan0", False, 1),))
FIRST: Identity = ((100, 1),)
SECOND: Identity = ((200, 2),)


class Kept:
    """A keeper whose kernel, daemons and clock are the test's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kernel = FollowedRoutes()
        self.kernel.follow = self._follow  # type: ignore[method-assign]
        self.daemons: Identity | None = FIRST
        self.now_s = 1000.0
        self.keeper = KeptRoutes(lambda: self.daemons, lambda: self.now_s, self.kernel)
        monkeypatch.setattr(standing_routes, "change", self._change)

    def _follow(self) -> bool:
        kernel = self.kernel
        places = kernel.installed.keys() | kernel.copies.keys()
        kernel.odd = {place for place in places if kernel.installed.get(place) != kernel.copies.get(place)}
        return True

    def _change(self, put: Iterable[KernelRoute], remove: Iterable[KernelRoute], _metric: int) -> None:
        self.kernel.copies.update({route.place: route for route in put})
        for route in remove:
            del self.kernel.copies[route.place]

    def look(self, *installed: KernelRoute) -> bool:
        """Whether there is a copy after two looks."""
        self.kernel.installed = {route.place: route for route in installed}
        for _ in range(2):
            self.keeper.look()
        return bool(self.kernel.copies)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Kept:
    return Kept(monkeypatch)


def test_a_copy_follows_its_route_while_ospfd_is_well(kept: Kept) -> None:
    assert not kept.look()
    assert kept.look(ROUTE)
    assert not kept.look()


def test_a_copy_stays_while_ospfd_is_away_and_for_the_grace_period_of_the_next_one(kept: Kept) -> None:
    kept.look(ROUTE)
    kept.daemons = (None,)
    assert kept.look()
    kept.now_s += 2 * GRACE_S
    assert kept.look(), "it has not come back yet"
    kept.daemons = SECOND
    assert kept.look()
    kept.now_s += GRACE_S
    assert not kept.look()


def test_a_daemon_that_died_may_seem_to_run_at_one_look(kept: Kept) -> None:
    kept.look(ROUTE)
    kept.kernel.installed = {}
    kept.keeper.look()
    kept.daemons = (None,)
    kept.keeper.look()
    assert kept.kernel.copies


def test_copies_go_with_ospf_and_stay_while_it_is_not_known_what_is_configured(kept: Kept) -> None:
    kept.look(ROUTE)
    kept.daemons = None
    assert kept.look()
    kept.daemons = ()
    assert not kept.look(ROUTE)


@pytest.mark.parametrize("version", [8, 10])
def test_an_ospfd_that_restarts_by_itself_is_not_asked_to(version: int, tmp_path: Path) -> None:
    """With FRR 10 it took no route for two minutes where an ospfd of before had left its file."""
    if version > 8:
        (tmp_path / "mgmtd.pid").touch()
    backend = RoutingBackend(
        Frr(tmp_path, tmp_path),
        {},
        lambda _place, sealed: sealed,
        is_unfit=lambda path: is_unfit(Frr(tmp_path, tmp_path), path),
    )
    wanted = ROUTING.wanted(Document((Ospf("core", router_id="192.0.2.1"),)))
    lines = [path[-1] for path in backend.diff(RoutingState(frozenset(), {}), wanted).new]
    assert ("graceful-restart" in lines, "capability opaque" in lines) == (version == 8, version == 8)
    assert "ospf router-id 192.0.2.1" in lines

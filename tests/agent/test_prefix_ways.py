# SPDX-License-Identifier: Apache-2.0
"""Which router has which prefix: what is heard, what is kept, and what nobody may make of it."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agent.test_routing_daemons import Quick, quick
from weir.adapters.dhcp6_heard import Heard, client_of
from weir.agent import prefix_routes
from weir.agent.delegations import Delegations
from weir.agent.leases import Leases
from weir.agent.prefix_routes import PrefixRoutes
from weir.agent.stages import RoutesStage
from weir.agent.uplinks import Uplinks
from weir.backends.dhcp_leases import KEPT_CHANGES, LeaseTable
from weir.backends.routes import WHOLE_LOOK_S, RoutesDifference
from weir.backends.routes_wanted import Asked
from weir.parts.dhcp6 import Pool, Server6Spec, Wanted

__all__ = ["quick"]

NOW_S = 1_000_000
HEADER = (
    "address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,iaid,prefix_len,"
    "fqdn_fwd,fqdn_rev,hostname,hwaddr,state,user_context,hwtype,hwaddr_source\n"
)
POOL, PREFIX = "2001:db8:1000::/40", "2001:db8:1000:100::/56"
SPEC = Server6Spec("lan", "lan0", None, (), 60, 60, (), None, prefix_pools=(Pool(POOL, 56, 60, 60),))
SERVERS: Wanted = {"lan": SPEC}
DUID, HOP = "00:03:00:01:02:00:5e:10:00:01", "fe80::1"


def row(address: str, *, kind: int, length: int, duid: str = DUID, state: int = 0) -> str:
    return f"{address},{duid},3600,{NOW_S + 3600},7,1800,{kind},1,{length},0,0,,,{state},,,\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "kea-leases6.csv"
    file.write_text(HEADER + row("2001:db8:1000:100::", kind=2, length=56))
    return file


@pytest.fixture
def table(path: Path) -> LeaseTable:
    made = LeaseTable(lambda: float(NOW_S))
    made.follow(path)
    return made


def routed(routes: PrefixRoutes, servers: Wanted = SERVERS) -> dict[str, str | None]:
    """By destination the gateway; None: it is rejected."""
    found = routes.routes(servers, {})
    assert all(spec.reject == (spec.gateway is None) for spec in found.values())
    return {spec.destination: spec.gateway for spec in found.values()}


def test_a_prefix_is_a_lease_beside_the_address_that_it_begins_with(path: Path, table: LeaseTable) -> None:
    with path.open("a") as file:
        file.write(row("2001:db8:1000:100::", kind=0, length=128))
    assert [lease.address for lease in table.found("")] == ["2001:db8:1000:100::", PREFIX]
    assert [lease.is_prefix for lease in table.found("")] == [False, True]
    with path.open("a") as file:
        file.write(row("2001:db8:1000:100::", kind=2, length=56, state=2))
    assert [lease.address for lease in table.found("")] == ["2001:db8:1000:100::"]


def test_a_prefix_has_a_route_once_its_router_is_heard_and_over_a_start(
    tmp_path: Path, table: LeaseTable
) -> None:
    kept = tmp_path / "delegated.json"
    routes = PrefixRoutes(table, kept)
    assert routed(routes) == {POOL: None}, "nobody knows where it is"
    strangers = [Heard("lan1", DUID, "fe80::bad"), Heard("lan0", "00:01", "fe80::9")]
    assert routes.follow(SERVERS, [Heard("lan0", DUID, HOP), *strangers]) is None, "all are looked at first"
    routes.save()
    assert routed(routes) == {POOL: None, PREFIX: HOP}
    assert "00:01" not in kept.read_text().replace(DUID, ""), "who has no prefix is not kept"
    assert routed(PrefixRoutes(table, kept)) == {POOL: None, PREFIX: HOP}
    assert routes.follow(SERVERS, [Heard("lan0", DUID, HOP)]) == set(), "as before"
    assert routes.follow(SERVERS, [Heard("lan0", DUID, "fe80::2")]) == {PREFIX}
    assert routed(routes)[PREFIX] == "fe80::2", "it asks from elsewhere now"
    assert routed(routes, {}) == {}
    without = {"lan": replace(SPEC, prefix_pools=())}
    assert routed(routes, without) == {} and routes.follow(without, []) is None
    assert not routes.given()


def test_a_lease_that_comes_or_ends_is_one_prefix_that_is_touched(path: Path, table: LeaseTable) -> None:
    routes = PrefixRoutes(table)
    routes.follow(SERVERS, [Heard("lan0", DUID, HOP), Heard("lan0", "00:02", "fe80::2")])
    assert PREFIX in routed(routes) and routes.follow(SERVERS, []) == set()
    other = "2001:db8:1000:200::/56"
    with path.open("a") as file:
        file.write(row("2001:db8:1000:200::", kind=2, length=56, duid="00:02"))
        file.write(row("2001:db8:1000:100::", kind=2, length=56))  # it is renewed
    assert routes.follow(SERVERS, []) == {other} and routed(routes)[other] == "fe80::2"
    with path.open("a") as file:
        file.write(row("2001:db8:1000:100::", kind=2, length=56, state=2))
    assert routes.follow(SERVERS, []) == {PREFIX}
    assert routed(routes) == {POOL: None, other: "fe80::2"} and routes.route_to(PREFIX) is None
    with path.open("a") as file:
        file.write(row("2001:db8:1000:200::", kind=2, length=56, state=2))
        file.write(row("2001:db8:1000:200::", kind=2, length=56))
    assert routes.follow(SERVERS, []) == {other}
    assert routed(routes)[other] == HOP, "another client has it, which was heard before"


def test_more_changes_than_are_remembered_are_a_look_at_all(
    path: Path, table: LeaseTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    routes = PrefixRoutes(table)
    routes.follow(SERVERS, [Heard("lan0", DUID, HOP)])
    with path.open("a") as file:
        for number in range(0x300, 0x300 + KEPT_CHANGES + 1):
            file.write(row(f"2001:db8:10{number >> 8:02x}:{number & 255:02x}00::", kind=2, length=56))
    assert routes.follow(SERVERS, []) is None and len(routes.given()) == KEPT_CHANGES + 2
    assert routes.follow(SERVERS, []) == set()


def test_many_that_pretend_to_ask_take_no_memory_and_no_route(
    table: LeaseTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefix_routes, "MOST_HEARD", 16)
    routes = PrefixRoutes(table)
    routes.follow(SERVERS, [Heard("lan0", DUID, HOP)])
    many = (Heard("lan0", f"00:04:{number:04x}", "fe80::bad") for number in range(1000))
    assert routes.follow(SERVERS, many) == set()
    assert len(routes._heard) == 16 and routed(routes)[PREFIX] == HOP


def test_one_lease_costs_its_own_route_among_many(
    path: Path, table: LeaseTable, quick: Quick, monkeypatch: pytest.MonkeyPatch
) -> None:
    routes = PrefixRoutes(table)
    stage = RoutesStage(quick.backend, Leases(None), Uplinks(None), Delegations(None), routes)
    routes.follow(SERVERS, [Heard("lan0", DUID, HOP)])
    job = stage.job(routes.routes(SERVERS, quick.wanted))
    quick.backend.apply(job.difference)
    quick.backend.verify(job.difference)
    quick.now_s += 10 * WHOLE_LOOK_S
    monkeypatch.setattr(LeaseTable, "held", lambda _self: pytest.fail("all leases are looked at"))
    monkeypatch.setattr(Asked, "become", lambda *_: pytest.fail("all routes are compared"))
    quick.made, asked, looked = 0, quick.frr.read, quick.kernel.looked

    def change(text: str, heard: list[Heard], lines: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        with path.open("a") as file:
            file.write(text)
        done = stage.follow(routes.follow(SERVERS, heard) or ())
        assert done is not None and isinstance(done.difference, RoutesDifference)
        quick.backend.apply(done.difference)
        quick.backend.verify(done.difference)
        assert quick.made <= lines, "lines of its own route alone"
        quick.made = 0
        return done.difference.add, done.difference.remove

    second = "2001:db8:1000:200::/56"
    line = f"ipv6 route {second} fe80::2 lan0 tag 87 10"
    came = row("2001:db8:1000:200::", kind=2, length=56, duid="00:02")
    assert change(came, [Heard("lan0", "00:02", "fe80::2")], 2) == ((line,), ())
    assert change("", [Heard("lan0", "00:02", "fe80::3")], 4)[1] == (line,)
    ended = row("2001:db8:1000:200::", kind=2, length=56, duid="00:02", state=2)
    assert change(ended, [], 2) == ((), (line.replace("fe80::2", "fe80::3"),))
    assert (quick.frr.read, quick.kernel.looked) == (asked, looked)


def message(kind: int, *options: tuple[int, bytes]) -> bytes:
    body = b"".join(struct.pack("!HH", code, len(data)) + data for code, data in options)
    return bytes((kind, 0, 0, 7)) + body


def test_a_client_is_told_by_its_duid_in_what_asks_for_something_of_this_server() -> None:
    duid = bytes.fromhex(DUID.replace(":", ""))
    for kind in (3, 5, 6):
        assert client_of(message(kind, (8, b"\0\0"), (1, duid), (25, b""))) == DUID
    for kind in (1, 2, 7, 8, 11, 12):
        assert client_of(message(kind, (1, duid))) is None
    whole = message(3, (1, duid))
    assert [client_of(whole[:size]) for size in range(len(whole))] == [None] * len(whole)
    assert client_of(message(3, (1, b""))) is None

# SPDX-License-Identifier: Apache-2.0
"""Which router has which prefix: what is heard, what is kept, and what nobody may make of it."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from weir.adapters.dhcp6_heard import Heard, client_of
from weir.agent import prefix_routes
from weir.agent.prefix_routes import PrefixRoutes
from weir.backends.dhcp_leases import LeaseTable
from weir.parts.dhcp6 import Pool, Server6Spec, Wanted

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
    routes.hear(
        [Heard("lan0", DUID, HOP), Heard("lan1", DUID, "fe80::bad"), Heard("lan0", "00:01", "fe80::9")]
    )
    routes.note(SERVERS)
    assert not routes.is_given(routes.ways(SERVERS))
    assert routed(routes) == {POOL: None, PREFIX: HOP}
    assert routes.is_given(routes.ways(SERVERS))
    assert "00:01" not in kept.read_text().replace(DUID, ""), "who has no prefix is not kept"
    assert routed(PrefixRoutes(table, kept)) == {POOL: None, PREFIX: HOP}
    routes.hear([Heard("lan0", DUID, "fe80::2")])
    routes.note(SERVERS)
    assert routed(routes)[PREFIX] == "fe80::2", "it asks from elsewhere now"
    assert routed(routes, {}) == {}
    assert routed(routes, {"lan": replace(SPEC, prefix_pools=())}) == {}


def test_a_lease_that_is_over_takes_its_route_along(path: Path, table: LeaseTable) -> None:
    routes = PrefixRoutes(table)
    routes.hear([Heard("lan0", DUID, HOP)])
    routes.note(SERVERS)
    assert PREFIX in routed(routes)
    with path.open("a") as file:
        file.write(row("2001:db8:1000:100::", kind=2, length=56, state=2))
    assert routed(routes) == {POOL: None}


def test_many_that_pretend_to_ask_take_no_memory_and_no_route(
    table: LeaseTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefix_routes, "MOST_HEARD", 16)
    routes = PrefixRoutes(table)
    routes.hear([Heard("lan0", DUID, HOP)])
    routes.note(SERVERS)
    routes.hear(Heard("lan0", f"00:04:{number:04x}", "fe80::bad") for number in range(1000))
    routes.note(SERVERS)
    assert len(routes._heard) == 16 and routed(routes)[PREFIX] == HOP


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

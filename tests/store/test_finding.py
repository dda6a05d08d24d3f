# SPDX-License-Identifier: Apache-2.0
"""What a search finds among the objects of kinds other than queues."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.store.objects import commit, create, new_store
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.sets import Set, SetEntry
from weir.kinds.static_route import StaticRoute
from weir.kinds.wireguard_peer import WireguardPeer
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.store import ConfigStore, Listing

OBJECTS: tuple[ConfigObject, ...] = (
    Interface("lan0", "lan", ("10.64.0.1/24", "2001:db8:64::1/64"), description="To the customers"),
    StaticRoute("default", "0.0.0.0/0", gateway="203.0.113.1"),
    StaticRoute("branch", "10.77.0.0/16", blackhole=True, comment="The branch at Hamburg"),
    FirewallRule("block", "forward", "drop", source=("192.0.2.0/24", "2001:db8:bad::/48")),
    WireguardPeer("hamburg", "wg0", allowed_ips=("10.77.0.0/16",), endpoint="198.51.100.7:51820"),
    Set("blocked"),
    SetEntry("e1", "blocked", "192.0.2.0/24", comment="spam"),
    SetEntry("e2", "blocked", "192.0.2.77"),
    SetEntry("e3", "blocked", "2001:db8:bad::/48"),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ConfigStore:
    found = new_store(tmp_path_factory.mktemp("finding"))
    commit(found, create(*OBJECTS))
    return found


def found(store: ConfigStore, text: str) -> set[str]:
    kinds = {item.kind for item in OBJECTS}
    return {item.id for kind in kinds for item in store.page(Listing(kind, text=text, sort="id")).items}


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("192.0.2.77", {"block", "e1", "e2", "default"}),
        ("192.0.2.78", {"block", "e1", "default"}),
        ("192.0.2.0/24", {"block", "e1", "default"}),
        ("2001:db8:BAD::9", {"block", "e3"}),
        ("10.64.0.1", {"lan0", "default"}),
        ("2001:db8:64::1", {"lan0"}),
        ("203.0.113.1", {"default"}),
        ("198.51.100.7", {"hamburg", "default"}),
        ("10.77.9.9", {"branch", "hamburg", "default"}),
        ("HAMBURG", {"branch", "hamburg"}),
        ("spam", {"e1"}),
        ("customers", {"lan0"}),
        ("_", set()),
        ("%", set()),
    ],
)
def test_an_address_finds_what_covers_it_and_a_text_what_contains_it(
    store: ConfigStore, text: str, ids: set[str]
) -> None:
    assert found(store, text) == ids


def test_pages_of_what_is_found_are_whole(store: ConfigStore) -> None:
    first = store.page(Listing("set-entry", text="192.0.2.77", sort="name", limit=1))
    rest = store.page(Listing("set-entry", text="192.0.2.77", sort="name", cursor=first.next_cursor))
    assert first.total == 2 and [item.id for item in (*first.items, *rest.items)] == ["e1", "e2"]


def test_more_matches_than_are_remembered_are_counted_and_paged(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    routes = [StaticRoute(f"r{n}", f"10.{n >> 8}.{n & 255}.0/24", gateway="10.0.0.1") for n in range(1500)]
    commit(store, create(*routes))
    page = store.page(Listing("static-route", text="10.0.0.1", sort="id", limit=1000))
    rest = store.page(
        Listing("static-route", text="10.0.0.1", sort="id", limit=1000, cursor=page.next_cursor)
    )
    assert page.total == 1500 and len({item.id for item in (*page.items, *rest.items)}) == 1500


def test_one_of_100_000_set_entries_is_found_at_once(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    many = [SetEntry(f"e{n}", "s", f"10.{n >> 14}.{n >> 6 & 255}.{n % 64 * 4}/30") for n in range(100_000)]
    commit(store, create(Set("s"), *many))
    begun = time.perf_counter()
    page = store.page(Listing("set-entry", text="10.5.0.9", sort="id"))
    passed_s = time.perf_counter() - begun
    assert [item.object.value for item in page.items if isinstance(item.object, SetEntry)] == ["10.5.0.8/30"]
    assert passed_s < 1.0

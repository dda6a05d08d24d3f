# SPDX-License-Identifier: Apache-2.0
"""The hosts beside the router, by REST and by command."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.world import Client, World

MAC = "02:00:00:00:00:01"


def known(address: str, mac: str | None = MAC, queue: str | None = None, **more: Any) -> dict[str, Any]:
    """An address as the agent tells of it."""
    state, confirmed_s = ("reachable", 1.5) if mac else ("failed", None)
    found = {"interface": "lan0", "address": address, "mac": mac, "state": state, "confirmed_s": confirmed_s}
    return {**found, "queue": queue, "name": None, **more}


@pytest.fixture
def hosts(world: World, api: Client) -> Client:
    made = api("PUT", "/queues/q1", {"name": "customer 7", "target": ["10.64.0.9/32"]})
    assert made.status_code == 201, made.json
    world.agent.hosts = [
        known("fe80::1", confirmed_s=0.5),
        known("10.64.0.10"),
        known("10.64.0.9", queue="q1"),
        known("10.64.0.77", None),
        known("192.0.2.1", interface="wan0", queue="gone"),
    ]
    return api


def test_the_addresses_of_a_station_are_one_host(hosts: Client) -> None:
    answer = hosts("GET", "/hosts").json
    first, silent, far = answer["items"]
    assert (first["id"], first["interface"], first["mac"]) == (f"lan0/{MAC}", "lan0", MAC)
    assert [each["address"] for each in first["addresses"]] == ["10.64.0.9", "10.64.0.10", "fe80::1"]
    assert first["confirmed_s"] == 0.5, "the newest of its addresses"
    assert first["addresses"][0]["queue"] == {"id": "q1", "name": "customer 7"}
    assert first["addresses"][1]["queue"] is None
    assert (silent["mac"], silent["confirmed_s"], silent["addresses"][0]["state"]) == (None, None, "failed")
    assert far["addresses"][0]["queue"] == {"id": "gone", "name": "gone"}, "deleted since"
    assert (answer["total"], answer["left_out"]) == (3, 0)


@pytest.mark.parametrize(
    ("words", "addresses"),
    [
        ("10.64.0.1", []),
        ("10.64.0.10", ["10.64.0.9"]),
        ("10.64.0.8/30", ["10.64.0.9"]),
        ("64.0.7", ["10.64.0.77"]),
        ("WAN", ["192.0.2.1"]),
        ("02:00", ["10.64.0.9", "192.0.2.1"]),
        ("fe80::/10", ["10.64.0.9"]),
    ],
)
def test_hosts_are_found_by_address_prefix_mac_and_interface(
    hosts: Client, words: str, addresses: list[str]
) -> None:
    found = hosts("GET", "/hosts", query_string={"q": words}).json["items"]
    assert [host["addresses"][0]["address"] for host in found] == addresses


def test_hosts_are_paged(hosts: Client) -> None:
    first = hosts("GET", "/hosts?limit=2").json
    rest = hosts("GET", f"/hosts?limit=2&cursor={first['next_cursor']}").json
    assert (len(first["items"]), len(rest["items"]), rest["next_cursor"]) == (2, 1, None)


def test_without_the_agent_nobody_says_that_there_are_no_hosts(hosts: Client, world: World) -> None:
    world.agent.__exit__(None, None, None)
    assert hosts("GET", "/hosts").status_code == 503
    world.agent.__enter__()

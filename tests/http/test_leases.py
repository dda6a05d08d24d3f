# SPDX-License-Identifier: Apache-2.0
"""The leases that the router gave, page by page."""

from __future__ import annotations

from typing import Any

from tests.http.world import Client, World


def lease(number: int, **more: Any) -> dict[str, Any]:
    """A lease as the agent tells of it."""
    return {
        "address": f"10.64.0.{number}",
        "mac": f"02:00:00:00:00:{number:02x}",
        "hostname": f"host{number}",
        "client_id": None,
        "expires_ms": 1_800_000_000_000,
        "server": "lan",
        "interface": "lan0",
        "reservation": None,
        "network": "10.64.0.0/24",
        "gateway": None,
        "origin": None,
        **more,
    }


def test_leases_come_by_pages_with_their_end_and_reservation(world: World, api: Client) -> None:
    world.agent.leases = [lease(1, reservation="r1"), lease(2, hostname=None), lease(3)]
    first = api("GET", "/leases?limit=2").json
    assert [item["address"] for item in first["items"]] == ["10.64.0.1", "10.64.0.2"]
    assert first["items"][0]["expires_at"] == "2027-01-15T08:00:00.000Z"
    assert (first["items"][0]["reservation"], first["items"][1]["hostname"]) == ("r1", None)
    assert (first["total"], first["next_cursor"]) == (3, "2")
    last = api("GET", f"/leases?limit=2&cursor={first['next_cursor']}").json
    assert [item["address"] for item in last["items"]] == ["10.64.0.3"]
    assert last["next_cursor"] is None


def test_words_are_searched_for_by_the_agent(world: World, api: Client) -> None:
    world.agent.leases = [lease(1), lease(2)]
    assert [item["address"] for item in api("GET", "/leases?q=host2").json["items"]] == ["10.64.0.2"]

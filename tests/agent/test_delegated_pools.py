# SPDX-License-Identifier: Apache-2.0
"""Routers behind this one are given parts of what a provider delegated, until that changes or is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from lab import netns
from tests.agent.rig import Rig, running
from tests.agent.test_delegation import FIRST, SECOND, Provider, inside, uplink
from tests.agent.test_dhcp6_delegated import stays
from tests.agent.test_dhcp6_server import Dhclient, has_own_address, learnt
from tests.agent.test_prefix_routes import delegated, own, routed
from tests.polling import until
from weir.kinds.dhcp6_pools import DelegatedPool
from weir.kinds.dhcp6_server import Dhcpv6Server

SERVER = Dhcpv6Server(
    "lan", "lan0", dns_servers=("2001:db8::53",), delegated_pools=(DelegatedPool("wan0", 60),)
)
FIRST_POOL, SECOND_POOL = "2001:db8:f000:80::/57", "2001:db8:e000:80::/57"
FIRST_PART, SECOND_PART = "2001:db8:f000:80::/60", "2001:db8:e000:80::/60"


@pytest.fixture(scope="module")
def router() -> Iterator[tuple[Rig, Provider]]:
    with running(frr=True) as made:
        netns.ip(made.internet, ["addr add 2001:db8:100::1/64 dev i0 nodad"])
        made.commit(inside(), uplink(), SERVER)
        until("the client has an address to ask from", lambda: has_own_address(made), 15.0)
        provider = Provider(made)
        yield made, provider
        provider.ends()


def prefix_of(client: Dhclient) -> str | None:
    """Of its last lease, without what was taken back in the same answer."""
    found = re.findall(r"iaprefix (\S+) {[^}]*max-life (\d+);", client.kept.read_text())
    return next((prefix for prefix, lasts_s in reversed(found) if lasts_s != "0"), None)


def pool(rig: Rig) -> dict[str, Any]:
    (found,) = learnt(rig)["pools"]
    return dict(found)


def test_a_router_behind_has_a_part_until_the_prefix_changes(router: tuple[Rig, Provider]) -> None:
    rig, provider = router
    assert "not known yet" in pool(rig)["failure"] and pool(rig)["prefix"] is None
    provider.gives(FIRST, renew_s=2, valid_s=24)
    until("there is a pool", lambda: pool(rig)["prefix"] == FIRST_POOL, 40.0)
    until("Kea listens", lambda: learnt(rig).get("serving"), 20.0)
    client = Dhclient(rig, 1)
    process = stays(rig, client, "-P")
    try:
        until("its prefix is routed to it", lambda: routed(rig, FIRST_PART) == own(rig), 30.0)
        assert prefix_of(client) == FIRST_PART
        assert pool(rig) == {
            **{"prefix": FIRST_POOL, "length": 60, "delegated_count": 1},
            **{"origin": f"{FIRST} of wan0", "failure": None},
        }
        lease = delegated(rig)[FIRST_PART]
        assert (lease["origin"], lease["gateway"]) == (f"{FIRST} of wan0", own(rig).split()[0])
        is_explained(rig, FIRST_PART, FIRST)
        assert rig.status()["drift"] == [] and rig.agent.call("resync")["faults"] == []
        provider.gives(SECOND, renew_s=2, valid_s=24)
        until("the old route is gone", lambda: routed(rig, FIRST_PART) is None, 40.0)
        until("it renews to another", lambda: prefix_of(client) == SECOND_PART, 30.0)
        until("that is routed to it", lambda: routed(rig, SECOND_PART) == own(rig), 20.0)
        is_explained(rig, SECOND_PART, SECOND)
        assert set(delegated(rig)) == {SECOND_PART} and pool(rig)["prefix"] == SECOND_POOL
    finally:
        process.kill()
        process.wait()


def is_explained(rig: Rig, prefix: str, whole: str) -> None:
    answer = rig.explain("lan", "dhcpv6-server")
    assert f"/60 of {prefix[:-3]}/57, a part of {whole} of wan0" in [
        line["system"] for line in answer["lines"]
    ]
    (line,) = [line for line in answer["lines"] if prefix in line["compiled"]]
    assert f"a part of {whole} of wan0" in line["compiled"] and line["agrees"] is True, line


def test_what_nobody_has_of_it_is_rejected_as_one_with_the_rest(router: tuple[Rig, Provider]) -> None:
    rig, _ = router
    assert routed(rig, SECOND) == "unreachable" and routed(rig, SECOND_POOL) is None


def test_a_prefix_that_is_lost_takes_all_routes_along(router: tuple[Rig, Provider]) -> None:
    rig, provider = router
    provider.ends()
    until("it is over", lambda: pool(rig)["failure"] == "wan0 has no prefix", 40.0)
    assert routed(rig, SECOND_PART) is None and delegated(rig) == {}
    assert routed(rig, SECOND) is None
    assert rig.explain("lan", "dhcpv6-server")["agrees"] is True

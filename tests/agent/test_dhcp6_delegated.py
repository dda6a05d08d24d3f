# SPDX-License-Identifier: Apache-2.0
"""Kea gives addresses of a prefix that a provider delegated: until it changes, and not after it is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from lab import netns
from tests.agent.rig import Rig, running
from tests.agent.test_delegation import FIRST, FIRST_LAN, SECOND, SECOND_LAN, Provider, inside, uplink
from tests.agent.test_dhcp6_server import NO_PREFIXES, Dhclient, has_own_address, learnt
from tests.polling import until
from weir.kinds.dhcp6_server import Dhcpv6Server

SERVER = Dhcpv6Server("lan", "lan0", first="::100", last="::109", dns_servers=("2001:db8::53",))


@pytest.fixture(scope="module")
def router() -> Iterator[tuple[Rig, Provider]]:
    with running(frr=True) as made:
        netns.ip(made.internet, ["addr add 2001:db8:100::1/64 dev i0 nodad"])
        made.commit(inside(), uplink(), SERVER)
        until("the client has an address to ask from", lambda: has_own_address(made), 15.0)
        provider = Provider(made)
        yield made, provider
        provider.ends()


def stays(rig: Rig, client: Dhclient) -> Any:
    """The client, which goes on to renew what it has."""
    files = ("-cf", "/dev/null", "-lf", str(client.kept), "-pf", str(rig.folder / "stays.pid"))
    command = ("dhclient", "-6", "-d", "-sf", "/bin/true", *files, "c0")
    return rig.spawn("stays", command, netns.entering(rig.client_ns))


def test_addresses_follow_the_prefix(router: tuple[Rig, Provider]) -> None:
    rig, provider = router
    assert learnt(rig) == {
        **{"serving": False, "network": None, "lease_count": 0, "address_count": 0},
        **NO_PREFIXES,
    }
    provider.gives(FIRST, renew_s=2, valid_s=24)
    until("there is a prefix", lambda: learnt(rig).get("network") == FIRST_LAN, 30.0)
    until("Kea listens", lambda: learnt(rig).get("serving"), 20.0)
    client = Dhclient(rig, 1)
    process = stays(rig, client)
    try:
        until("the client has an address", lambda: client.address, 20.0)
        assert client.address == "2001:db8:f000:3::100"
        lifetime_s = int(re.findall(r"max-life (\d+);", client.kept.read_text())[-1])
        assert 0 < lifetime_s <= 24, "no longer than the prefix is the router's"
        provider.gives(SECOND, renew_s=2, valid_s=24)
        until("there is another prefix", lambda: learnt(rig).get("network") == SECOND_LAN, 40.0)
        until("it renews to one of that", lambda: client.address == "2001:db8:e000:3::100", 30.0)
    finally:
        process.kill()
        process.wait()
    assert learnt(rig)["lease_count"] == 1 and learnt(rig)["serving"] is True


def test_a_prefix_that_is_lost_is_served_no_more(router: tuple[Rig, Provider]) -> None:
    rig, provider = router
    provider.ends()
    until("it is over", lambda: learnt(rig).get("network", "") is None, 40.0)
    assert learnt(rig)["serving"] is False
    answer = rig.explain("lan", "dhcpv6-server")
    assert answer["agrees"] is True, answer
    assert "nobody is answered" in str(answer["lines"])

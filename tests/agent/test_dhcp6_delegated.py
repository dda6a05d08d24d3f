# SPDX-License-Identifier: Apache-2.0
"""Kea gives addresses of a prefix that a provider delegated: until it changes, and not after it is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from lab import netns
from tests.agent.rig import Rig, running
from tests.agent.test_delegation import FIRST, FIRST_LAN, SECOND, SECOND_LAN, Provider, inside, uplink
from tests.agent.test_dhcp6_server import NO_PREFIXES, Dhclient, has_own_address, learnt, pid_of
from tests.agent.test_dhcp_server import leases
from tests.polling import until
from weir.kinds.dhcp6_server import Dhcpv6Server
from weir.model.announcing import Announcement
from weir.model.interface import Interface

SERVER = Dhcpv6Server("lan", "lan0", first="::100", last="::109", dns_servers=("2001:db8::53",))
STATIC = Interface("lan1", "lan", addresses=("2001:db8:65::1/64",), ra=Announcement())
BESIDE = replace(SERVER, id="beside", interface="lan1")


@pytest.fixture(scope="module")
def router() -> Iterator[tuple[Rig, Provider]]:
    with running(frr=True) as made:
        netns.ip(made.internet, ["addr add 2001:db8:100::1/64 dev i0 nodad"])
        made.cable("lan1", made.client_ns, "c1")
        made.commit(inside(), uplink(), SERVER)
        until("the client has an address to ask from", lambda: has_own_address(made), 15.0)
        provider = Provider(made)
        yield made, provider
        provider.ends()


def stays(rig: Rig, client: Dhclient, *words: str) -> Any:
    """The client, which goes on to renew what it has."""
    files = ("-cf", "/dev/null", "-lf", str(client.kept), "-pf", str(rig.folder / "stays.pid"))
    command = ("dhclient", "-6", "-d", "-sf", "/bin/true", *files, *words, "c0")
    return rig.spawn("stays", command, netns.entering(rig.client_ns))


def test_nothing_runs_and_the_reason_is_told_while_there_is_no_prefix(router: tuple[Rig, Provider]) -> None:
    rig, _ = router
    assert learnt(rig) == {
        **{"serving": False, "network": None, "lease_count": 0, "address_count": 0, "origin": None},
        **{"failure": "whether wan0 gets a prefix is not known yet"},
        **NO_PREFIXES,
    }
    assert not (rig.folder / "daemons/dhcp6/pid").exists(), "Kea was never started"
    assert rig.status()["drift"] == [] and rig.agent.call("resync")["faults"] == []


def test_addresses_follow_the_prefix_and_those_of_others_stay(router: tuple[Rig, Provider]) -> None:
    rig, provider = router
    rig.commit(STATIC, BESIDE)
    until("it serves the other network", lambda: learnt(rig, name="beside").get("serving"), 20.0)
    beside, before = Dhclient(rig, 9), pid_of(rig)
    until("that has an address to ask from", lambda: has_own_address(rig, "c1"), 15.0)
    beside.asks(link="c1")
    assert beside.address == "2001:db8:65::100"
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
    assert learnt(rig)["origin"] == f"{SECOND} of wan0" and learnt(rig)["failure"] is None
    assert f"a part of {SECOND} of wan0" in str(rig.explain("lan", "dhcpv6-server")["lines"])
    assert beside.address in [item["address"] for item in leases(rig)] and pid_of(rig) == before


def test_a_prefix_that_is_lost_is_served_no_more(router: tuple[Rig, Provider]) -> None:
    rig, provider = router
    provider.ends()
    until("it is over", lambda: learnt(rig).get("failure") == "wan0 has no prefix", 40.0)
    assert learnt(rig)["serving"] is False and learnt(rig)["network"] is None
    assert learnt(rig, name="beside")["serving"] is True
    answer = rig.explain("lan", "dhcpv6-server")
    assert answer["agrees"] is True, answer
    assert "nobody is answered" in str(answer["lines"])

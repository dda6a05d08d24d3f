# SPDX-License-Identifier: Apache-2.0
"""A WAN is given a prefix by Kea, and a host inside has an address of it, until it changes or is lost."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from ipaddress import IPv6Network
from typing import Any

import pytest

from lab import netns
from tests.agent.rig import Rig, lan, running, wan
from tests.agent.test_announcing import addresses, told
from tests.agent.test_effects import committed
from tests.polling import until
from weir.kinds.firewall import Firewall
from weir.model.announcing import Announcement
from weir.model.delegation import Delegated, Dhcpv6
from weir.model.interface import Interface

FIRST, SECOND = "2001:db8:f000::/56", "2001:db8:e000::/56"
FIRST_LAN, SECOND_LAN = "2001:db8:f000:3::/64", "2001:db8:e000:3::/64"
FAR = "2001:db8:9::9"


class Provider:
    """Kea on i0, which gives one prefix, for an hour if it is not told to ask again sooner."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._process: subprocess.Popen[bytes] | None = None

    def gives(self, prefix: str, renew_s: int = 1000, valid_s: int = 3600) -> None:
        self.ends()
        network = IPv6Network(prefix)
        pool = {
            "prefix": str(network.network_address),
            "prefix-len": network.prefixlen,
            "delegated-len": network.prefixlen,
        }
        subnet = {
            **{"id": 1, "subnet": "2001:db8:100::/64", "interface": "i0", "pd-pools": [pool]},
            "pools": [{"pool": "2001:db8:100::50-2001:db8:100::59"}],
        }
        config = {
            "interfaces-config": {"interfaces": ["i0"]},
            "lease-database": {"type": "memfile", "persist": False},
            **{"preferred-lifetime": valid_s, "valid-lifetime": valid_s},
            **{"renew-timer": renew_s, "rebind-timer": valid_s - 1},
            "server-id": {"type": "EN", "enterprise-id": 4491, "identifier": "87ABEF", "persist": False},
            "subnet6": [subnet],
        }
        file = self._rig.folder / "kea6.conf"
        file.write_text(json.dumps({"Dhcp6": config}))
        until("its interface has an address", self._is_ready, 15.0)
        command = ("env", f"KEA_PIDFILE_DIR={self._rig.folder}", f"KEA_LOCKFILE_DIR={self._rig.folder}")
        command += ("kea-dhcp6", "-c", str(file))
        self._process = self._rig.spawn("kea6", command, netns.entering(self._rig.internet))

    def _is_ready(self) -> bool:
        words = ("ip", "-6", "address", "show", "dev", "i0", "scope", "link", "-tentative", "up")
        return "fe80:" in self._rig.run(*words, namespace=self._rig.internet)

    def ends(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            for file in self._rig.folder.glob("kea6.*.pid"):
                file.unlink()


@pytest.fixture(scope="module")
def router() -> Iterator[tuple[Rig, Provider]]:
    with running(frr=True) as made:
        netns.ip(made.internet, ["addr add 2001:db8:100::1/64 dev i0 nodad", f"addr add {FAR}/128 dev lo"])
        made.run("sysctl", "-qw", "net.ipv6.conf.all.forwarding=1", namespace=made.internet)
        provider = Provider(made)
        yield made, provider
        provider.ends()


@pytest.fixture
def rig(router: tuple[Rig, Provider]) -> Rig:
    return router[0]


@pytest.fixture
def provider(router: tuple[Rig, Provider]) -> Provider:
    return router[1]


def uplink(**more: Any) -> Interface:
    """A WAN with a way out of its own."""
    own = ("203.0.113.2/24", "2001:db8:100::2/64")
    return wan(**{"addresses": own, "dhcpv6": Dhcpv6(), **more})


def inside(**more: Any) -> Interface:
    taken = Delegated("wan0", 3)
    return lan(**{"addresses": ("10.64.0.1/24",), "ra": Announcement(), "delegated": taken, **more})


def state(rig: Rig, name: str) -> dict[str, Any]:
    found: dict[str, Any] = rig.agent.call("state", {"kind": "interface"})["objects"].get(name, {})
    return found


def has_prefix(rig: Rig, network: str) -> bool:
    return state(rig, "lan0").get("delegated_network") == network


def test_a_host_inside_has_an_address_of_the_prefix_and_reaches_the_provider(
    rig: Rig, provider: Provider
) -> None:
    rig.commit(inside(), uplink(), Firewall(drop_new_from_wan=True))
    provider.gives(FIRST)
    until("there is a prefix", lambda: has_prefix(rig, FIRST_LAN), 20.0)
    asked = state(rig, "wan0")
    assert asked["delegated_prefix"] == FIRST and 3500 < asked["dhcpv6_valid_s"] <= 3600
    assert asked["dhcpv6_failure"] is None and state(rig, "lan0")["delegated_subnet"] == 3
    until("the router has the first address", lambda: "2001:db8:f000:3::1/64" in rig.addresses("lan0"))
    until("the host has an address", lambda: addresses(rig).get(FIRST_LAN) is False, 15.0)
    netns.ip(rig.internet, [f"route replace {FIRST} via 2001:db8:100::2"])
    netns.ip(rig.router, [f"route replace {FAR} via 2001:db8:100::1"])
    until("the provider answers the host", lambda: pings(rig), 15.0)
    assert told(rig)["prefixes"] == {FIRST_LAN: (True, 2700, 3150)}, (
        "RFC 9096, and no longer than it is given"
    )
    assert rig.status()["drift"] == [] and rig.agent.call("resync")["faults"] == []


def pings(rig: Rig) -> bool:
    try:
        rig.run("ping", "-6", "-c", "1", "-W", "1", FAR, namespace=rig.client_ns)
    except AssertionError:
        return False
    return True


def test_the_rest_of_the_prefix_does_not_go_back_to_the_provider(rig: Rig) -> None:
    until("it is rejected", lambda: rejected(rig, FIRST), 15.0)
    with pytest.raises(AssertionError):
        rig.run("ping", "-6", "-c", "1", "-W", "1", "2001:db8:f000:77::1", namespace=rig.internet)
    with pytest.raises(AssertionError):
        rig.run("ping", "-6", "-c", "1", "-W", "5", "2001:db8:f000:77::1", namespace=rig.client_ns)
    counted = rig.run("cat", "/proc/net/snmp6", namespace=rig.client_ns).split()
    assert int(counted[counted.index("Icmp6InDestUnreachs") + 1]) > 0, "and who asks for it is told"


def rejected(rig: Rig, prefix: str) -> bool:
    return f"unreachable {prefix}" in rig.run("ip", "-6", "route", "show", "table", "all")


def test_an_agent_that_was_killed_goes_on_with_what_it_had(rig: Rig) -> None:
    rig.kill_agent()
    before = rig.addresses("lan0")
    assert "2001:db8:f000:3::1/64" in before
    rig.start_agent()
    assert rig.addresses("lan0") == before and rejected(rig, FIRST)
    assert addresses(rig)[FIRST_LAN] is False
    until("it knows what it has", lambda: state(rig, "wan0").get("delegated_prefix") == FIRST, 15.0)


def test_a_prefix_that_changed_while_no_agent_was_there_is_given_up(rig: Rig, provider: Provider) -> None:
    rig.kill_agent()
    provider.gives(SECOND, renew_s=2, valid_s=10)
    rig.start_agent()
    until("there is another prefix", lambda: has_prefix(rig, SECOND_LAN), 30.0)
    until("the host has an address of it", lambda: addresses(rig).get(SECOND_LAN) is False, 15.0)
    until("that of before is deprecated", lambda: addresses(rig).get(FIRST_LAN) is True, 15.0)
    assert {"10.64.0.1/24", "2001:db8:e000:3::1/64"} == rig.addresses("lan0")
    until("only that is rejected", lambda: rejected(rig, SECOND) and not rejected(rig, FIRST), 15.0)


def test_a_prefix_that_nobody_prolongs_is_given_up(rig: Rig, provider: Provider) -> None:
    provider.ends()
    until("it is over", lambda: state(rig, "wan0").get("delegated_prefix", "") is None, 20.0)
    until("hosts give it up", lambda: addresses(rig).get(SECOND_LAN, True) is True, 15.0)
    until("it is no gateway to anywhere (RFC 7084, G-4)", lambda: told(rig)["lifetime_s"] == 0, 15.0)
    ended = told(rig)["prefixes"].get(SECOND_LAN, (True, 0, 0))
    assert ended == (True, 0, 0), "as long as a host may have it"
    assert rig.addresses("lan0") == {"10.64.0.1/24"}
    assert "no prefix" in state(rig, "lan0")["delegated_failure"] and state(rig, "wan0")["dhcpv6_failure"]


def test_an_address_is_given_too_where_it_is_asked_for_and_all_goes_with_the_question(
    rig: Rig, provider: Provider
) -> None:
    provider.gives(FIRST)
    rig.commit(uplink(addresses=("203.0.113.2/24",), dhcpv6=Dhcpv6(60, address=True)))
    until("there is an address", lambda: state(rig, "wan0").get("dhcpv6_address"), 40.0)
    own = f"{state(rig, 'wan0')['dhcpv6_address']}/128"
    assert own.startswith("2001:db8:100::5")
    until("the WAN has it", lambda: own in rig.addresses("wan0"))
    until("and a prefix", lambda: has_prefix(rig, FIRST_LAN))
    said = committed(rig, uplink(addresses=("203.0.113.2/24",), dhcpv6=None), inside(delegated=None))
    assert "give up" in said["interface", "lan0"]["text"], said
    until("all of it has gone", lambda: rig.addresses("wan0") == {"203.0.113.2/24"}, 15.0)
    assert rig.addresses("lan0") == {"10.64.0.1/24"} and not rejected(rig, FIRST)

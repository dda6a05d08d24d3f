# SPDX-License-Identifier: Apache-2.0
"""Router advertisements through REST and commands, what is refused of them, and what becomes of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.kinds.toys import toy
from weir.kinds.dns import Dns
from weir.model.announcing import Announcement
from weir.model.document import Document
from weir.model.interface import Interface, Loopback
from weir.model.links import Bridge, BridgePort
from weir.model.objects import ConfigObject
from weir.model.rules import validate_all
from weir.parts.announcing import ANNOUNCING, AnnounceSpec
from weir.parts.autoconf import AUTOCONF

HERE = ("10.0.0.1/24", "2001:db8:1::1/64", "fe80::1/64", "2001:db8:1::2/64")


def found(*objects: ConfigObject) -> set[str]:
    return {item.code for item in validate_all(Document(objects))}


def spec(*objects: ConfigObject) -> AnnounceSpec | None:
    return ANNOUNCING.wanted(Document(objects)).get("lan0")


def lan(**more: Any) -> Interface:
    return Interface("lan0", **{"role": "lan", "addresses": HERE, "ra": Announcement(), **more})


def test_they_are_switched_on_changed_and_off(tmp_path: Path) -> None:
    with toy(tmp_path) as router:
        router.weir("interface", "add", "lan0", "--role", "lan", "--address", "2001:db8:1::1/64", "--ra-dns")
        assert router.weir_json("interface", "show", "lan0")["ra"] == {
            **{"dns": True, "managed": False, "other": False},
            **{"router_lifetime_s": 1800, "preferred_s": 14_400, "valid_s": 86_400},
        }
        router.weir("interface", "set", "lan0", "--ra-preferred-s", "600")
        shown = router.weir_json("interface", "show", "lan0")["ra"]
        assert (shown["preferred_s"], shown["valid_s"]) == (600, 86_400)
        router.weir("interface", "set", "lan0", "--unset", "ra")
        assert router.weir_json("interface", "show", "lan0")["ra"] is None


@pytest.mark.parametrize(
    ("interface", "code"),
    [
        (lan(role="wan"), "ra-on-wan"),
        (lan(loopback=Loopback()), "ra-without-hosts"),
        (lan(vrf="blue"), "ra-in-vrf"),
        (lan(addresses=("10.0.0.1/24",)), "ra-no-prefix"),
        (lan(addresses=("fe80::1/64",)), "ra-no-prefix"),
        (lan(addresses=("2001:db8::1/56",)), "ra-prefix-length"),
        (lan(ra=Announcement(preferred_s=2, valid_s=1)), "ra-lifetimes"),
        (lan(ra=Announcement(router_lifetime_s=29)), "ra-lifetimes"),
        (lan(ipv6_addressing="auto"), "slaac-and-ra"),
        (lan(ra=None, ipv6_addressing="auto"), "slaac-inside"),
        (lan(ra=None, ipv6_addressing="auto", role="wan", vrf="blue"), "slaac-in-vrf"),
        (lan(ra=None, ipv6_addressing="auto", loopback=Loopback()), "slaac-without-routers"),
    ],
)
def test_what_hosts_could_not_use_is_said(interface: Interface, code: str) -> None:
    assert code in found(interface)


def test_a_port_of_a_bridge_announces_nothing_of_its_own() -> None:
    bridge = Interface("br0", bridge=Bridge((BridgePort("lan0"),)))
    assert "member-with-its-own" in found(bridge, lan(role="none", addresses=()))
    learns = lan(role="none", addresses=(), ra=None, ipv6_addressing="auto")
    assert "member-with-its-own" in found(bridge, learns)


def test_a_wan_may_learn_its_addresses() -> None:
    uplink = lan(role="wan", ra=None, addresses=(), ipv6_addressing="auto")
    assert not any(code.startswith("slaac-") for code in found(uplink))
    assert list(AUTOCONF.wanted(Document((uplink,)))) == ["lan0"]
    assert not AUTOCONF.wanted(Document((replace(uplink, disabled=True),)))


def test_what_hosts_can_use_is_fine() -> None:
    fine = (lan(), lan(ra=Announcement(router_lifetime_s=0)), lan(ra=Announcement(preferred_s=0, valid_s=0)))
    assert not any(code.startswith("ra-") for item in fine for code in found(item))


def test_each_network_is_announced_once_and_the_name_service_where_it_answers() -> None:
    without, answered = spec(lan()), spec(lan(), Dns(enabled=True))
    assert without is not None and answered is not None
    assert [one.prefix for one in without.prefixes] == ["2001:db8:1::/64"]
    assert without.dns_servers == () and without.domain is None
    assert answered.dns_servers == ("2001:db8:1::1", "2001:db8:1::2")
    assert answered.domain == Dns().domain
    assert spec(lan(ra=Announcement(dns=False)), Dns(enabled=True)) == without
    assert spec(lan(disabled=True)) is None and spec(lan(ra=None)) is None


def test_hosts_make_no_addresses_of_a_network_that_is_not_a_64() -> None:
    wide = spec(lan(addresses=("2001:db8::1/56",)))
    assert wide is not None and [one.autonomous for one in wide.prefixes] == [False]

# SPDX-License-Identifier: Apache-2.0
"""Prefix delegation and router advertisements of RouterOS."""

from __future__ import annotations

import pytest

from tests.formats.routeros import import_of, of_kind
from weir.formats import ImportReport

HOME = """\
/interface bridge
add name=bridge
/interface bridge port
add bridge=bridge interface=ether2
/interface list
add name=WAN
add name=LAN
/interface list member
add interface=ether1 list=WAN
add interface=bridge list=LAN
"""
CLIENT = """\
/ipv6 dhcp-client
add interface=ether1 pool-name=isp prefix-hint=::/56 request=address,prefix add-default-route=yes
"""
PART = """\
/ipv6 address
add address=::1 from-pool=isp interface=bridge
"""


def interface(report: ImportReport, object_id: str) -> dict[str, object]:
    return next(item for item in interfaces(report) if item["id"] == object_id)


def interfaces(report: ImportReport) -> list[dict[str, object]]:
    return of_kind(report, "interface")


def fate(report: ImportReport, menu: str) -> tuple[str, str]:
    """Of the menu's last command."""
    return [(line.fate, line.code) for line in report.lines if line.source.startswith(menu)][-1]


def test_a_home_with_a_delegated_prefix_keeps_ipv6() -> None:
    report = import_of(HOME + CLIENT + PART)
    outside, inside = interface(report, "ether1"), interface(report, "bridge")
    assert outside["dhcpv6"] == {"pd_hint": 56, "address": True}
    assert outside["ipv6_addressing"] == "auto"
    assert inside["delegated"] == {"uplink": "ether1", "subnet_id": None}
    assert inside["ra"]
    assert fate(report, "/ipv6 dhcp-client") == ("changed", "announced-gateway")
    assert fate(report, "/ipv6 address") == ("imported", "ok")


def test_a_pppoe_session_asks_for_a_prefix_and_takes_no_part_of_it() -> None:
    session = "/interface pppoe-client\nadd interface=ether1 name=dsl user=me\n"
    home = HOME.replace("interface=ether1", "interface=dsl") + session
    report = import_of(home + CLIENT.replace("ether1", "dsl") + PART)
    outside = interface(report, "dsl")
    assert outside["dhcpv6"] == {"pd_hint": 56, "address": True}
    assert outside["ipv6_addressing"] == "auto"
    assert interface(report, "bridge")["delegated"] == {"uplink": "dsl", "subnet_id": None}
    report = import_of(home + CLIENT.replace("ether1", "dsl") + PART.replace("=bridge", "=dsl"))
    assert fate(report, "/ipv6 address") == ("left-out", "no-part-here")


@pytest.mark.parametrize(
    ("home", "client", "code", "reason"),
    [
        (HOME.replace("list=WAN", "list=LAN"), CLIENT, "no-prefix-here", "no list of WANs"),
        (HOME.replace("add interface=ether1 list=WAN\n", ""), CLIENT, "no-prefix-here", "no list of WANs"),
        (HOME, CLIENT.replace("address,prefix", "info"), "settings-only", "settings only"),
        (HOME, CLIENT.strip() + " disabled=yes\n", "disabled", "disabled"),
        (HOME, CLIENT.replace("::/56", "::/72"), "bad-value", "32 to 64 bits"),
        (HOME, CLIENT.replace("::/56", "nonsense"), "bad-value", "32 to 64 bits"),
        (
            HOME,
            CLIENT.replace("ether1", "ether2"),
            "no-prefix-here",
            "bridge or bond",
        ),
    ],
)
def test_who_asks_for_no_prefix_is_told_and_its_networks_as_well(
    home: str, client: str, code: str, reason: str
) -> None:
    report = import_of(home + client + PART)
    (line,) = (line for line in report.lines if line.source.startswith("/ipv6 dhcp-client"))
    assert (line.fate, line.code) == ("left-out", code)
    assert reason in line.reason
    assert fate(report, "/ipv6 address") == ("left-out", "no-pool")
    assert not any("dhcpv6" in item or "delegated" in item or "ra" in item for item in interfaces(report))


@pytest.mark.parametrize(
    ("part", "expected", "left"),
    [
        (PART.replace("::1", "::53/64"), ("changed", "first-address"), True),
        (PART.replace("::1", "::1/60"), ("changed", "part-length"), True),
        (PART.replace("address=::1", "eui-64=yes"), ("changed", "first-address"), True),
        (PART.strip() + " advertise=no\n", ("warning", "not-advertised"), True),
        (PART.replace("bridge", "ether1"), ("left-out", "no-part-here"), False),
        (PART.replace("bridge", "ether2"), ("left-out", "member-with-its-own"), False),
        (PART.replace("isp", "another"), ("left-out", "no-pool"), False),
        (PART + PART.replace("::1", "::2"), ("left-out", "second-part"), True),
    ],
)
def test_what_a_part_becomes(part: str, expected: tuple[str, str], left: bool) -> None:
    report = import_of(HOME + CLIENT + part)
    assert fate(report, "/ipv6 address") == expected
    assert any("delegated" in item for item in interfaces(report)) == left
    advertised = left and "advertise=no" not in part
    assert any("ra" in item for item in interfaces(report)) == advertised


def test_no_comment_is_lost_without_a_word() -> None:
    one, other = 'comment="Fiber"', 'comment="Another"'
    report = import_of(
        f"{HOME}/ip dhcp-client\nadd interface=ether1 {one}\n"
        f"{CLIENT.strip()} {other}\n{PART.strip()} {one}\n"
        f"add address=2001:db8::1/64 interface=bridge {other}\n"
    )
    assert [interface(report, name)["description"] for name in ("ether1", "bridge")] == ["Fiber", "Fiber"]
    told = [line for line in report.lines if "Its comment is not kept" in line.reason]
    assert [line.source.partition(" add ")[0] for line in told] == ["/ipv6 dhcp-client", "/ipv6 address"]


STATIC = "/ipv6 address\nadd address=2001:db8:5::1/64 interface=bridge\n"


def test_a_static_network_is_announced_as_it_was() -> None:
    settings = "set [ find default=yes ] advertise-dns=no ra-lifetime=10m"
    report = import_of(f"{HOME}{STATIC}/ipv6 nd\n{settings}\n")
    found = interface(report, "bridge")["ra"]
    assert isinstance(found, dict)
    assert (found["dns"], found["router_lifetime_s"], found["managed"]) == (False, 600, False)
    assert fate(report, "/ipv6 nd") == ("imported", "ok")


def test_an_interface_of_its_own_comes_before_all() -> None:
    settings = (
        "set [ find default=yes ] managed-address-configuration=yes\nadd interface=bridge ra-lifetime=none"
    )
    report = import_of(f"{HOME}{STATIC}/ipv6 nd\n{settings}\n")
    found = interface(report, "bridge")["ra"]
    assert isinstance(found, dict)
    assert (found["managed"], found["router_lifetime_s"]) == (False, 0)
    first, second = (line for line in report.lines if line.source.startswith("/ipv6 nd"))
    assert (first.fate, first.code) == ("left-out", "nothing-announced")
    assert second.fate == "imported"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (STATIC + "/ipv6 nd\nset [ find default=yes ] disabled=yes\n", "disabled in the file"),
        (STATIC.replace("bridge", "ether1"), "is a WAN"),
    ],
)
def test_a_network_that_is_not_announced_is_told(text: str, words: str) -> None:
    report = import_of(HOME + text)
    (line,) = (line for line in report.lines if line.source.startswith("/ipv6 address"))
    assert (line.fate, line.code) == ("warning", "not-advertised")
    assert words in line.reason
    assert not any("ra" in item for item in interfaces(report))


SERVER_6 = (
    "/ipv6 address\nadd address=2001:db8:64::1/64 interface=ether2\n"
    "/ipv6 pool\nadd name=hosts prefix=2001:db8:64::2:0/112 prefix-length=128\n"
    "add name=routers prefix=2001:db8:70::/48 prefix-length=56\n"
    "add name=wide prefix=2001:db8:64::/64 prefix-length=128\n"
    "/ipv6 dhcp-server\n"
)


def of_server_6(words: str) -> tuple[list[dict[str, object]], dict[str, str]]:
    """The servers, and what became of the lines of servers and pools."""
    report = import_of(SERVER_6 + f"add interface=ether2 name=six {words}\n")
    lines = [line for line in report.lines if line.source.startswith(("/ipv6 dhcp-server", "/ipv6 pool"))]
    return of_kind(report, "dhcpv6-server"), {line.source: f"{line.fate} {line.code}" for line in lines}


def test_a_dhcpv6_server_gives_the_addresses_of_its_pool() -> None:
    (server,), fates = of_server_6("address-pool=hosts lease-time=1h")
    assert (server["interface"], server["first"], server["last"]) == ("ether2", "::2:0", "::2:ffff")
    assert (server["valid_s"], server["preferred_s"]) == (3600, 3600)
    ends = [*("imported ok",) * 2, *("left-out unused-pool",) * 2]
    assert sorted(fates.values()) == ends, "pools of which nobody gets an address"
    (server,), fates = of_server_6("address-pool=wide")
    assert "first" not in server and server["valid_s"] == 259_200


def test_a_dhcpv6_server_without_a_pool_tells_settings_and_one_of_an_unknown_pool_is_left_out() -> None:
    (server,), _ = of_server_6("")
    assert server["mode"] == "stateless"
    servers, fates = of_server_6("address-pool=isp")
    assert servers == [] and "left-out no-pool" in fates.values()
    for words in ("prefix-pool=isp", "prefix-pool=hosts"):
        servers, fates = of_server_6(words)
        assert servers == [] and "left-out no-prefix-pool" in fates.values()


def test_a_dhcpv6_server_delegates_the_prefixes_of_its_pool_with_addresses_or_without() -> None:
    pool = {"prefix": "2001:db8:70::/48", "length": 56}
    for words in (
        "address-pool=routers",
        "prefix-pool=routers",
        "prefix-pool=routers address-pool=static-only",
    ):
        (server,), fates = of_server_6(f"{words} lease-time=1h")
        assert (server["prefix_pools"], server["mode"], server["valid_s"]) == ([pool], "stateless", 3600)
        assert list(fates.values()).count("left-out unused-pool") == 2
    (server,), fates = of_server_6("prefix-pool=routers address-pool=hosts")
    assert (server["prefix_pools"], server["first"], "mode" in server) == ([pool], "::2:0", False)


SIX = "add interface=ether2 name=six address-pool=hosts prefix-pool=routers\n/ipv6 dhcp-server binding\n"


def test_the_two_bindings_of_a_client_are_one_reservation() -> None:
    report = import_of(
        f"{SERVER_6}{SIX}"
        "add address=2001:db8:64::2:7/128 duid=0x0003000102005e100001 iaid=3 server=six comment=CPE\n"
        "add address=2001:db8:70:100::/56 duid=0x0003000102005e100001 iaid=4 server=six\n"
        "add address=2001:db8:64::2:8 duid=0x0003000102005e100002 server=all disabled=yes\n"
    )
    first, second = of_kind(report, "dhcpv6-reservation")
    assert (first["address"], first["prefix"]) == ("::2:7", "2001:db8:70:100::/56")
    assert (first["duid"], first["comment"]) == ("00:03:00:01:02:00:5e:10:00:01", "CPE")
    assert (second["address"], second["disabled"], second["server"]) == ("::2:8", True, "six")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("address=2001:db8:70:100::/70 duid=0x000300010200", "prefixes of 48 to 64 bits"),
        ("address=2001:db8:70:100::/56", "no duid"),
        ("address=2001:db8:70:100::/56 duid=0xzz", "bytes in hexadecimal"),
        ("address=2001:db8:70:100::/56 duid=0x000300010200 server=off", "“off” is not imported"),
    ],
)
def test_a_binding_that_is_no_reservation_is_left_out(words: str, told: str) -> None:
    report = import_of(f"{SERVER_6}{SIX}add {words}\n")
    line = report.lines[-1]
    assert line.fate == "left-out" and told in line.reason, line.reason
    assert of_kind(report, "dhcpv6-reservation") == []

# SPDX-License-Identifier: Apache-2.0
"""DHCP servers and reservations: what is refused and why, and what a change of one of 10,000 costs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.kinds.toys import Toy, toy
from weir.adapters.daemon import Daemon
from weir.adapters.kea import Kea
from weir.backends.daemons import DaemonDifference, DaemonState
from weir.backends.dhcp import DhcpBackend
from weir.backends.kea import CONF
from weir.backends.kea_config import config_text, tag_of
from weir.kinds.dhcp_reservation import DhcpReservation
from weir.kinds.dhcp_server import DhcpOption, DhcpServer
from weir.model.document import Change, Document
from weir.model.interface import Interface, Wireguard
from weir.model.links import Bridge
from weir.model.rules import validate, validate_all
from weir.parts import dhcp
from weir.parts.dhcp import DHCP

LAN = Interface("lan0", "lan", addresses=("192.168.88.1/24",))
WAN = Interface("wan0", "wan", addresses=("203.0.113.2/24",))
SERVER = DhcpServer("lan", "lan0", dns_servers=("192.0.2.53",))
MAC = "02:00:5e:10:00:01"


def found(*items: Any) -> list[tuple[str, str | None]]:
    """Codes and fields of what is wrong with DHCP in a document."""
    findings = validate_all(Document(items))
    return [(item.code, item.field) for item in findings if item.kind.startswith("dhcp-")]


def message(*items: Any) -> str:
    findings = validate_all(Document(items))
    return next(item.message for item in findings if item.kind.startswith("dhcp-"))


def server(**fields: Any) -> DhcpServer:
    return DhcpServer(**{"id": "lan", "interface": "lan0", "dns_servers": ("192.0.2.53",), **fields})


def reserved(**fields: Any) -> DhcpReservation:
    return DhcpReservation(**{"id": "r1", "server": "lan", "address": "192.168.88.9", "mac": MAC, **fields})


def test_a_server_needs_no_more_than_its_interface() -> None:
    assert found(LAN, SERVER) == []
    (spec,) = DHCP.wanted(Document((LAN, SERVER))).values()
    assert DHCP.text(None, spec) == (
        "server lan on lan0: 192.168.88.2-192.168.88.254 of 192.168.88.0/24, gateway 192.168.88.1"
    )


def test_the_routers_own_addresses_are_given_to_nobody() -> None:
    more = Interface("lan1", "lan", addresses=("192.168.88.100/32", "10.0.0.1/8"))
    (spec,) = DHCP.wanted(Document((LAN, more, SERVER))).values()
    assert "192.168.88.2-192.168.88.99, 192.168.88.101-192.168.88.254" in DHCP.text(None, spec)


@pytest.mark.parametrize(
    ("changed", "code", "field", "words"),
    [
        ({"interface": "wan0"}, "dhcp-on-wan", "interface", "would give addresses to strangers"),
        ({"interface": "bare"}, "no-address", "interface", "bare has no static IPv4 address"),
        ({"interface": "wg0"}, "no-clients-there", "interface", "wg0 has no Ethernet frames"),
        ({"interface": "gone"}, "unknown-interface", "interface", "'gone', which is not configured"),
        (
            {"ranges": ("192.168.88.250-192.168.89.5",)},
            "range-outside",
            "ranges",
            "192.168.88.1-192.168.88.254",
        ),
        ({"ranges": ("10.0.0.5",)}, "range-outside", "ranges", "10.0.0.5 is not within"),
        ({"ranges": ("192.168.88.255",)}, "range-outside", "ranges", "192.168.88.255 is not within"),
        (
            {"ranges": ("192.168.88.10-192.168.88.30", "192.168.88.30-192.168.88.40")},
            "ranges-overlap",
            "ranges",
            "192.168.88.10-192.168.88.30 and 192.168.88.30-192.168.88.40 overlap",
        ),
        ({"ranges": ("192.168.88.1",)}, "no-addresses", "ranges", "no address that a client could get"),
        ({"interface": "wide"}, "too-many-addresses", "ranges", "16,777,214 addresses"),
        ({"gateway": "10.9.9.9"}, "gateway-outside", "gateway", "cannot reach the gateway 10.9.9.9"),
        ({"gateway": "2001:db8::1"}, "not-ipv4", "gateway", "2001:db8::1 is an IPv6 address"),
        ({"dns_servers": ("2001:db8::1",)}, "not-ipv4", "dns_servers", "IPv6"),
        ({"domain": "192.0.2.1"}, "no-name", "domain", "is an address"),
        ({"dns_servers": ()}, "no-dns-server", "dns_servers", "resolve no names"),
        ({"options": (DhcpOption("nonsense", "x"),)}, "unknown-option", "options[0].option", "'nonsense'"),
        ({"options": (DhcpOption("3", "x"),)}, "own-option", "options[0].option", "said by gateway"),
        (
            {"options": (DhcpOption("66", "x"), DhcpOption("tftp-server-name", "y"))},
            "option-twice",
            "options[1].option",
            "the same option as 66",
        ),
        (
            {"options": (DhcpOption("150", "x", "addresses"),)},
            "bad-value",
            "options[0].value",
            "must be IPv4 addresses",
        ),
        ({"options": (DhcpOption("26", "70000", "number-16"),)}, "bad-value", "options[0].value", "65,535"),
        ({"options": (DhcpOption("43", "0x1", "hex"),)}, "bad-hex", "options[0].value", "0x0a000001"),
    ],
)
def test_what_cannot_be_served_is_named(changed: dict[str, Any], code: str, field: str, words: str) -> None:
    items = (
        LAN,
        WAN,
        Interface("bare"),
        Interface("wg0", addresses=("10.1.0.1/24",), wireguard=Wireguard()),
        Interface("wide", addresses=("10.0.0.1/8",)),
        server(**changed),
    )
    assert (code, field) in found(*items)
    assert words in message(*items)


def test_a_bridge_is_served_and_a_vrf_is_not() -> None:
    bridge = Interface("br0", "lan", addresses=("10.1.0.1/24",), bridge=Bridge())
    assert found(bridge, server(interface="br0")) == []
    blue = (Interface("blue", vrf_table=10), Interface("lan0", addresses=("10.1.0.1/24",), vrf="blue"))
    assert found(*blue, server()) == [("dhcp-in-vrf", "interface")]


def test_two_servers_on_one_interface_are_refused_unless_one_is_disabled() -> None:
    assert found(LAN, SERVER, server(id="other")) == [("two-servers", "interface")]
    assert found(LAN, SERVER, server(id="other", disabled=True)) == []


@pytest.mark.parametrize(
    ("changed", "code", "field", "words"),
    [
        ({"address": "192.168.88.1"}, "own-address", "address", "the router's own address on lan0"),
        (
            {"address": "10.0.0.7"},
            "address-outside",
            "address",
            "192.168.88.0/24, which DHCP server lan serves",
        ),
        ({"address": "192.168.88.0"}, "address-outside", "address", "no address of a host"),
        ({"address": "2001:db8::1"}, "not-ipv4", "address", "IPv6"),
        ({"server": "gone"}, "unknown-dhcp-server", "server", "'gone', which is not configured"),
        ({"mac": None}, "not-one-host", "mac", "none of them is given"),
        ({"client_id": "phone"}, "not-one-host", "mac", "mac and client_id"),
        ({"mac": None, "client_id": "0xzz"}, "bad-identifier", "client_id", "1 to 128 bytes"),
        ({"mac": None, "circuit_id": "x" * 129}, "bad-identifier", "circuit_id", "1 to 128 bytes"),
        ({"hostname": "192.0.2.1"}, "no-name", "hostname", "no name of a host"),
    ],
)
def test_what_cannot_be_reserved_is_named(changed: dict[str, Any], code: str, field: str, words: str) -> None:
    assert found(LAN, SERVER, reserved(**changed)) == [(code, field)]
    assert words in message(LAN, SERVER, reserved(**changed))


def test_a_host_and_an_address_are_reserved_once_unless_disabled() -> None:
    first = reserved()
    same_host = reserved(id="r2", address="192.168.88.10")
    same_address = reserved(id="r2", mac="02:00:5e:10:00:02")
    assert found(LAN, SERVER, first, same_host) == [("host-twice", "mac")]
    assert found(LAN, SERVER, first, same_address) == [("address-twice", "address")]
    assert found(LAN, SERVER, first, reserved(id="r2", disabled=True)) == []
    ids = (reserved(mac=None, client_id="0x0102"), reserved(id="r2", address="192.168.88.8", mac=None))
    in_other_words = replace(ids[1], client_id="01:02")
    assert found(LAN, SERVER, ids[0], in_other_words) == [("host-twice", "mac")], "the same bytes"


def test_reservations_are_looked_at_again_when_their_network_moves() -> None:
    document = Document((LAN, SERVER, reserved()))
    moved = Interface("lan0", "lan", addresses=("192.168.99.1/24",))
    document.put(moved)
    findings = validate(document, [Change("interface", "lan0", LAN, moved)])
    assert "address-outside" in [item.code for item in findings]


def config(*items: Any) -> dict[str, Any]:
    wanted = DHCP.wanted(Document(items))
    text = config_text(wanted, {"lan0": 3}, Path("/run/kea.sock"), Path("/var/lib/kea.csv"))
    content: dict[str, Any] = json.loads(text)["Dhcp4"]
    return content


def test_kea_is_told_every_field() -> None:
    full = server(
        ranges=("192.168.88.10-192.168.88.20", "192.168.88.30"),
        lease_s=600,
        gateway="192.168.88.254",
        domain="office.example",
        ntp_servers=("192.0.2.123",),
        options=(DhcpOption("tftp-server-addresses", "192.0.2.1 192.0.2.2", "addresses", always=True),),
    )
    by_circuit = reserved(id="r2", address="192.168.88.77", mac=None, circuit_id="port 7", block=True)
    (subnet,) = config(LAN, full, reserved(hostname="printer"), by_circuit)["subnet4"]
    assert [item["pool"] for item in subnet["pools"]] == ["192.168.88.10-192.168.88.20", "192.168.88.30"]
    assert (subnet["subnet"], subnet["interface"], subnet["valid-lifetime"]) == (
        "192.168.88.0/24",
        "lan0",
        600,
    )
    assert subnet["option-data"] == [
        {"name": "routers", "data": "192.168.88.254"},
        {"name": "domain-name-servers", "data": "192.0.2.53"},
        {"name": "domain-name", "data": "office.example"},
        {"name": "ntp-servers", "data": "192.0.2.123"},
        {"code": 150, "csv-format": False, "data": "c0000201c0000202", "always-send": True},
    ]
    assert subnet["reservations"] == [
        {"hw-address": MAC, "ip-address": "192.168.88.9", "hostname": "printer"},
        {"circuit-id": b"port 7".hex(), "ip-address": "192.168.88.77", "client-classes": ["DROP"]},
    ]


def test_the_digest_tells_configurations_apart_and_interfaces_that_were_made_again() -> None:
    wanted = DHCP.wanted(Document((LAN, SERVER)))

    def tag(index: int) -> str:
        return tag_of(config_text(wanted, {"lan0": index}, Path("/s"), Path("/l")))

    assert tag(3) == tag(3) != tag(4)


def test_a_change_of_one_of_ten_thousand_reservations_looks_at_that_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wide = Interface("lan0", "lan", addresses=("10.1.0.1/16",))
    many = [
        reserved(
            id=f"r{number}",
            address=f"10.1.{number >> 8}.{number & 255}",
            mac=f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}",
        )
        for number in range(256, 10_256)
    ]
    document = Document((wide, server(ranges=("10.1.200.0-10.1.200.99",)), *many))
    before = DHCP.wanted(document)
    new = reserved(id="r256", address="10.1.99.99", mac="02:00:00:00:99:99")
    old = document.get("dhcp-reservation", "r256")
    document.put(new)
    looked_at: list[str] = []
    reservation = dhcp._reservation
    monkeypatch.setattr(
        dhcp, "_reservation", lambda item, servers: looked_at.append(item.id) or reservation(item, servers)
    )
    after, delta = DHCP.moved(before, document, [Change("dhcp-reservation", "r256", old, new)])
    assert looked_at == ["r256"]
    assert [spec.address for _, spec in delta.set] == ["10.1.99.99"] and not delta.removed
    assert after["reservation r300"] is before["reservation r300"]
    assert after == DHCP.wanted(document)


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Toy]:
    with toy(tmp_path) as made:
        body = {"role": "lan", "addresses": ["10.64.0.1/24"]}
        assert made.api("PUT", "/interfaces/lan0", body).status_code in (200, 201)
        yield made


def test_both_have_commands_and_a_reservation_gets_an_id(router: Toy) -> None:
    router.weir(
        "dhcp-server",
        "add",
        "lan",
        "lan0",
        "--range",
        "10.64.0.10-10.64.0.99",
        "--dns",
        "10.64.0.1",
    )
    router.weir("dhcp-reservation", "add", "lan", "10.64.0.5", "--mac", MAC)
    (item,) = router.api("GET", "/dhcp-reservations").json["items"]
    assert (item["id"], item["address"], item["mac"]) == ("r1", "10.64.0.5", MAC)
    router.world.agent.leases = [
        {
            **dict.fromkeys(("client_id", "hostname", "reservation", "network", "gateway", "origin")),
            **{"address": "10.64.0.11", "mac": MAC, "expires_ms": 0, "server": "lan", "interface": "lan0"},
        }
    ]
    assert "10.64.0.11" in router.weir("lease", "list")
    assert router.weir_json("lease", "list", "--search", "nobody") == {"items": []}


@pytest.mark.parametrize(("tag", "first"), [(None, {"lan"}), ("another", set())])
def test_kea_is_shown_an_interface_before_it_is_to_serve_there(
    tag: str | None, first: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kea 2.6 refuses a subnet on an interface that it has not seen; where it has something else, on all."""
    second = (Interface("lan1", "lan", addresses=("10.1.0.1/24",)), DhcpServer("second", "lan1"))
    links = {"lan0": 2, "lan1": 3}
    before, after = (
        config_text(DHCP.wanted(Document((LAN, SERVER, *more))), links, tmp_path / "s", tmp_path / "l")
        for more in ((), second)
    )
    asked: list[Any] = []
    monkeypatch.setattr(Kea, "ask", lambda _kea, _name, text, _s: asked.append(json.loads(text)["Dhcp4"]))
    monkeypatch.setattr(Kea, "make_folders", lambda _kea: None)
    monkeypatch.setattr(Daemon, "wait", lambda *_told: None)
    held = DaemonState({CONF: before}, (1, 1), tag or tag_of(before))
    backend = DhcpBackend(tmp_path / "dhcp", tmp_path)
    backend.apply(DaemonDifference("dhcp", held, {CONF: after}, tag_of(after)))
    assert asked[-1] == json.loads(after)["Dhcp4"] and len(asked) == 2
    served = [{"lan0": "lan", "lan1": "second"}[subnet["interface"]] for subnet in asked[0]["subnet4"]]
    assert set(served) == first and asked[0]["interfaces-config"] == asked[1]["interfaces-config"]
    assert "server-tag" not in asked[0], "it has not what it is to have"
    asked.clear()
    held = DaemonState({CONF: after}, (1, 1), tag_of(after))
    backend.apply(DaemonDifference("dhcp", held, {CONF: before}, tag_of(before)))
    assert [len(text["subnet4"]) for text in asked] == [1]

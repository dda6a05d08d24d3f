# SPDX-License-Identifier: Apache-2.0
"""The name service: what is refused and why, what becomes of records, and of names that clients choose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from weir.adapters.kea_leases import Lease
from weir.agent.lease_names import Asked, label_of, named, records
from weir.backends.kea_config import subnet_id
from weir.backends.unbound_config import config_text, identity_of
from weir.kinds.dhcp6_reservation import Dhcpv6Reservation
from weir.kinds.dhcp6_server import Dhcpv6Server
from weir.kinds.dhcp_reservation import DhcpReservation
from weir.kinds.dhcp_server import DhcpServer
from weir.kinds.dns import Dns, DnsInterface
from weir.kinds.dns_block_list import DnsBlockList
from weir.kinds.dns_forward import DnsForward
from weir.kinds.dns_record import DnsRecord
from weir.kinds.dns_upstream import DnsUpstream
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.rules import validate_all
from weir.parts.dhcp import DHCP
from weir.parts.dhcp6 import DHCP6
from weir.parts.dns import DNS

LAN = Interface("lan0", "lan", addresses=("192.168.88.1/24", "2001:db8:88::1/64"))
WAN = Interface("wan0", "wan", addresses=("203.0.113.2/24",))
ON = Dns(enabled=True, servers=(DnsUpstream("192.0.2.53"),))
SERVER = DhcpServer("lan", "lan0")
ANY = (DnsUpstream("192.0.2.53"),)


def found(*items: Any) -> list[tuple[str, str | None, str]]:
    """Codes, fields and sentences of what is wrong with names in a document."""
    return [
        (item.code, item.field, item.message)
        for item in validate_all(Document(items))
        if item.kind.startswith("dns")
    ]


def configured(*items: Any) -> str:
    return config_text(DNS.wanted(Document((LAN, WAN, *items))), Path("/run/x/s"), Path("/ca"))


@pytest.mark.parametrize(
    ("item", "code", "field", "words"),
    [
        (
            replace(ON, interfaces=(DnsInterface("wan0"),)),
            "dns-on-wan",
            "interfaces[0].interface",
            "strangers",
        ),
        (
            replace(ON, interfaces=(DnsInterface("gone"),)),
            "unknown-interface",
            "interfaces[0].interface",
            "gone",
        ),
        (replace(ON, interfaces=(DnsInterface("bare"),)), "no-address", "interfaces[0].interface", "bare"),
        (replace(ON, serve_to=("0.0.0.0/0",)), "open-resolver", "serve_to", "0.0.0.0/0 holds strangers"),
        (replace(ON, serve_to=("2000::/3",)), "open-resolver", "serve_to", "2000::/3"),
        (replace(ON, servers=(DnsUpstream("192.168.88.1"),)), "dns-loop", "servers[0].address", "on lan0"),
        (replace(ON, servers=(DnsUpstream("127.0.0.53"),)), "dns-loop", "servers[0].address", "itself"),
        (replace(ON, servers=(DnsUpstream("224.0.0.1"),)), "no-server", "servers[0].address", "224.0.0.1"),
        (
            replace(ON, servers=(*ANY, DnsUpstream("192.0.2.54", "dns.example"))),
            "mixed-tls",
            "servers",
            "all of them",
        ),
        (
            replace(ON, servers=(DnsUpstream("192.0.2.54", "192.0.2.54"),)),
            "no-name",
            "servers[0].tls_name",
            "certificate",
        ),
        (replace(ON, domain="10.0.0.1"), "no-name", "domain", "10.0.0.1"),
        (DnsForward("f", "corp.example"), "no-server", "servers", "corp.example"),
        (
            DnsForward("f", "corp.example", (DnsUpstream("192.168.88.1"),)),
            "dns-loop",
            "servers[0].address",
            "loop",
        ),
        (DnsForward("f", "10.0.0.1", ANY), "no-name", "domain", "10.0.0.1"),
        (DnsRecord("r", "nas", "10.0.0.300"), "bad-value", "value", "must be an IPv4 address"),
        (DnsRecord("r", "nas", "10.0.0.3", "AAAA"), "bad-value", "value", "must be an IPv6 address"),
        (DnsRecord("r", "nas", "<script>", "CNAME"), "bad-value", "value", "must be a DNS name"),
        (DnsRecord("r", "nas", "mail.example", "MX"), "bad-value", "value", "10 mail.example.com"),
        (DnsRecord("r", "nas", "0 5 70000 sip.example", "SRV"), "bad-value", "value", "0 5 5060"),
        (DnsRecord("r", "nas", "é" * 1025, "TXT"), "bad-value", "value", "2,048 bytes"),
        (DnsRecord("r", "10.0.0.3", "10.0.0.3"), "no-name", "name", "only PTR"),
        (DnsRecord("r", "nas", "nas.example", "PTR"), "bad-value", "name", "name of an address"),
        (
            DnsRecord("r", "nas", "nas.home.arpa", "CNAME"),
            "dns-loop",
            "value",
            "nas.home.arpa -> nas.home.arpa",
        ),
        (DnsBlockList("b", ("ads.example", "10.0.0.1")), "no-name", "domains", "the firewall blocks"),
    ],
)
def test_what_cannot_be_is_named(item: Any, code: str, field: str, words: str) -> None:
    told = found(LAN, WAN, Interface("bare"), item)
    assert (code, field) in [(one, place) for one, place, _ in told]
    assert any(words in sentence for _, _, sentence in told), told


def test_aliases_that_stand_for_each_other_and_names_with_two_meanings_are_found() -> None:
    loop = [DnsRecord(name, name, other, "CNAME") for name, other in (("a", "b"), ("b", "c"), ("c", "a"))]
    assert [code for code, _, _ in found(*loop)] == ["dns-loop"] * 3
    assert "alias-not-alone" in [code for code, _, _ in found(loop[0], DnsRecord("z", "a", "10.0.0.1"))]
    twice = (DnsRecord("x", "a", "10.0.0.1"), DnsRecord("y", "a", "10.0.0.1"))
    assert [code for code, _, _ in found(*twice)] == ["record-twice"]
    both = (DnsForward("x", "a.example", ANY), DnsForward("y", "a.example", ANY))
    assert [code for code, _, _ in found(*both)] == ["domain-twice"]


def test_a_dhcp_server_hands_out_the_router_only_where_that_answers() -> None:
    def told(*items: Any) -> Any:
        return DHCP.wanted(Document((LAN, SERVER, *items)))["server lan"]

    assert (told().dns_servers, told().domain) == ((), None)
    assert (told(ON).dns_servers, told(ON).domain) == (("192.168.88.1",), "home.arpa")
    other = replace(ON, interfaces=(DnsInterface("lan1"),))
    assert told(Interface("lan1", "lan", addresses=("10.1.0.1/24",)), other).dns_servers == ()
    assert "no-dns-server" not in [item.code for item in validate_all(Document((LAN, SERVER, ON)))]


def test_only_networks_inside_may_ask_and_only_addresses_inside_listen() -> None:
    lines = configured(replace(ON, serve_to=("10.20.0.0/16",))).splitlines()
    listening = {line.split()[1] for line in lines if line.startswith("  interface:")}
    assert listening == {"127.0.0.1", "192.168.88.1", "2001:db8:88::1"}
    allowed = {line.split()[1] for line in lines if line.startswith("  access-control:") and "allow" in line}
    assert allowed == {"127.0.0.0/8", "192.168.88.0/24", "2001:db8:88::/64", "10.20.0.0/16"}
    assert configured(Dns()) == ""


def test_no_text_is_syntax_and_another_text_is_another_digest() -> None:
    odd = "'\n\"; server: include: /etc/passwd \\ é"
    text = configured(ON, DnsRecord("t", "odd", odd.replace("\n", " "), "TXT"))
    (line,) = (line for line in text.splitlines() if "TXT" in line)
    assert line.count("'") == 2 and "\\039" in line and "\\195\\169" in line
    assert identity_of(text) != identity_of(configured(ON))


LEASE = Lease("192.168.88.50", "02:00:5e:10:00:01", "", "laptop", 2**31, subnet_id("192.168.88.0/24"))


def asked_of(document: Document) -> Asked:
    return Asked(DNS.wanted(document), DHCP.wanted(document), {}, DHCP6.wanted(document))


SIX = Dhcpv6Server("lan", "lan0")
LEASE_6 = LEASE._replace(address="2001:db8:88::1000", subnet_id=subnet_id("2001:db8:88::/64"))


def test_a_host_has_one_name_for_both_families_and_takes_none_of_another_familys_host() -> None:
    asked = asked_of(
        Document(
            (
                *(LAN, ON, SERVER, replace(SIX, domain="six.example")),
                Dhcpv6Reservation("r", "lan", "::10", mac="02:00:5e:10:00:09", hostname="printer"),
            )
        )
    )
    assert named([LEASE, LEASE_6], asked) == {
        "printer.six.example": ("2001:db8:88::10",),
        "laptop.six.example": ("2001:db8:88::1000",),
        "laptop.home.arpa": ("192.168.88.50",),
    }
    asked = asked_of(Document((LAN, ON, SERVER, SIX)))
    hosts = named([LEASE_6, LEASE], asked)
    assert hosts == {"laptop.home.arpa": ("192.168.88.50", "2001:db8:88::1000")}
    made = records(hosts, asked.services)
    assert made["laptop.home.arpa"][1] == "laptop.home.arpa. 60 IN AAAA 2001:db8:88::1000"
    reverse = "0.0.0.1." + "0." * 16 + "8.8.0.0.8.b.d.0.1.0.0.2.ip6.arpa"
    assert made[reverse] == (f"{reverse}. 60 IN PTR laptop.home.arpa.",)
    for mac in ("", "02:00:5e:10:00:66"):
        thief = LEASE_6._replace(mac=mac, address="2001:db8:88::1001")
        assert named([thief, LEASE], asked, hosts)["laptop.home.arpa"] == ("192.168.88.50",)
        assert named([thief], asked)["laptop.home.arpa"] == ("2001:db8:88::1001",)


def test_a_client_takes_no_name_of_others_and_none_that_programs_trust() -> None:
    document = Document(
        (
            *(
                LAN,
                ON,
                SERVER,
                DnsRecord("n", "nas", "192.168.88.9"),
                DnsRecord("i", "intra", "laptop", "CNAME"),
            ),
            DhcpReservation("r", "lan", "192.168.88.10", mac="02:00:5e:10:00:09", hostname="printer"),
        )
    )
    asked = asked_of(document)
    leases = [
        LEASE,
        *(
            LEASE._replace(address=f"192.168.88.{number}", hostname=name)
            for number, name in enumerate(("laptop", "nas", "printer", "wpad", "", "-", "Two_Words.x"), 60)
        ),
    ]
    hosts = named(leases, asked)
    assert hosts == {
        "printer.home.arpa": ("192.168.88.10",),
        "laptop.home.arpa": ("192.168.88.50",),
        "two-words.home.arpa": ("192.168.88.66",),
    }
    later = named(leases[1:], asked, hosts)
    assert later["laptop.home.arpa"] == ("192.168.88.60",), "the first host is gone"
    assert named(leases, asked, later)["laptop.home.arpa"] == ("192.168.88.60",), "it keeps the name"
    made = records(hosts, asked.services)
    assert made["intra.home.arpa"] == ("intra.home.arpa. 60 IN A 192.168.88.50",)
    assert made["50.88.168.192.in-addr.arpa"] == ("50.88.168.192.in-addr.arpa. 60 IN PTR laptop.home.arpa.",)
    off = asked_of(Document((LAN, replace(ON, leases_as_names=False), SERVER)))
    assert named(leases, off) == {}


def test_a_wildcard_answers_for_hosts_below_it_and_unbound_is_not_given_both() -> None:
    wild = DnsRecord("w", "home.arpa", "192.168.88.9", subdomains=True)
    assert named([LEASE], asked_of(Document((LAN, ON, SERVER, wild)))) == {}
    assert named([LEASE], asked_of(Document((LAN, ON, SERVER)))) != {}


def test_an_alias_of_a_name_below_a_wildcard_has_its_records() -> None:
    text = configured(
        ON,
        DnsRecord("a", "apps", "192.168.88.9", subdomains=True),
        DnsRecord("b", "wiki", "wiki.apps.home.arpa", "CNAME"),
    )
    assert "IN A 192.168.88.9" in next(line for line in text.splitlines() if "'wiki.home.arpa. " in line)


def test_an_alias_at_a_reverse_name_keeps_the_automatic_one_out() -> None:
    text = configured(
        ON,
        DnsRecord("c", "10.88.168.192.in-addr.arpa", "10.x.example.net", "CNAME"),
        DnsRecord("n", "nas", "192.168.88.10"),
    )
    assert "IN PTR nas" not in text and "IN CNAME 10.x.example.net." in text


@pytest.mark.parametrize("hostname", ['"x"; y', "a\nb", "<script>", "'", "localhost", "a" * 64, "é"])
def test_what_is_no_name_of_a_host_is_none(hostname: str) -> None:
    assert label_of(hostname) is None

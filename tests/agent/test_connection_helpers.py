# SPDX-License-Identifier: Apache-2.0
"""Helpers of connections with real servers: what a data connection is let pass by, and what it is not."""

from __future__ import annotations

import ftplib
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab import netns
from lab.measure import bound
from tests.agent import ftp_server
from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from weir.adapters import nft
from weir.agent.connections import Connections
from weir.backends.backend import Comparison
from weir.backends.firewall import FirewallBackend, FirewallWanted
from weir.http.health import connection_checks
from weir.kinds.connection_helper import SPOKEN, ConnectionHelper
from weir.kinds.firewall import Firewall
from weir.kinds.nat_rule import NatRule
from weir.model.document import Document
from weir.model.problem import Unsupported
from weir.parts.firewall import FIREWALL, Rules
from weir.parts.rule import HELPERS, PacketRule

CLIENT, SERVER, ROUTER = "10.64.0.2", "203.0.113.1", "203.0.113.2"
BARE = Firewall()
HELPED = Firewall(helpers=tuple(map(ConnectionHelper, SPOKEN)))
FORWARD = NatRule(
    "ftp", "destination", protocol="tcp", ports=("2121",), to_address=f"{CLIENT}/32", to_port=21
)
DOCUMENT = Document([lan(), wan(), HELPED, FORWARD])
RRQ, DATA = b"\0\1", b"\0\3"


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        netns.ip(made.internet, ["route replace 10.64.0.0/16 via 203.0.113.2"])
        made.commit(lan(), wan(), BARE, FORWARD)
        yield made


@contextmanager
def outside(rig: Rig) -> Iterator[None]:
    with ftp_server.serving(rig, rig.internet, SERVER):
        yield


@contextmanager
def inside(rig: Rig) -> Iterator[None]:
    with ftp_server.serving(rig, rig.client_ns, CLIENT):
        yield


def tracked(rig: Rig, *words: str) -> str:
    return rig.run("conntrack", "-L", *words)


def test_active_ftp_passes_masquerade_by_its_helper_alone(rig: Rig) -> None:
    with outside(rig):
        rig.commit(BARE)
        with (
            ftp_server.session(rig.client_ns, SERVER, is_passive=False) as ftp,
            pytest.raises((ftplib.Error, OSError)),
        ):
            ftp_server.read(ftp)
        rig.commit(HELPED)
        with ftp_server.session(rig.client_ns, SERVER, is_passive=False) as ftp:
            assert ftp_server.read(ftp) == ftp_server.CONTENT
            assert "helper=ftp" in tracked(rig, "-p", "tcp", "--dport", "21")


def test_a_forwarded_server_announces_the_address_outside(rig: Rig) -> None:
    with inside(rig):
        rig.commit(BARE)
        with (
            ftp_server.session(rig.internet, ROUTER, 2121, is_passive=True) as ftp,
            pytest.raises((ftplib.Error, OSError)),
        ):
            ftp_server.read(ftp)
        rig.commit(HELPED)
        with ftp_server.session(rig.internet, ROUTER, 2121, is_passive=True) as ftp:
            ftp.trust_server_pasv_ipv4_address = True
            assert ftp.makepasv()[0] == ROUTER
            assert ftp_server.read(ftp) == ftp_server.CONTENT


def test_a_session_goes_on_while_other_rules_change(rig: Rig) -> None:
    with outside(rig):
        rig.commit(HELPED)
        with ftp_server.session(rig.client_ns, SERVER, is_passive=False) as ftp:
            assert ftp_server.read(ftp) == ftp_server.CONTENT
            for port in (8080, 8081):
                rig.commit(Firewall(helpers=HELPED.helpers, allowed_wan_tcp_ports=(port,)))
                assert ftp_server.read(ftp) == ftp_server.CONTENT
            rig.commit(BARE)
            assert ftp_server.read(ftp) == ftp_server.CONTENT, "the connection keeps its helper"


def test_a_client_opens_ports_of_its_own_alone(rig: Rig) -> None:
    """What names another host inside is no announcement."""
    rig.commit(HELPED)
    with outside(rig), ftp_server.session(rig.client_ns, SERVER, is_passive=False) as ftp:
        with pytest.raises(ftplib.Error):
            ftp.sendport("10.64.0.7", 2222)
        assert "dport=2222" not in tracked(rig, "expect")
        with netns.inside(rig.client_ns), ftp.makeport() as listener:
            port = listener.getsockname()[1]
            assert f"dport={port}" in tracked(rig, "expect")


def test_only_the_servers_that_are_named_are_listened_to(rig: Rig) -> None:
    with outside(rig):
        for servers, is_helped in ((("198.51.100.0/24",), False), (("203.0.113.0/24",), True)):
            rig.commit(Firewall(helpers=(ConnectionHelper("ftp", servers=servers),)))
            rig.run("conntrack", "-F")
            with ftp_server.session(rig.client_ns, SERVER, is_passive=True):
                assert ("helper=ftp" in tracked(rig, "-p", "tcp", "--dport", "21")) == is_helped


def test_tftp_passes_masquerade_by_its_helper_alone(rig: Rig) -> None:
    """The server answers from another port than it was asked at."""
    root = ftp_server.tftp_root(rig.folder / "tftp")
    options = ("--conf-file=/dev/null", "--user=root", "--port=0", "--interface=i0", "--bind-interfaces")
    process = rig.spawn(
        "tftp",
        ["dnsmasq", "--no-daemon", *options, "--enable-tftp", f"--tftp-root={root}"],
        netns.entering(rig.internet),
    )
    try:
        until("dnsmasq gives the file", lambda: _file(rig.internet, SERVER) == ftp_server.CONTENT)
        rig.commit(BARE)
        assert _file(rig.client_ns, CLIENT) == ""
        rig.commit(HELPED)
        assert _file(rig.client_ns, CLIENT) == ftp_server.CONTENT
    finally:
        process.kill()
        process.wait()


def _file(namespace: str, source: str) -> str:
    """By TFTP (RFC 1350); "" without an answer."""
    with bound(namespace, source) as client:
        client.settimeout(0.5)
        client.sendto(RRQ + ftp_server.NAME.encode() + b"\0octet\0", (SERVER, 69))
        try:
            answer, _ = client.recvfrom(1024)
        except TimeoutError:
            return ""
    assert answer[:2] == DATA
    return answer[4:].decode()


def test_sip_names_the_address_outside(rig: Rig) -> None:
    said = (
        "REGISTER sip:example.net SIP/2.0\r\n"
        f"Via: SIP/2.0/UDP {CLIENT}:5060;branch=z9hG4bK1\r\n"
        "From: <sip:a@example.net>;tag=1\r\nTo: <sip:a@example.net>\r\nCall-ID: 1\r\nCSeq: 1 REGISTER\r\n"
        f"Contact: <sip:a@{CLIENT}:5060>\r\nExpires: 60\r\nContent-Length: 0\r\n\r\n"
    )
    for firewall, address in ((BARE, CLIENT), (HELPED, ROUTER)):
        rig.commit(firewall)
        rig.run("conntrack", "-F")
        with netns.inside(rig.internet):
            server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            server.bind((SERVER, 5060))
        with server, bound(rig.client_ns, CLIENT) as client:
            server.settimeout(ftp_server.WAIT_S)
            client.sendto(said.encode(), (SERVER, 5060))
            assert f"Contact: <sip:a@{address}:" in server.recv(2048).decode()


def test_what_gets_a_helper_is_counted(rig: Rig) -> None:
    rig.commit(HELPED)
    rule = next(rule for rule in FIREWALL.wanted(DOCUMENT) if rule.target == "ftp_tcp" and not rule.nat)

    def count() -> int:
        return int(rig.agent.call("rule_counters")["counters"][rule.counter][0])

    before = count()
    with outside(rig):
        for _ in range(2):
            with ftp_server.session(rig.client_ns, SERVER, is_passive=True) as ftp:
                ftp_server.read(ftp)
    assert count() == before + 2, "the first packet of each session, and no other"


def test_a_kernel_without_a_helper_is_told_and_keeps_the_other_rules(rig: Rig) -> None:
    """No kernel has one for gopher."""
    rules = list(FIREWALL.wanted(DOCUMENT))
    lacking = PacketRule(HELPERS, "helper", "gopher", protocol="tcp", ports=("70",), target="gopher_tcp")
    wanted = Rules.of(iter([*rules, lacking]), {})
    with netns.inside(rig.router):
        backend = FirewallBackend()
        with pytest.raises(Unsupported, match="no helper gopher for tcp"):
            backend.refuse_missing(FIREWALL.delta(Rules.of(iter(rules), {}), wanted))
        backend.refuse_missing(FIREWALL.delta(wanted, Rules.of(iter([lacking]), {})))
        difference = backend.diff(backend.read(), FirewallWanted(wanted, ()))
        assert difference.wanted is not None
        assert difference.wanted.helpers == {"ftp_tcp", "pptp_tcp", "sip_tcp", "sip_udp", "tftp_udp"}
        assert not nft.refused_helper("ftp_tcp")
        (told,) = connection_checks(Connections(lambda: "", lambda: backend.missing_helpers).to_json())
        assert told["state"] == "warning" and "this kernel has no helper gopher for tcp" in told["message"]
        lines = backend.explain(Comparison(backend, FirewallWanted(wanted, ())), HELPED, ())
        wrong = {line.system for line in lines if line.field == "helpers" and not line.agrees}
        assert len(wrong) == 2 and any("no helper gopher for tcp" in text for text in wrong)


def test_helpers_come_and_go_with_the_rules(rig: Rig) -> None:
    rig.commit(HELPED)
    held = rig.run("nft", "list", "table", "inet", "weir")
    assert held.count("ct helper set") == 7 and held.count("\tct helper ") == 5
    rig.commit(BARE)
    assert "ct helper" not in rig.run("nft", "list", "table", "inet", "weir")

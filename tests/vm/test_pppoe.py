# SPDX-License-Identifier: Apache-2.0
"""PPPoE sessions of the router with a real access concentrator (pppoe-server of rp-pppoe, and its pppd).

What the router does is what its parts make of a document; the dialler takes its turns by itself. Passwords
are sealed texts elsewhere: here they are plain, as who opens them is tested without a kernel.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from ipaddress import ip_interface
from pathlib import Path
from typing import Any

import pytest

from tests.datapath.loaded import DOWNLOAD, UPLOAD, Loaded
from tests.datapath.packets import value4
from tests.datapath.topology import Peer, run
from tests.polling import until
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import PrefixEntry
from weir.adapters.netlink import Links
from weir.adapters.pppd import REFUSED, Sessions
from weir.agent.delegations import Delegations
from weir.agent.dhcp6_clients import Dhcp6Clients
from weir.agent.dialler import Dialler
from weir.backends.autoconf import AutoconfBackend
from weir.backends.backend import Comparison, Look
from weir.backends.fast import FastPaths
from weir.backends.modes import PortModes
from weir.backends.network import NetworkBackend
from weir.backends.ports import PortsBackend, PortsWanted
from weir.backends.pppoe import PppoeBackend
from weir.compiler.types import PortSpec
from weir.model.delegation import Dhcpv6
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.pppoe import Pppoe
from weir.parts.autoconf import AUTOCONF
from weir.parts.effect import Sessions as Counted
from weir.parts.network import NETWORK
from weir.parts.pppoe import PPPOE

pytestmark = [
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

PASSWORD = 'se"c\\ret #1'
SESSION, PARENT = "dsl0", "wan0"
SLOT, CUSTOMER = 3, "10.64.0.2"
UP_S = 90.0
FIRST_QUESTION = """
import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x8863))
print("ready", flush=True)
print(s.recv(2000).hex(), flush=True)
"""
OPTIONS = """require-pap
ms-dns 203.0.113.53
ms-dns 203.0.113.54
lcp-echo-interval 0
+ipv6
noccp
"""
WAN_NET, FIRST = "2001:db8:77::/64", "2001:db8:f000::/56"
ANNOUNCED = """interface %s {
  AdvSendAdvert on; MinRtrAdvInterval 3; MaxRtrAdvInterval 4;
  prefix %s { };
};
"""


class Concentrator:
    """A provider at the other end of `wan0`."""

    def __init__(self, folder: Path) -> None:
        self.peer = Peer(PARENT, [], [], [])
        self._options = folder / "concentrator"
        self._options.write_text(OPTIONS)
        Path("/etc/ppp/pap-secrets").write_text(f"bob * {_quoted(PASSWORD)} *\n")
        self.server: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        words = ("-F", "-I", "far0", "-C", "town", "-S", "fibre", "-O", str(self._options))
        addresses = ("-L", "10.99.0.1", "-R", "10.99.0.10", "-N", "9")
        self.server = self.peer.begin("pppoe-server", *words, *addresses)

    @property
    def mac(self) -> str:
        found: list[dict[str, str]] = json.loads(self.peer.run("ip", "-j", "link", "show", "far0"))
        return found[0]["address"]

    @property
    def session(self) -> str:
        """Its own end of the session that came last."""
        found: list[dict[str, str]] = json.loads(self.peer.run("ip", "-j", "link", "show", "type", "ppp"))
        return found[-1]["ifname"]

    @contextmanager
    def with_ipv6(self, folder: Path) -> Iterator[None]:
        """radvd and Kea on that session."""
        name = self.session
        # Kea takes the other end's link-local address of a session for its own.
        self.peer.run("ip", "address", "replace", "fe80::1/64", "dev", name, "nodad")
        self.peer.run("sysctl", "-qw", "net.ipv6.conf.all.forwarding=1")
        conf = folder / "radvd.conf"
        conf.write_text(ANNOUNCED % (name, WAN_NET))
        network, bits = FIRST.split("/")
        pool = {"prefix": network, "prefix-len": int(bits), "delegated-len": int(bits)}
        subnet = {"id": 1, "subnet": WAN_NET, "interface": name, "pd-pools": [pool]}
        known = {"type": "EN", "enterprise-id": 4491, "identifier": "87ABEF", "persist": False}
        config = {
            "interfaces-config": {"interfaces": [name]},
            "lease-database": {"type": "memfile", "persist": False},
            **{"preferred-lifetime": 3600, "valid-lifetime": 3600, "server-id": known, "subnet6": [subnet]},
        }
        file = folder / "kea6.conf"
        file.write_text(json.dumps({"Dhcp6": config}))
        places = (f"KEA_PIDFILE_DIR={folder}", f"KEA_LOCKFILE_DIR={folder}")
        began = [
            self.peer.begin("radvd", "-n", "-m", "stderr", "-C", str(conf), "-p", str(folder / "pid")),
            self.peer.begin("env", *places, "kea-dhcp6", "-c", str(file)),
        ]
        try:
            yield
        finally:
            for process in began:
                process.kill()
                process.wait()
            for path in (folder / "pid", *folder.glob("kea6.*.pid")):
                path.unlink(missing_ok=True)

    def hang_up(self) -> None:
        """As a provider does that restarts."""
        own = self.peer.run("readlink", "/proc/self/ns/net").strip()
        for pid in subprocess.run(["pgrep", "-x", "pppd"], capture_output=True, text=True).stdout.split():
            with suppress(FileNotFoundError):  # it ends by itself
                if str(Path(f"/proc/{pid}/ns/net").readlink()) == own:
                    os.kill(int(pid), signal.SIGTERM)

    def knows(self, network: str) -> None:
        """The way back to a network behind the session."""
        self.peer.run("ip", "route", "replace", network, "dev", self.session)

    def stop(self) -> None:
        if self.server is not None:
            self.hang_up()
            self.server.kill()
            self.server.wait()
            self.server = None

    def close(self) -> None:
        self.stop()
        self.peer.close()


class Router:
    def __init__(self, folder: Path) -> None:
        self.links = Links()
        self.sessions = Sessions(folder / "pppoe")
        self.network = NetworkBackend(self.links, folder / "mtus")
        self.dialler = Dialler(self.sessions, self.links.links)
        self.pppoe = PppoeBackend(self.sessions, lambda _, text: text, self.dialler.wake, self.dialler.told)
        self.autoconf = AutoconfBackend(folder / "autoconf.json")
        self.delegations = Delegations(folder / "delegations.json")
        self.clients = Dhcp6Clients(self.links, self.delegations, lambda note: [note(), None][1])
        self.document = Document()
        self.dialler.start()

    def bring(self, *interfaces: Interface) -> None:
        self.document = Document(interfaces)
        for backend, part in ((self.network, NETWORK), (self.pppoe, PPPOE), (self.autoconf, AUTOCONF)):
            asked: Any = part.wanted(self.document)
            difference: Any = backend.diff(backend.read(), asked)  # type: ignore[arg-type]
            backend.apply(difference)
            backend.verify(difference)
            assert not backend.diff(backend.read(), asked)  # type: ignore[arg-type]

    def state(self) -> dict[str, Any]:
        return self.dialler.learn(None).get(SESSION, {})

    def is_up(self) -> bool:
        return self.state().get("session") == "up"

    def come_up(self) -> dict[str, Any]:
        until("the session is up", self.is_up, UP_S)
        return self.state()

    def pid(self) -> int:
        """0: it does not run."""
        found = self.sessions.daemon(SESSION).identity()
        return 0 if found is None else found[0]

    def learnt(self) -> str:
        """The network of an address that it has learnt there, if it has a gateway there as well."""
        found = self.autoconf.learn([SESSION]).get(SESSION, {})
        rows = found.get("learnt_addresses", [])
        return str(ip_interface(rows[0]["address"]).network) if rows and found["learnt_gateway"] else ""

    def prefix(self) -> str:
        held = self.delegations.held().get(SESSION)
        return "" if held is None else held.prefix

    def failure(self) -> object:
        return self.delegations.learn(None)[SESSION]["dhcpv6_failure"]

    def effects(self, *interfaces: Interface) -> list[tuple[str, str]]:
        asked = PPPOE.wanted(Document(interfaces))
        delta = PPPOE.delta(PPPOE.wanted(self.document), asked)
        look: Any = Look(self.pppoe, asked, delta, [], lambda _: Counted(0, True))
        return [(effect.id, effect.severity) for effect in self.pppoe.effects(look)]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def dsl(password: str = PASSWORD, *, mtu: int | None = None, **more: Any) -> list[Interface]:
    session = Pppoe(PARENT, "bob", password, **more)
    return [Interface(PARENT), Interface(SESSION, "wan", pppoe=session, mtu=mtu)]


@pytest.fixture(scope="module")
def concentrator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Concentrator]:
    made = Concentrator(tmp_path_factory.mktemp("concentrator"))
    yield made
    made.close()


@pytest.fixture
def customer() -> Iterator[Peer]:
    made = Peer("lan0", ["10.64.0.1/24"], [f"{CUSTOMER}/24"], ["10.64.0.1"])
    yield made
    made.close()


@pytest.fixture
def router(tmp_path: Path, concentrator: Concentrator) -> Iterator[Router]:
    made = Router(tmp_path)
    try:
        yield made
    finally:
        made.bring(Interface(PARENT))
        until("the session has ended", lambda: not made.sessions.names(), UP_S)
        made.clients.stop()
        made.dialler.stop()
        made.links.close()
    assert SESSION not in run("ip", "link", "show")


def test_a_session_has_what_the_provider_gave_and_carries_packets(
    router: Router, concentrator: Concentrator
) -> None:
    router.bring(*dsl(service_name="fibre", ac_name="town"))
    state = router.come_up()
    assert state["session_address"].startswith("10.99.0.1") and state["session_gateway"] == "10.99.0.1"
    assert state["session_dns"] == "203.0.113.53, 203.0.113.54"
    assert (state["concentrator"], state["session_failures"]) == (concentrator.mac, 0)
    assert state["session_number"] and state["session_since"] and state["session_failure"] is None
    assert " 0% packet loss" in run("ping", "-q", "-c", "2", "-I", SESSION, "10.99.0.1")
    assert router.links.link(SESSION).mtu == 1492
    found: Any = Comparison(router.pppoe, PPPOE.wanted(router.document))
    lines = list(router.pppoe.explain(found, router.document.interface(SESSION), ["told"]))  # type: ignore[arg-type]
    assert len(lines) == 2 and all(line.agrees for line in lines) and PASSWORD not in str(lines)
    commands = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert "pppd file" in commands and PASSWORD not in commands
    assert (router.sessions.folder(SESSION) / "options").stat().st_mode & 0o777 == 0o600
    assert router.effects(*dsl(keepalive_s=5)) == [(SESSION, "drops-sessions")]
    assert router.effects(*dsl(service_name="fibre", ac_name="town", distance=1)) == []
    assert router.effects(Interface(PARENT)) == [(SESSION, "drops-sessions")]


def test_a_new_agent_leaves_the_session_alone_and_one_that_dies_is_dialled_again(router: Router) -> None:
    router.bring(*dsl())
    since = router.come_up()["session_since"]
    pid = router.pid()
    router.dialler.stop()
    other = Dialler(router.sessions, router.links.links)
    router.dialler = other
    other.turn()
    assert router.state()["session"] == "up" and router.state()["session_since"] == since
    assert router.pid() == pid > 0
    other.start()
    os.kill(pid, signal.SIGKILL)
    until("it is another process", lambda: router.is_up() and router.pid() not in (0, pid), UP_S)


def test_packets_of_1500_bytes_are_asked_for(router: Router, concentrator: Concentrator) -> None:
    """RFC 4638, 3: the tag PPP-Max-Payload. The concentrator of this test gives 1,492 all the same."""
    seen = concentrator.peer.start(FIRST_QUESTION)
    assert seen.stdout is not None and seen.stdout.readline() == "ready\n"
    session = Interface(SESSION, "wan", pppoe=Pppoe(PARENT, "bob", PASSWORD), mtu=1500)
    router.bring(Interface(PARENT, mtu=1508), session)
    assert bytes.fromhex("0120 0002 05dc") in bytes.fromhex(seen.stdout.readline())
    assert seen.wait() == 0


def test_a_queue_on_a_session_is_charged(router: Router, concentrator: Concentrator, customer: Peer) -> None:
    """Packets of a session have no Ethernet header there: they are classified all the same, both ways."""
    router.bring(*dsl())
    router.come_up()
    concentrator.knows(f"{CUSTOMER}/32")
    run("sysctl", "-qw", "net.ipv4.ip_forward=1")
    with Datapath.open(None, capacity=256) as datapath, Loaded(datapath) as loaded:
        datapath.change_prefixes([PrefixEntry(0, 4, value4(CUSTOMER), 32, SLOT)])
        loaded.limit(SLOT, 10_000_000)
        backend = PortsBackend(
            datapath, router.links, PortModes({}), FastPaths("", lambda _: None, lambda _: False)
        )
        roles = {"lan0": "lan", SESSION: "wan"}
        wanted = PortsWanted({name: PortSpec(name, role, "auto", 0, 0) for name, role in roles.items()}, ())
        decision = backend.decisions(backend.read(), wanted)[SESSION]
        assert decision.mode == "edt" and "no Ethernet header" in decision.fast_reason
        difference = backend.diff(backend.read(), wanted)
        backend.apply(difference)
        backend.verify(difference)
        ping = ("ping", "-q", "-c", "5", "-i", "0.2", "-W", "5", "10.99.0.1")
        assert " 0% packet loss" in customer.run(*ping)
        assert loaded.counters(SLOT, UPLOAD)["packets"] >= 5
        assert loaded.counters(SLOT, DOWNLOAD)["packets"] >= 5
        backend.apply(backend.diff(backend.read(), PortsWanted({}, ())))


def test_a_wrong_password_is_told_and_not_tried_again_soon(router: Router) -> None:
    router.bring(*dsl("wrong"))
    until("it is refused", lambda: router.state().get("session_failure") == REFUSED, UP_S)
    state = router.state()
    assert (state["session"], state["session_failures"]) == ("waiting", 1) and state["session_next_try"]
    router.bring(*dsl())
    assert router.come_up()["session_failure"] is None


def test_a_session_that_the_provider_ends_comes_back_and_a_silent_one_is_named(
    router: Router, concentrator: Concentrator
) -> None:
    router.bring(*dsl())
    router.come_up()
    concentrator.hang_up()
    until("the end is seen", lambda: not router.is_up(), UP_S)
    assert router.come_up()["session_failure"] == "the provider ended the session"
    concentrator.stop()
    until(
        "nobody answers",
        lambda: router.state()["session_failure"] == f"no access concentrator answers on {PARENT}",
        UP_S,
    )
    concentrator.start()


def test_a_session_has_ipv6_and_a_prefix_also_after_it_was_dialled_again(
    router: Router, concentrator: Concentrator, tmp_path: Path
) -> None:
    """What an agent does when links change is done here by hand: the setting, and who asks for the prefix."""
    below, session = dsl()
    asking = [below, replace(session, ipv6_addressing="auto", dhcpv6=Dhcpv6())]
    router.bring(*asking)
    for _ in range(2):
        until("IPv6 is agreed on", lambda: router.come_up()["session_ipv6_peer"], UP_S)
        with concentrator.with_ipv6(tmp_path):
            router.bring(*asking)
            router.clients.follow(NETWORK.wanted(router.document))
            until("it has learnt an address and a gateway", lambda: router.learnt() == WAN_NET, UP_S)
            until("it has a prefix", lambda: router.prefix() == FIRST and not router.failure(), UP_S)
            gateway = router.state()["session_ipv6_peer"]
            assert " 0% packet loss" in run("ping", "-6", "-q", "-c", "2", f"{gateway}%{SESSION}")
        concentrator.hang_up()
        until("the end is seen", lambda: not router.is_up(), UP_S)
        assert router.prefix() == FIRST, "a prefix outlives its session"
    router.come_up()
    router.bring(below, session)
    assert router.effects(*asking) == [(SESSION, "drops-sessions")]

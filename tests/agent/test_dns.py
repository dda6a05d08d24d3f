# SPDX-License-Identifier: Apache-2.0
"""unbound as the name service: another unbound in the internet is asked, and a client asks the router."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab import netns, process
from tests.agent.rig import Rig, running
from tests.agent.test_dhcp_server import udhcpc
from tests.polling import until
from weir.agent.options import CA_BUNDLE
from weir.backends.dns import CONF, DnsBackend
from weir.kinds.dhcp_reservation import DhcpReservation
from weir.kinds.dhcp_server import DhcpServer
from weir.kinds.dns import Dns
from weir.kinds.dns_block_list import DnsBlockList
from weir.kinds.dns_forward import DnsForward
from weir.kinds.dns_record import DnsRecord
from weir.kinds.dns_upstream import DnsUpstream
from weir.model.codec import to_stored_json
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.model.problem import ApplyFailed
from weir.parts.dns import DNS

UPSTREAM, OFFICE, TLS = "203.0.113.1", "203.0.113.53", "203.0.113.85"
LAN = Interface("lan0", "lan", addresses=("10.64.0.1/24",))
WAN = Interface("wan0", "wan", addresses=("203.0.113.2/24",))
ON = Dns(enabled=True, servers=(DnsUpstream(UPSTREAM),))
SERVER = DhcpServer("lan", "lan0", ranges=("10.64.0.100-10.64.0.109",))
FAR_ZONE = (
    "www.example.com. 300 IN A 192.0.2.80",
    "mail.example.com. 300 IN A 192.0.2.25",
    "sub.ads.example. 300 IN A 192.0.2.66",
    "good.ads.example. 300 IN A 192.0.2.67",
    "evil.example. 300 IN A 10.64.0.1",
    "plex.example. 300 IN A 10.64.0.9",
)
OFFICE_ZONE = ("intranet.corp.example. 300 IN A 10.9.9.9",)


def serve(rig: Rig, address: str, zone: tuple[str, ...], name: str, more: str = "") -> None:
    """An unbound in the internet that knows these names and no other."""
    folder = rig.folder / name
    folder.mkdir()
    lines = [
        "server:",
        'chroot: ""',
        'username: ""',
        'pidfile: ""',
        f'directory: "{folder}"',
        "use-syslog: no",
    ]
    lines += ['logfile: ""', "access-control: 0.0.0.0/0 allow", 'module-config: "iterator"', more]
    lines += [f"interface: {address}" + "@853" * bool(more), "ip-freebind: yes"]
    lines += ['module-config: "iterator"', 'local-zone: "." static']
    (folder / CONF).write_text("\n".join([*lines, *(f'local-data: "{line}"' for line in zone), ""]))
    rig.run("ip", "address", "replace", f"{address}/24", "dev", "i0", namespace=rig.internet)
    rig.spawn(name, ("unbound", "-d", "-p", "-c", str(folder / CONF)), netns.entering(rig.internet))


def certificate(folder: Path) -> Path:
    """A certificate of dns.example, which is its own authority."""
    run = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    names = ("-subj", "/CN=dns.example", "-addext", "subjectAltName=DNS:dns.example")
    files = ("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"))
    subprocess.run((*run, *names, *files), check=True, capture_output=True)
    for path in (folder, folder / "cert.pem"):
        path.chmod(0o755)
    return folder / "cert.pem"


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    folder = Path(f"/run/weir-dns-test-{os.getpid()}")
    folder.mkdir()
    trusted = certificate(folder)
    try:
        with running("--ca-bundle", str(trusted)) as made:
            serve(made, UPSTREAM, FAR_ZONE, "upstream")
            serve(made, OFFICE, OFFICE_ZONE, "office")
            keys = f'tls-service-key: "{folder}/key.pem"\ntls-service-pem: "{trusted}"'
            serve(made, TLS, FAR_ZONE, "tls", keys)
            made.commit(LAN, WAN, ON, SERVER)
            yield made
    finally:
        subprocess.run(("rm", "-rf", str(folder)), check=True)


def asked(rig: Rig, name: str, kind: str = "A", *, of: str = "10.64.0.1", inside: bool = True) -> list[str]:
    """The answer's status and values, as a host inside or in the internet gets them."""
    dig = ("dig", f"@{of}", name, kind, "+tries=2", "+timeout=2", "+noall", "+comments", "+answer")
    namespace = rig.client_ns if inside else rig.internet
    done = subprocess.run(
        ("ip", "netns", "exec", namespace, *dig), capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line]
    status = [line.partition("status: ")[2].partition(",")[0] for line in lines if "status: " in line]
    return status + [line.split(None, 4)[4] for line in lines if not line.startswith(";")]


def learnt(rig: Rig, kind: str = "dns", name: str = "dns") -> dict[str, Any]:
    found: dict[str, Any] = rig.agent.call("state", {"kind": kind, "ids": [name]})["objects"].get(name, {})
    return found


def effects(rig: Rig, *items: ConfigObject) -> list[dict[str, Any]]:
    changes = [{"kind": item.kind, "id": item.id, "new": to_stored_json(item)} for item in items]
    lines = [json.dumps(change).encode() for change in changes]
    found: list[dict[str, Any]] = rig.agent.call("preview", lines=("changes", lines))["effects"]
    return found


def pid_of(rig: Rig) -> int:
    return int((rig.folder / "daemons/dns/pid").read_text().split()[0])


def status_of(pid: int) -> Mapping[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def test_a_host_inside_gets_answers_and_the_state_counts_them(rig: Rig) -> None:
    assert asked(rig, "www.example.com") == ["NOERROR", "192.0.2.80"]
    assert asked(rig, "www.example.com") == ["NOERROR", "192.0.2.80"]
    state = learnt(rig)
    assert state["answering"] is True and state["queries"] >= 2 and state["cache_hits"] >= 1
    (server,) = state["upstreams"]
    assert (server["address"], server["reachable"]) == (UPSTREAM, True)
    assert rig.explain("dns", "dns")["agrees"] is True


def test_nobody_outside_gets_an_answer_not_even_a_refusal(rig: Rig) -> None:
    assert asked(rig, "www.example.com", of="203.0.113.2", inside=False) == []
    rig.run("ip", "route", "replace", "10.64.0.0/24", "via", "203.0.113.2", namespace=rig.internet)
    assert asked(rig, "www.example.com", of="10.64.0.1", inside=False) == []


def test_it_runs_without_roots_rights(rig: Rig) -> None:
    status = status_of(pid_of(rig))
    assert status["Uid"].split()[0] != "0"
    assert int(status["CapEff"], 16) == 1 << 10, "CAP_NET_BIND_SERVICE"


def test_a_record_comes_and_goes_and_what_is_remembered_stays(rig: Rig) -> None:
    asked(rig, "mail.example.com")
    pid, nas = pid_of(rig), DnsRecord("nas", "nas", "10.64.0.5")
    assert effects(rig, nas) == []
    rig.commit(
        nas,
        DnsRecord("www", "files", "nas", "CNAME"),
        DnsRecord("far", "outside", "www.example.com", "CNAME"),
        DnsRecord("odd", "odd", "<script>\"'\\;", "TXT"),
        DnsRecord("six", "nas", "2001:db8::5", "AAAA"),
        DnsRecord("all", "apps", "10.64.0.6", subdomains=True),
        DnsRecord("one", "own.apps.home.arpa", "10.64.0.7"),
    )
    assert pid_of(rig) == pid
    hits = learnt(rig)["cache_hits"]
    assert asked(rig, "mail.example.com") == ["NOERROR", "192.0.2.25"]
    assert learnt(rig)["cache_hits"] == hits + 1, "it was remembered"
    assert asked(rig, "nas.home.arpa") == ["NOERROR", "10.64.0.5"]
    assert asked(rig, "nas.home.arpa", "AAAA") == ["NOERROR", "2001:db8::5"]
    assert asked(rig, "5.0.64.10.in-addr.arpa", "PTR") == ["NOERROR", "nas.home.arpa."]
    assert asked(rig, "files.home.arpa") == ["NOERROR", "10.64.0.5"]
    assert asked(rig, "outside.home.arpa") == ["NOERROR", "www.example.com.", "192.0.2.80"]
    assert asked(rig, "odd.home.arpa", "TXT") == ["NOERROR", r'"<script>\"\'\\;"'.replace(r"\'", "'")]
    assert asked(rig, "any.apps.home.arpa") == ["NOERROR", "10.64.0.6"]
    assert asked(rig, "own.apps.home.arpa") == ["NOERROR", "10.64.0.7"]
    assert rig.explain("one", "dns-record")["agrees"] is True
    rig.commit(delete=[("dns-record", "nas"), ("dns-record", "six"), ("dns-record", "www")])
    assert asked(rig, "nas.home.arpa") == ["NXDOMAIN"] and pid_of(rig) == pid


def test_a_private_address_from_outside_is_left_out(rig: Rig) -> None:
    assert asked(rig, "evil.example") == ["NOERROR"]
    rig.commit(replace(ON, private_domains=("plex.example",)))
    assert asked(rig, "plex.example") == ["NOERROR", "10.64.0.9"]
    assert asked(rig, "evil.example") == ["NOERROR"]
    rig.commit(ON)


def test_a_split_domain_is_asked_of_its_own_server(rig: Rig) -> None:
    assert asked(rig, "intranet.corp.example") == ["NXDOMAIN"]
    rig.commit(DnsForward("corp", "corp.example", (DnsUpstream(OFFICE),)))
    until("the office is asked", lambda: asked(rig, "intranet.corp.example") == ["NOERROR", "10.9.9.9"])
    (server,) = learnt(rig, "dns-forward", "corp")["upstreams"]
    assert (server["address"], server["reachable"]) == (OFFICE, True)


def test_a_block_list_takes_domains_away_but_for_what_is_allowed_or_recorded(rig: Rig) -> None:
    rig.commit(DnsBlockList("ads", ("ads.example", "corp.example"), ("good.ads.example",)))
    assert asked(rig, "sub.ads.example") == ["NXDOMAIN"]
    assert asked(rig, "good.ads.example") == ["NOERROR", "192.0.2.67"]
    assert asked(rig, "intranet.corp.example") == ["NOERROR", "10.9.9.9"], "a split domain wins"
    rig.commit(DnsRecord("own", "sub.ads.example", "10.64.0.8"))
    assert asked(rig, "sub.ads.example") == ["NOERROR", "10.64.0.8"]


def test_questions_go_encrypted_to_who_has_the_right_certificate_and_to_nobody_else(rig: Rig) -> None:
    rig.commit(replace(ON, servers=(DnsUpstream(TLS, "dns.example"),), cache_mib=16))
    assert asked(rig, "www.example.com") == ["NOERROR", "192.0.2.80"]
    rig.commit(replace(ON, servers=(DnsUpstream(TLS, "other.example"),)))
    assert asked(rig, "www.example.com") in (["SERVFAIL"], [])
    rig.commit(ON)


def test_what_is_not_signed_as_the_root_says_is_refused_with_dnssec(rig: Rig) -> None:
    (effect,) = effects(rig, replace(ON, dnssec=True))
    assert effect["effect"] == "resets" and "forgets" in effect["text"]
    rig.commit(replace(ON, dnssec=True))
    assert asked(rig, "www.example.com") == ["SERVFAIL"]
    assert asked(rig, "intranet.corp.example") == ["NOERROR", "10.9.9.9"], "a split domain has no signatures"
    rig.commit(ON)


def test_hosts_with_a_lease_are_told_of_the_router_and_have_names_which_records_win(rig: Rig) -> None:
    until("Kea listens", lambda: learnt(rig, "dhcp-server", "lan").get("serving"))
    rig.run("ip", "address", "flush", "dev", "c0", namespace=rig.client_ns)
    given = udhcpc(rig, "-x", "hostname:laptop")
    assert (given["dns"], given["domain"]) == ("10.64.0.1", "home.arpa")
    udhcpc(rig, "-x", f"0x0c:{b'wpad'.hex()}", mac="02:00:5e:10:00:08")
    odd = f"0x0c:{chr(34).encode().hex()}{b'>x<script> IN A '.hex()}".replace(" ", "")
    other = udhcpc(rig, "-x", odd, mac="02:00:5e:10:00:09")["ip"]
    thief = udhcpc(rig, "-x", "hostname:laptop", mac="02:00:5e:10:00:0a")["ip"]
    rig.run("ip", "address", "add", "10.64.0.2/24", "dev", "c0", namespace=rig.client_ns)
    rig.commit(
        DhcpReservation("desk", "lan", "10.64.0.30", mac="02:00:5e:10:00:30", hostname="desk"),
        DnsRecord("intra", "intra", "laptop", "CNAME"),
    )
    pid, address = pid_of(rig), given["ip"]
    until("it has a name", lambda: asked(rig, "laptop.home.arpa") == ["NOERROR", address])
    assert thief != address, "who has a name keeps it"
    until("an odd one, too", lambda: asked(rig, "xscriptinacr.home.arpa") != [])
    backwards = ".".join(reversed(address.split(".")))
    assert asked(rig, f"{backwards}.in-addr.arpa", "PTR") == ["NOERROR", "laptop.home.arpa."]
    until("a reservation has", lambda: asked(rig, "desk.home.arpa") == ["NOERROR", "10.64.0.30"])
    until("an alias follows", lambda: asked(rig, "intra.home.arpa") == ["NOERROR", address])
    assert asked(rig, "wpad.home.arpa") == ["NXDOMAIN"]
    assert learnt(rig)["lease_names"] >= 3 and other
    rig.commit(DnsRecord("laptop", "laptop", "10.64.0.77"))
    until("the record wins", lambda: asked(rig, "laptop.home.arpa") == ["NOERROR", "10.64.0.77"])
    for _ in range(30):  # what is told of the lease takes nothing of the record
        assert asked(rig, "laptop.home.arpa") == ["NOERROR", "10.64.0.77"]
        time.sleep(0.1)
    rig.commit(delete=[("dns-record", "laptop")])
    until("the lease is back", lambda: asked(rig, "laptop.home.arpa") == ["NOERROR", address])
    assert pid_of(rig) == pid


def test_one_that_dies_is_started_again_with_all_names_and_outlives_the_agent(rig: Rig) -> None:
    before, file = pid_of(rig), rig.folder / "daemons/dns/config" / CONF
    written = file.read_text()
    file.write_text(written + "spoilt by somebody else\n")
    os.kill(before, signal.SIGKILL)
    until("another one runs", lambda: pid_of(rig) != before)
    assert file.read_text() == written, "what somebody else wrote there is undone"
    until("it answers", lambda: asked(rig, "desk.home.arpa") == ["NOERROR", "10.64.0.30"])
    before = pid_of(rig)
    rig.kill_agent()
    assert asked(rig, "www.example.com") == ["NOERROR", "192.0.2.80"]
    rig.start_agent()
    assert pid_of(rig) == before
    assert asked(rig, "desk.home.arpa") == ["NOERROR", "10.64.0.30"]


def test_other_addresses_start_it_again_and_that_is_said_first(rig: Rig) -> None:
    before, more = pid_of(rig), replace(LAN, addresses=("10.64.0.1/24", "10.65.0.1/24"))
    told = [effect for effect in effects(rig, more) if "name service" in effect["text"]]
    assert [effect["effect"] for effect in told] == ["resets"]
    rig.commit(more)
    assert pid_of(rig) != before
    assert asked(rig, "desk.home.arpa") == ["NOERROR", "10.64.0.30"]


def test_a_server_that_does_not_answer_is_told_as_such(rig: Rig) -> None:
    rig.commit(replace(ON, servers=(DnsUpstream("203.0.113.99"),)))
    (server,) = learnt(rig)["upstreams"]
    assert server["reachable"] is None, "nobody asked it yet"
    asked(rig, "silent.example")
    until("it is missed", lambda: learnt(rig)["upstreams"][0]["reachable"] is False)
    assert learnt(rig)["upstreams"][0]["rtt_ms"] is None


def test_without_anything_to_do_it_does_not_run(rig: Rig) -> None:
    pid = pid_of(rig)
    rig.commit(Dns())
    until("it has ended", lambda: process.started_ticks(pid) == -1)
    assert learnt(rig) == {}


def test_a_file_that_unbound_refuses_is_refused_in_its_words_and_starts_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = Path(f"/run/weir-dns-refused-{os.getpid()}")
    backend = DnsBackend(folder, CA_BUNDLE)
    monkeypatch.setattr("weir.backends.dns.config_text", lambda *_given: "server:\n  bogus: 7\n")
    difference = backend.diff(backend.read(), DNS.wanted(Document((LAN, ON))))
    try:
        with pytest.raises(ApplyFailed, match=r"dns refuses its files: .*unknown keyword 'bogus'"):
            backend.apply(difference)
        assert backend.daemon.identity() is None and backend.daemon.read() == {}
    finally:
        subprocess.run(("rm", "-rf", str(folder)), check=True)

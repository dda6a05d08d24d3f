# SPDX-License-Identifier: Apache-2.0
"""Kea as DHCP server: real clients in another namespace ask it for addresses."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab import netns, process
from tests.agent.rig import Rig, running
from tests.agent.test_effects import foreseen
from tests.polling import until
from weir.backends.dhcp import DhcpBackend
from weir.backends.kea_config import config_text
from weir.kinds.dhcp_reservation import DhcpReservation
from weir.kinds.dhcp_server import DhcpOption, DhcpServer
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.links import Bridge
from weir.model.problem import ApplyFailed
from weir.parts.dhcp import DHCP

MAC = "02:00:5e:10:00:01"
SERVER = DhcpServer(
    "lan",
    "lan0",
    ranges=("10.64.0.100-10.64.0.109",),
    dns_servers=("192.0.2.53",),
    domain="office.example",
    options=(DhcpOption("tftp-server-name", "boot.example", always=True),),
)
ALONE = (
    "unshare",
    "--mount",
    "sh",
    "-c",
    'mount -t tmpfs t /run && mount -t tmpfs t /var/lib/dhcpcd && eval "$0"',
)
LAN = Interface("lan0", "lan", addresses=("10.64.0.1/24",))


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        made.run("ip", "address", "flush", "dev", "c0", namespace=made.client_ns)
        made.commit(LAN, SERVER)
        until("Kea listens", lambda: learnt(made).get("serving"))
        yield made


def learnt(rig: Rig, kind: str = "dhcp-server", name: str = "lan") -> dict[str, Any]:
    found: dict[str, Any] = rig.agent.call("state", {"kind": kind, "ids": [name]})["objects"].get(name, {})
    return found


def pid_of(rig: Rig) -> int:
    return int((rig.folder / "daemons/dhcp/pid").read_text().split()[0])


def leases(rig: Rig, **asked: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rig.agent.call("leases", asked)["leases"]
    return found


def as_client(rig: Rig, *command: str) -> str:
    """What a program says in the client's namespace; it is ended after a while, with all that it started."""
    said = rig.folder / "client.said"
    with said.open("w") as output:
        run = ("timeout", "--kill-after=1", "12", *command)
        subprocess.run(
            run, stdout=output, stderr=output, check=False, preexec_fn=netns.entering(rig.client_ns)
        )
    return said.read_text(errors="replace")


def udhcpc(rig: Rig, *options: str, mac: str = MAC) -> dict[str, str]:
    """What busybox' client was given, as its script is told it; empty when nobody gave anything."""
    rig.run("ip", "link", "set", "c0", "address", mac, namespace=rig.client_ns)
    script, said = rig.folder / "udhcpc.sh", rig.folder / "udhcpc.said"
    script.write_text(f'#!/bin/sh\n[ "$1" = bound ] && env > {said}\nexit 0\n')
    script.chmod(0o755)
    said.unlink(missing_ok=True)
    run = ("busybox", "udhcpc", "-i", "c0", "-n", "-q", "-f", "-t", "4", "-T", "1", "-s", str(script))
    as_client(rig, *run, *options)
    lines = said.read_text(errors="replace").splitlines() if said.exists() else []
    return dict(line.split("=", 1) for line in lines if "=" in line)


def index_of(rig: Rig, name: str) -> int | None:
    return next((item["ifindex"] for item in rig.json("ip", "-j", "link") if item["ifname"] == name), None)


def test_a_client_gets_its_address_with_gateway_dns_domain_and_options(rig: Rig) -> None:
    given = udhcpc(rig, "-x", "hostname:laptop")
    assert given["ip"] == "10.64.0.100" and given["subnet"] == "255.255.255.0"
    assert (given["router"], given["dns"], given["domain"]) == ("10.64.0.1", "192.0.2.53", "office.example")
    assert given["tftp"] == "boot.example"
    assert given["lease"] == "3600"
    (lease,) = leases(rig)
    assert (lease["address"], lease["mac"], lease["hostname"]) == ("10.64.0.100", MAC, "laptop")
    assert (lease["server"], lease["interface"], lease["reservation"]) == ("lan", "lan0", None)
    assert lease["expires_ms"] > time.time() * 1000
    assert learnt(rig) == {"serving": True, "lease_count": 1, "address_count": 10}


def test_dhclient_and_dhcpcd_get_theirs_too(rig: Rig) -> None:
    rig.run("ip", "link", "set", "c0", "address", "02:00:5e:10:00:02", namespace=rig.client_ns)
    kept = rig.folder / "dhclient.leases"
    files = ("-cf", "/dev/null", "-lf", str(kept), "-pf", str(rig.folder / "dhclient.pid"))
    words = as_client(rig, "dhclient", "-1", "-sf", "/bin/true", *files, "c0")
    as_client(rig, "dhclient", "-x", "-sf", "/bin/true", *files, "c0")
    assert "fixed-address 10.64.0.101" in kept.read_text(), words
    rig.run("ip", "link", "set", "c0", "address", "02:00:5e:10:00:03", namespace=rig.client_ns)
    words = as_client(
        rig, *ALONE, f"exec dhcpcd -4 -1 -B -d --noconfigure -A -c /bin/true -f {os.devnull} c0"
    )
    assert "leased 10.64.0.102 for 3600 seconds" in words


def test_a_change_of_other_things_leaves_process_and_leases_alone(rig: Rig) -> None:
    before, held = pid_of(rig), udhcpc(rig)["ip"]
    rig.commit(
        SERVER,
        DhcpReservation("other", "lan", "10.64.0.20", mac="02:00:5e:10:00:77"),
        Interface("lan0", "lan", addresses=("10.64.0.1/24", "10.65.0.1/24")),
    )
    assert pid_of(rig) == before
    assert [item["address"] for item in leases(rig, words=MAC)] == [held]
    assert udhcpc(rig)["ip"] == held


def test_a_reservation_is_honoured_whatever_the_client_id_and_outside_the_ranges(rig: Rig) -> None:
    rig.commit(DhcpReservation("desk", "lan", "10.64.0.30", mac="02:00:5e:10:00:30", hostname="desk"))
    assert udhcpc(rig, mac="02:00:5e:10:00:30")["ip"] == "10.64.0.30"
    given = udhcpc(rig, "-x", "0x3d:00112233445566", "-O", "hostname", mac="02:00:5e:10:00:30")
    assert (given["ip"], given["hostname"]) == ("10.64.0.30", "desk")
    (lease,) = leases(rig, words="10.64.0.30")
    assert lease["reservation"] == "desk"
    assert learnt(rig, "dhcp-reservation", "desk")["leased_until"] is not None
    assert learnt(rig, "dhcp-reservation", "other") == {"leased_until": None, "keeps_until": None}
    answer = rig.explain("desk", "dhcp-reservation")
    assert answer["agrees"] is True


def test_a_reservation_may_go_by_client_id(rig: Rig) -> None:
    rig.commit(DhcpReservation("phone", "lan", "10.64.0.31", client_id="0x00aabbccdd"))
    given = udhcpc(rig, "-x", "0x3d:00aabbccdd", mac="02:00:5e:10:00:31")
    assert given["ip"] == "10.64.0.31"


def request_again(rig: Rig, address: str, mac: str) -> str:
    """What dhclient says that asks for an address which it believes to have (RFC 2131, 3.2)."""
    kept = rig.folder / "moved.leases"
    kept.write_text(
        f'lease {{\n  interface "c0";\n  fixed-address {address};\n  option subnet-mask 255.255.255.0;\n'
        + "".join(f"  {word} 6 2037/01/01 00:00:00;\n" for word in ("renew", "rebind", "expire"))
        + "}\n"
    )
    rig.run("ip", "link", "set", "c0", "address", mac, namespace=rig.client_ns)
    files = ("-cf", "/dev/null", "-lf", str(kept), "-pf", str(rig.folder / "dhclient.pid"))
    words = as_client(rig, "timeout", "6", "dhclient", "-1", "-v", "-sf", "/bin/true", *files, "c0")
    as_client(rig, "dhclient", "-x", "-sf", "/bin/true", *files, "c0")
    return words


def test_a_client_that_comes_from_elsewhere_is_told_that_its_address_is_wrong_here(rig: Rig) -> None:
    """DHCPNAK at once (RFC 2131, 4.3.2), so that it asks for another instead of waiting."""
    words = request_again(rig, "192.168.7.7", "02:00:5e:10:00:04")
    assert re.search(r"DHCPREQUEST for 192.168.7.7(.|\n)*DHCPNAK(.|\n)*DHCPACK of 10\.64\.0\.", words)


def test_a_blocked_client_gets_no_answer_and_what_it_has_counts_no_more(rig: Rig) -> None:
    mac = "02:00:5e:10:00:60"
    held, before = udhcpc(rig, mac=mac)["ip"], pid_of(rig)
    others = {item["address"] for item in leases(rig)} - {held}
    blocked = DhcpReservation("unwanted", "lan", "10.64.0.60", mac=mac, block=True)
    said = foreseen(rig, blocked)["dhcp-reservation", "unwanted"]
    assert said["effect"] == "drops-sessions" and "gets no answer any more" in said["text"]
    assert [item["address"] for item in leases(rig, words=mac)] == [held], "a preview takes nothing"
    rig.commit(blocked)
    assert {item["address"] for item in leases(rig)} == others and pid_of(rig) == before
    state = learnt(rig, "dhcp-reservation", "unwanted")
    assert state["leased_until"] is None and state["keeps_until"] is not None
    words = request_again(rig, held, mac)
    assert f"DHCPREQUEST for {held}" in words and not re.search("DHCP(ACK|NAK|OFFER)", words), words
    assert "ip" not in udhcpc(rig, "-t", "1", mac=mac)
    answer = rig.explain("unwanted", "dhcp-reservation")
    assert answer["agrees"] is True
    assert any("no answer of DHCP server lan" in line["compiled"] for line in answer["lines"])
    rig.kill_agent()
    rig.start_agent()
    assert {item["address"] for item in leases(rig)} == others
    rig.commit(replace(blocked, block=False))
    assert [item["address"] for item in leases(rig, words=mac)] == [held]
    assert udhcpc(rig, mac=mac)["ip"] == "10.64.0.60" and pid_of(rig) == before


@pytest.mark.parametrize("name", ['"quoted"; drop', "<script>alert(1)</script>", "two\nlines", "a,b,c\t"])
def test_a_host_name_comes_out_harmless(rig: Rig, name: str) -> None:
    option = f"0x0c:{name.encode().hex()}"
    mac = f"02:00:5e:10:01:{len(name):02x}"
    address = udhcpc(rig, "-x", option, mac=mac)["ip"]
    (lease,) = leases(rig, words=mac)
    assert lease["address"] == address
    assert re.fullmatch(r"[A-Za-z0-9._-]*", lease["hostname"] or "")


def test_a_killed_kea_is_started_again_and_knows_its_leases(rig: Rig) -> None:
    before, held = pid_of(rig), udhcpc(rig)["ip"]
    os.kill(before, signal.SIGKILL)
    until("another one runs", lambda: pid_of(rig) != before)
    until("it listens", lambda: learnt(rig).get("serving"))
    assert udhcpc(rig)["ip"] == held


def test_an_agent_that_starts_again_touches_nothing(rig: Rig) -> None:
    before, held = pid_of(rig), [(item["address"], item["mac"]) for item in leases(rig)]
    rig.kill_agent()
    assert udhcpc(rig)["ip"] in dict(held), "Kea serves without the agent"
    rig.start_agent()
    assert pid_of(rig) == before
    assert [(item["address"], item["mac"]) for item in leases(rig)] == held
    assert learnt(rig)["serving"] is True


def test_a_bridge_that_is_made_again_is_served_again(rig: Rig) -> None:
    before = pid_of(rig)
    rig.commit(
        Interface("br7", "lan", addresses=("10.7.0.1/24",), bridge=Bridge()), DhcpServer("seven", "br7")
    )
    rig.run("ip", "link", "add", "p7", "type", "veth", "peer", "name", "p8")
    rig.run("ip", "link", "set", "p8", "up")
    rig.run("ip", "link", "set", "p7", "master", "br7", "up")
    until("it listens there", lambda: learnt(rig, name="seven").get("serving"))
    index = index_of(rig, "br7")
    rig.run("ip", "link", "delete", "br7")
    until("it is another one", lambda: index_of(rig, "br7") not in (None, index))
    rig.run("ip", "link", "set", "p7", "master", "br7", "up")
    until("it listens there again", lambda: learnt(rig, name="seven").get("serving"))
    assert learnt(rig)["serving"] is True and pid_of(rig) == before
    rig.commit(delete=[("dhcp-server", "seven"), ("interface", "br7")])
    assert pid_of(rig) == before


def test_who_comes_and_goes_is_told_in_order(rig: Rig) -> None:
    number = rig.agent.call("lease_changes", {})["number"]
    mac = "02:00:5e:10:00:55"
    address = udhcpc(rig, mac=mac)["ip"]
    answer = rig.agent.call("lease_changes", {"after": number})
    assert [(item["what"], item["address"], item["mac"]) for item in answer["changes"]] == [
        ("came", address, mac)
    ]
    assert rig.agent.call("lease_changes", {"after": answer["number"]})["changes"] == []


def test_a_full_range_gives_no_more_and_a_host_is_called_as_its_lease_says(rig: Rig) -> None:
    rig.commit(replace(SERVER, ranges=("10.64.0.200-10.64.0.201",)))
    given = [
        udhcpc(rig, "-x", f"hostname:box{number}", mac=f"02:00:5e:20:00:{number:02x}") for number in range(3)
    ]
    assert {item.get("ip") for item in given[:2]} == {"10.64.0.200", "10.64.0.201"}
    assert "ip" not in given[2]
    assert learnt(rig)["address_count"] == 2
    address = given[1]["ip"]
    rig.run("ip", "neighbour", "replace", address, "lladdr", "02:00:5e:20:00:01", "dev", "lan0")
    names = {item["address"]: item["name"] for item in rig.agent.call("hosts")["hosts"]}
    assert names[address] == "box1"
    rig.commit(SERVER)


def test_what_is_taken_away_costs_its_clients_something_and_that_is_said_first(rig: Rig) -> None:
    assert foreseen(rig, replace(SERVER, lease_s=7200)) == {}
    (effect,) = foreseen(rig, replace(SERVER, disabled=True)).values()
    assert effect["effect"] == "resets" and "nobody on lan0 gets an address any more" in effect["text"]


def test_without_a_server_it_does_not_run(rig: Rig) -> None:
    pid = pid_of(rig)
    rig.commit(replace(SERVER, disabled=True))
    until("it has ended", lambda: process.started_ticks(pid) == -1)
    assert leases(rig) == []
    rig.commit(SERVER)
    until("it listens again", lambda: learnt(rig).get("serving"))


# -- without a router -------------------------------------------------------------------------------------


@pytest.fixture
def backend() -> Iterator[DhcpBackend]:
    folder = Path(f"/run/weir-dhcp-test-{os.getpid()}")
    found = DhcpBackend(folder, folder / "data")
    yield found
    found.daemon.stop()
    subprocess.run(("rm", "-rf", str(folder)), check=True)


def document(*more: Any) -> Document:
    """A server on the loopback, as every machine has one."""
    return Document((Interface("lo", "lan", addresses=("127.0.0.1/8",)), SPARE, *more))


SPARE = DhcpServer("spare", "lo", ranges=("127.0.0.10-127.0.0.20",))


def bring(backend: DhcpBackend, *more: Any) -> None:
    difference = backend.diff(backend.read(), DHCP.wanted(document(*more)))
    backend.apply(difference)
    backend.verify(difference)


def test_what_kea_refuses_fails_in_its_words_and_what_ran_goes_on(
    backend: DhcpBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoilt(*given: Any) -> str:
        return config_text(*given).replace("127.0.0.10-127.0.0.20", "10.0.0.1-10.0.0.2")

    bring(backend)
    before, tag = backend.daemon.identity(), backend.loaded(1.0)
    monkeypatch.setattr("weir.backends.dhcp.config_text", spoilt)
    with pytest.raises(ApplyFailed, match=r"dhcp refuses its files: .*10\.0\.0\.1"):
        bring(backend, DhcpReservation("r1", "spare", "127.0.0.30", mac=MAC))
    assert backend.daemon.identity() == before and backend.loaded(1.0) == tag
    monkeypatch.undo()
    bring(backend)
    assert backend.daemon.identity() == before and not backend.diff(backend.read(), DHCP.wanted(document()))


def test_a_first_start_with_what_kea_refuses_starts_nothing(
    backend: DhcpBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "weir.backends.dhcp.config_text", lambda *_given: '{"Dhcp4": {"server-tag": "x", "no": 1}}'
    )
    with pytest.raises(ApplyFailed, match=r"dhcp refuses its files: .*no"):
        bring(backend)
    assert backend.daemon.identity() is None and backend.daemon.read() == {}


def test_one_that_hangs_is_started_again_in_bounded_time(backend: DhcpBackend) -> None:
    bring(backend)
    identity = backend.daemon.identity()
    assert identity is not None
    os.kill(identity[0], signal.SIGSTOP)
    started_s = time.monotonic()
    bring(backend, DhcpReservation("r1", "spare", "127.0.0.30", mac=MAC))
    assert time.monotonic() - started_s < 8.0
    assert backend.daemon.identity() != identity


def test_kea_reads_its_files_whatever_the_agents_umask(backend: DhcpBackend) -> None:
    """The image's agent has 077, and Kea's folder in the agent's is made first."""
    before = os.umask(0o077)
    try:
        bring(backend)
    finally:
        os.umask(before)
    assert backend.daemon.identity() is not None


def test_kea_runs_without_roots_rights(backend: DhcpBackend) -> None:
    bring(backend)
    identity = backend.daemon.identity()
    assert identity is not None
    status = dict(
        line.split(":\t", 1)
        for line in Path(f"/proc/{identity[0]}/status").read_text().splitlines()
        if ":\t" in line
    )
    assert status["Uid"].split()[0] != "0"
    assert int(status["CapEff"], 16) == 1 << 10 | 1 << 13, "CAP_NET_BIND_SERVICE and CAP_NET_RAW"
    assert status["NoNewPrivs"] == "1"

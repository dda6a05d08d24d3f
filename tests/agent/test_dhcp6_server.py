# SPDX-License-Identifier: Apache-2.0
"""Kea as DHCP server for IPv6: real clients in another namespace ask it for addresses and settings."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from tests.agent.rig import Rig, running
from tests.agent.test_dhcp_server import ALONE, as_client, leases
from tests.agent.test_dns import asked
from tests.polling import until
from weir.kinds.dhcp6_reservation import Dhcpv6Reservation
from weir.kinds.dhcp6_server import Dhcpv6Server
from weir.kinds.dns import Dns
from weir.kinds.zone import Zone
from weir.model.announcing import Announcement
from weir.model.codec import to_stored_json
from weir.model.interface import Interface

NO_PREFIXES = {"delegated_count": 0, "prefix_count": 0, "pools": []}
STATIC = {"origin": None, "failure": None}
NETWORK = "2001:db8:64::/64"
SERVER = Dhcpv6Server(
    "lan", "lan0", first="::100", last="::109", dns_servers=("2001:db8::53",), domain="office.example"
)
LAN = Interface("lan0", "lan", addresses=("10.64.0.1/24", "2001:db8:64::1/64"), ra=Announcement())


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        made.commit(LAN, SERVER, Zone("guest", ("ping",)))
        until("Kea listens", lambda: learnt(made).get("serving"), 20.0)
        until("the client has an address to ask from", lambda: has_own_address(made), 15.0)
        yield made


def learnt(rig: Rig, kind: str = "dhcpv6-server", name: str = "lan") -> dict[str, Any]:
    found: dict[str, Any] = rig.agent.call("state", {"kind": kind, "ids": [name]})["objects"].get(name, {})
    return found


def has_own_address(rig: Rig, link: str = "c0") -> bool:
    words = ("ip", "-6", "address", "show", "dev", link, "scope", "link", "-tentative", "up")
    return "fe80:" in rig.run(*words, namespace=rig.client_ns)


def pid_of(rig: Rig) -> int:
    return int((rig.folder / "daemons/dhcp6/pid").read_text().split()[0])


class Dhclient:
    """ISC's client for IPv6 on c0, which keeps who it is and its lease in files of its own."""

    def __init__(self, rig: Rig, number: int) -> None:
        self._rig = rig
        self.kept = rig.folder / f"dhclient6-{number}.leases"
        self.duid = f"00:03:00:01:02:00:5e:10:00:{number:02x}"
        text = self.duid.split(":")
        self.kept.write_text(f'default-duid "{"".join(chr(92) + "x" + item for item in text)}";\n')

    def asks(self, *words: str, link: str = "c0", within_s: int = 12) -> str:
        """What it says when it asks once; `-r` gives the lease back."""
        pid = self._rig.folder / "dhclient6.pid"
        settings = () if "-cf" in words else ("-cf", "/dev/null")
        files = (*settings, "-lf", str(self.kept), "-pf", str(pid))
        script = () if "-sf" in words else ("-sf", "/bin/true")
        run = ("timeout", str(within_s), "dhclient", "-6", "-1", "-v", *script, *files, *words, link)
        said = as_client(self._rig, *run)
        if "-r" not in words:
            as_client(self._rig, "dhclient", "-6", "-x", "-sf", "/bin/true", *files, link)
        return said

    @property
    def address(self) -> str | None:
        """That of its last lease."""
        found = re.findall(r"iaaddr (\S+) ", self.kept.read_text())
        return found[-1] if found else None


def test_a_client_gets_an_address_and_is_told_its_dns_server_and_domain(rig: Rig) -> None:
    client = Dhclient(rig, 1)
    words = client.asks()
    assert client.address == "2001:db8:64::100", words
    kept = client.kept.read_text()
    assert "option dhcp6.name-servers 2001:db8::53;" in kept
    assert 'option dhcp6.domain-search "office.example."' in kept
    assert "preferred-life 2700;" in kept and "max-life 5400;" in kept and "renew 1350;" in kept
    (lease,) = leases(rig)
    assert (lease["address"], lease["client_id"]) == (client.address, client.duid)
    assert (lease["server"], lease["interface"], lease["reservation"]) == ("lan", "lan0", None)
    assert learnt(rig) == {
        "serving": True,
        "network": NETWORK,
        "lease_count": 1,
        "address_count": 10,
        **NO_PREFIXES,
        **STATIC,
    }


def test_one_that_asks_again_keeps_its_address_and_one_that_gives_it_back_has_none(rig: Rig) -> None:
    client = Dhclient(rig, 2)
    client.asks()
    held = client.address
    client.asks()
    assert client.address == held == "2001:db8:64::101"
    client.asks("-r")
    until("it is nobody's", lambda: held not in [item["address"] for item in leases(rig)])


def dhcpcd(rig: Rig) -> str:
    """What dhcpcd says when it follows an announcement, with what its script is told."""
    options = f"--noconfigure -A -o domain_name_servers -c /usr/bin/env -f {os.devnull}"
    return as_client(rig, *ALONE, f"exec dhcpcd -6 -1 -B -d {options} c0")


def test_dhcpcd_asks_because_it_is_announced_and_gets_address_and_dns_server(rig: Rig) -> None:
    words = dhcpcd(rig)
    assert "nd1_flags=MO" in words and "new_dhcp6_ia_na1_ia_addr1=2001:db8:64::10" in words, words
    assert "new_dhcp6_name_servers=2001:db8::53" in words, words


def test_a_change_of_other_things_leaves_process_and_leases_alone(rig: Rig) -> None:
    before, held = pid_of(rig), addresses(rig)
    assert held
    rig.commit(replace(SERVER, comment="seen", dns_servers=("2001:db8::54",)))
    rig.commit(SERVER, replace(LAN, addresses=(*LAN.addresses, "2001:db8:65::1/64")))
    assert pid_of(rig) == before and addresses(rig) == held
    rig.commit(LAN)


def addresses(rig: Rig) -> list[str]:
    return [item["address"] for item in leases(rig)]


def test_a_killed_kea_is_started_again_and_knows_its_leases(rig: Rig) -> None:
    before, held = pid_of(rig), addresses(rig)
    client = Dhclient(rig, 1)
    os.kill(before, signal.SIGKILL)
    until("another one runs", lambda: pid_of(rig) != before)
    until("it listens", lambda: learnt(rig).get("serving"))
    client.asks()
    assert client.address == "2001:db8:64::100" and addresses(rig) == held


def test_an_agent_that_starts_again_touches_nothing(rig: Rig) -> None:
    before, held = pid_of(rig), addresses(rig)
    rig.kill_agent()
    client = Dhclient(rig, 1)
    client.asks()
    assert client.address in held, "Kea serves without the agent"
    rig.start_agent()
    assert pid_of(rig) == before and addresses(rig) == held and learnt(rig)["serving"] is True
    assert rig.status()["drift"] == [] and rig.agent.call("resync")["faults"] == []


def test_clients_reach_it_whatever_their_zone_reaches(rig: Rig) -> None:
    rig.commit(replace(LAN, role="guest"))
    client = Dhclient(rig, 3)
    client.asks()
    assert client.address is not None
    answer = rig.explain("lan", "dhcpv6-server")
    said = {line["compiled"]: line["agrees"] for line in answer["lines"]}
    assert answer["agrees"] is True and said["it listens on lan0"] is True
    assert any("input accept IPv6 from lan0: clients of DHCPv6 server lan" in text for text in said)
    rig.commit(LAN)


def test_a_full_range_gives_no_more(rig: Rig) -> None:
    rig.commit(replace(SERVER, first="::1", last="::3"))
    clients = [Dhclient(rig, number) for number in (21, 22, 23)]
    for client in clients:
        client.asks()
    given = {client.address for client in clients}
    assert given == {"2001:db8:64::2", "2001:db8:64::3", None}, "::1 is the router's"
    assert learnt(rig)["address_count"] == 2
    rig.commit(SERVER)


def test_a_reservation_is_honoured_outside_the_range_and_costs_no_lease(rig: Rig) -> None:
    before, held = pid_of(rig), addresses(rig)
    client = Dhclient(rig, 41)
    by_mac = Dhcpv6Reservation("desk", "lan", "::42", mac="02:00:5e:10:00:2a")
    rig.commit(Dhcpv6Reservation("printer", "lan", "::41", duid=client.duid), by_mac)
    client.asks()
    other = Dhclient(rig, 42)
    other.asks()
    assert (client.address, other.address) == ("2001:db8:64::41", "2001:db8:64::42")
    given = {item["address"]: item["reservation"] for item in leases(rig)}
    assert given == {
        **dict.fromkeys(held),
        "2001:db8:64::41": "printer",
        "2001:db8:64::42": "desk",
    }
    assert learnt(rig, "dhcpv6-reservation", "printer")["leased_until"] is not None
    assert rig.explain("printer", "dhcpv6-reservation")["agrees"] is True
    rig.commit(replace(by_mac, address="::43"))
    other = Dhclient(rig, 42)
    other.asks()
    assert other.address == "2001:db8:64::43" and pid_of(rig) == before
    assert set(held) < set(addresses(rig))


def test_a_blocked_client_gets_no_answer_and_what_it_has_counts_no_more(rig: Rig) -> None:
    client, before = Dhclient(rig, 61), pid_of(rig)
    client.asks()
    held = client.address
    assert held in addresses(rig)
    others = [address for address in addresses(rig) if address != held]
    blocked = Dhcpv6Reservation("unwanted", "lan", duid=client.duid, block=True)
    rig.commit(blocked)
    assert addresses(rig) == others and pid_of(rig) == before
    state = learnt(rig, "dhcpv6-reservation", "unwanted")
    assert state["leased_until"] is None and state["keeps_until"] is not None
    words = client.asks(within_s=3)
    assert "Confirm" in words and "Advertise" not in words and "Reply" not in words, words
    assert "Reply" not in client.asks("-S", within_s=3), "nor settings"
    answer = rig.explain("unwanted", "dhcpv6-reservation")
    assert answer["agrees"] is True
    assert any("no answer of lan for the host" in line["compiled"] for line in answer["lines"])
    rig.commit(delete=[("dhcpv6-reservation", "unwanted")])
    assert held in addresses(rig) and "Reply" in client.asks() and pid_of(rig) == before
    client.asks("-r")


def test_clients_have_names_beside_those_of_ipv4(rig: Rig) -> None:
    named = Dhcpv6Reservation("desk", "lan", "::42", mac="02:00:5e:10:00:2a", hostname="desk")
    rig.commit(named, Dns(enabled=True))
    client = Dhclient(rig, 51)
    settings = rig.folder / "named.conf"
    settings.write_text('send fqdn.fqdn "laptop.somewhere.example.";\n')
    client.asks("-cf", str(settings))
    assert client.address is not None
    answer = ["NOERROR", client.address]
    until("it has a name", lambda: asked(rig, "laptop.office.example", "AAAA") == answer)
    reverse = ip_address(client.address).reverse_pointer
    assert asked(rig, reverse, "PTR") == ["NOERROR", "laptop.office.example."]
    assert asked(rig, "desk.office.example", "AAAA") == ["NOERROR", "2001:db8:64::42"]
    client.asks("-r")
    until("it is gone", lambda: client.address not in asked(rig, "laptop.office.example", "AAAA"))
    rig.commit(replace(named, hostname=None), Dns())


def test_a_stateless_one_tells_settings_and_gives_no_address(rig: Rig) -> None:
    rig.commit(replace(SERVER, mode="stateless"))
    client = Dhclient(rig, 31)
    client.asks()
    assert client.address is None
    told = rig.folder / "told"
    script = rig.folder / "told.sh"
    script.write_text(f"#!/bin/sh\nenv > {told}\n")
    script.chmod(0o755)
    client.asks("-S", "-sf", str(script))
    assert "new_dhcp6_name_servers=2001:db8::53\n" in told.read_text()
    until("it is announced so", lambda: "nd1_flags=O\n" in dhcpcd(rig), 40.0)
    assert learnt(rig)["address_count"] == 0
    rig.commit(SERVER)


def test_what_is_taken_away_costs_its_clients_something_and_that_is_said_first(rig: Rig) -> None:
    def effects(new: Dhcpv6Server) -> list[dict[str, Any]]:
        change = {"kind": "dhcpv6-server", "id": "lan", "new": to_stored_json(new)}
        lines = [json.dumps(change).encode()]
        found: list[dict[str, Any]] = rig.agent.call("preview", lines=("changes", lines))["effects"]
        return found

    assert effects(replace(SERVER, valid_s=7200)) == []
    (effect,) = effects(replace(SERVER, disabled=True))
    assert effect["effect"] == "resets" and "nobody on lan0 gets an IPv6 address" in effect["text"]


def test_it_runs_without_roots_rights_and_ends_with_its_last_server(rig: Rig) -> None:
    status = Path(f"/proc/{pid_of(rig)}/status").read_text()
    found = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert found["Uid"].split()[0] != "0" and int(found["CapEff"], 16) == 1 << 10, "CAP_NET_BIND_SERVICE"
    rig.commit(replace(SERVER, disabled=True))
    answer = rig.explain("lan", "dhcpv6-server")
    assert answer["agrees"] is True, answer
    assert "it does not run" in [line["system"] for line in answer["lines"]], answer
    assert learnt(rig) == {} and leases(rig) == []

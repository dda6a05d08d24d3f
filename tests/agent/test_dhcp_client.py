# SPDX-License-Identifier: Apache-2.0
"""What a DHCP client says when, on a wire where time passes only by waiting."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent.dhcp_server import LEASE_S, MAC, SERVER, SERVER_MAC, Heard, Network, answer
from weir.adapters.arp_probe import claimant, probe
from weir.adapters.dhcp_packets import Kind
from weir.agent import views
from weir.agent.dhcp_client import DhcpClient, Lease
from weir.agent.lease_client import since_boot_s
from weir.agent.leases import FIRST_DISTANCE, Leases
from weir.parts.network import NetworkSpec
from weir.parts.routes import RouteSpec

ADDRESS = "198.51.100.7"
Respond = Callable[[Heard], bytes | None]


def willing(message: Heard) -> bytes | None:
    if message.kind == Kind.DISCOVER:
        return answer(Kind.OFFER, message.transaction)
    return answer(Kind.ACK, message.transaction) if message.kind == Kind.REQUEST else None


def refusing(message: Heard) -> bytes | None:
    return answer(Kind.NAK, message.transaction) if message.kind == Kind.REQUEST else willing(message)


def silent(_message: Heard) -> bytes | None:
    return None


class Host:
    def __init__(self, respond: Respond, known: Lease | None = None) -> None:
        self.network = Network(respond)
        self.taken: list[Lease | None] = []
        self.holders: dict[str, str] = {}
        self.declined: list[tuple[str, str]] = []
        self.client = DhcpClient(
            MAC,
            self.network,
            self.taken.append,
            known=known,
            now=lambda: self.network.now,
            holder_of=lambda address: self.holders.get(address, ""),
            declined=lambda address, holder: self.declined.append((address, holder)),
        )

    def steps(self, count: int) -> Host:
        for _ in range(count):
            self.client.step()
        return self


def with_lease(respond: Respond = willing) -> Host:
    """A host that has an address; the server behaves so from now on."""
    host = Host(willing).steps(1)
    host.network.said.clear()
    host.network.respond = respond
    return host


def test_an_address_is_asked_for_and_taken() -> None:
    host = Host(willing).steps(1)
    discover, request = host.network.said
    assert (discover.kind, request.kind) == (Kind.DISCOVER, Kind.REQUEST)
    assert (request.wanted, request.server, request.to) == (ADDRESS, SERVER, "255.255.255.255")
    (lease,) = host.taken
    assert lease is not None
    assert (lease.address, lease.routes) == (f"{ADDRESS}/24", (("0.0.0.0/0", SERVER),))
    assert lease.expires_at == 1000.0 + LEASE_S
    assert host.network.opened == 0


def test_an_address_that_somebody_has_is_declined_and_asked_for_again_later() -> None:
    host = Host(willing)
    host.holders[ADDRESS] = "02:00:00:00:00:77"
    host.steps(1)
    assert (host.taken, host.declined) == ([], [(ADDRESS, "02:00:00:00:00:77")])
    decline = host.network.said[-1]
    assert (decline.kind, decline.wanted, decline.server) == (Kind.DECLINE, ADDRESS, SERVER)
    assert (decline.own, decline.to) == ("", "255.255.255.255")
    assert host.network.now >= 1010.0  # RFC 2131, 3.1: ten seconds at least
    host.holders.clear()
    assert host.steps(1).taken[-1] is not None


def test_an_address_that_we_have_is_not_looked_for() -> None:
    """It would be our own, and who else takes it finds us there."""
    host = with_lease()
    host.holders[ADDRESS] = "02:00:00:00:00:77"
    assert host.steps(2).taken[-1] is not None
    host.client.confirm()
    assert host.steps(1).taken[-1] is not None
    assert host.declined == []


OURS, THEIRS = bytes.fromhex(MAC.replace(":", "")), bytes.fromhex("020000000077")
WANTED = bytes((198, 51, 100, 7))


@pytest.mark.parametrize(
    ("packet", "found"),
    [
        (probe(THEIRS, WANTED), THEIRS),
        (probe(OURS, WANTED), b""),
        (probe(THEIRS, bytes((198, 51, 100, 8))), b""),
        (bytes.fromhex("0001080006040002") + THEIRS + WANTED + OURS + bytes(4), THEIRS),
        (bytes.fromhex("0001080006040001") + THEIRS + bytes((198, 51, 100, 1)) + bytes(6) + WANTED, b""),
        (bytes.fromhex("0001080006040002") + THEIRS + WANTED + OURS, b""),
        (bytes.fromhex("000186dd06040002") + THEIRS + WANTED + OURS + bytes(4), b""),
        (b"", b""),
    ],
    ids=["probe", "our own", "of another", "answer", "question", "short", "not IPv4", "empty"],
)
def test_who_claims_an_address(packet: bytes, found: bytes) -> None:
    assert claimant(packet, OURS, WANTED) == found


def test_without_an_answer_it_asks_again_with_longer_waits_and_then_rests() -> None:
    host = Host(silent).steps(2)
    times = [message.at - 1000.0 for message in host.network.said]
    assert times == [0, 2, 6, 14, 60, 62, 66, 74]
    assert host.taken == []


def test_half_way_it_asks_its_server_for_more_time() -> None:
    host = with_lease().steps(2)
    (request,) = host.network.said
    assert request.at == 1000.0 + LEASE_S / 2
    assert (request.own, request.wanted, request.server) == (ADDRESS, "", "")
    assert (request.to, request.mac) == (SERVER, SERVER_MAC)
    assert host.taken[-1] is not None
    assert host.taken[-1].expires_at == request.at + LEASE_S


def test_a_silent_server_is_asked_more_often_then_any_then_the_address_goes() -> None:
    host = with_lease(silent)
    while host.taken[-1] is not None:
        host.steps(1)
    assert min(m.at for m in host.network.said if m.kind == Kind.DISCOVER) >= 1000.0 + LEASE_S
    renewing = [m for m in host.network.said if m.to == SERVER]
    rebinding = [m for m in host.network.said if m.kind == Kind.REQUEST and m.to != SERVER]
    assert {m.own for m in renewing + rebinding} == {ADDRESS}
    assert 3 <= len(renewing) <= 8
    assert 2 <= len(rebinding) <= 8
    assert rebinding[0].at == 1000.0 + LEASE_S * 7 / 8
    assert max(m.at for m in rebinding) < 1000.0 + LEASE_S
    assert host.network.now >= 1000.0 + LEASE_S


def test_a_refusal_ends_the_lease_at_once() -> None:
    host = with_lease(refusing).steps(2)
    assert host.taken[-1] is None
    assert host.network.now == 1000.0 + LEASE_S / 2
    host.network.respond = willing
    assert host.steps(1).taken[-1] is not None


def test_a_new_agent_keeps_the_address_while_it_asks_whether_it_holds() -> None:
    known = Host(willing).steps(1).taken[0]
    host = Host(willing, known).steps(1)
    (request,) = host.network.said
    assert (request.kind, request.wanted, request.server, request.own) == (Kind.REQUEST, ADDRESS, "", "")
    assert None not in host.taken
    quiet = Host(silent, known).steps(1)
    assert quiet.taken == []
    assert Host(refusing, known).steps(1).taken == [None]


def test_after_the_cable_was_out_the_network_is_asked() -> None:
    host = with_lease(refusing)
    host.client.confirm()
    assert host.steps(1).taken[-1] is None
    assert host.network.now == 1000.0


def test_an_address_is_given_back() -> None:
    host = with_lease()
    host.client.stop()
    host.client.release()
    (message,) = host.network.said
    assert (message.kind, message.own, message.server, message.to) == (Kind.RELEASE, ADDRESS, SERVER, SERVER)


def test_an_interface_that_is_down_is_tried_again() -> None:
    host = Host(willing)

    def down(_data: bytes, _mac: bytes = b"") -> None:
        if host.network.now > 1010:
            host.client.stop()
        raise OSError(100, "Network is down")

    host.network.send = down  # type: ignore[method-assign]
    host.client.run()
    assert host.taken == []


# -- leases beside the configuration ------------------------------------------------------------------------

WAN = NetworkSpec("wan0", True, ("192.0.2.9/32",), None, "", dhcp=True)


@pytest.fixture
def lease() -> Lease:
    found = Host(willing).steps(1).taken[0]
    assert found is not None
    return found


def test_a_lease_adds_to_what_is_configured_and_static_routes_win(lease: Lease) -> None:
    leases = Leases(None)
    assert leases.note("wan0", lease)
    assert leases.on({"wan0": WAN})["wan0"].addresses == ("192.0.2.9/32", f"{ADDRESS}/24")
    own = RouteSpec("r1", "0.0.0.0/0", "192.0.2.1", None, False, 1)
    found = leases.routes({"wan0": WAN}, {"r1": own})
    assert found.pop("r1") == own  # type: ignore[attr-defined]
    (route,) = found.values()
    assert (route.gateway, route.interface, route.distance) == (SERVER, "wan0", FIRST_DISTANCE)


def test_a_lease_of_an_interface_that_is_to_have_none_has_no_effect(lease: Lease) -> None:
    leases = Leases(None)
    leases.note("wan0", lease)
    static = NetworkSpec("wan0", True, (), None, "")
    assert leases.on({"wan0": static}) == {"wan0": static}
    assert leases.routes({"wan0": static}, {}) == {}
    assert leases.on({}) == {}


def test_a_declined_address_is_told_until_there_is_a_lease(lease: Lease) -> None:
    leases = Leases(None)
    leases.note_declined("wan0", ADDRESS, "02:00:00:00:00:77")
    assert leases.declined() == {"wan0": (ADDRESS, "02:00:00:00:00:77")}
    leases.note("wan0", lease)
    assert leases.declined() == {}


def test_leases_outlive_the_agent_and_more_time_changes_nothing(tmp_path: Path, lease: Lease) -> None:
    path = tmp_path / "leases.json"
    later = Lease(**{**lease.to_json(), "expires_at": 1e12})
    leases = Leases(path)
    assert leases.note("wan0", lease)
    assert not leases.note("wan0", later)
    assert Leases(path).held() == {"wan0": later}
    assert leases.note("wan0", None)
    assert Leases(path).held() == {}
    path.write_text('{"wan0": {"address": 7}}')
    assert Leases(path).held() == {}


def test_the_end_of_a_lease_has_one_name_however_often_it_is_told(lease: Lease) -> None:
    ends = {views._lease(lease)["expires_at"] for _ in range(20_000)}
    assert len(ends) == 1
    left_s = lease.expires_at - since_boot_s()
    assert abs(ends.pop() / 1000 - time.time() - left_s) < 1.0

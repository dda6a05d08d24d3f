# SPDX-License-Identifier: Apache-2.0
"""The fast path where XDP can ask the kernel's flow table: NAT, firewall, clocks, order of packets."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

import pytest

from lab.measure import bound, punctual
from tests.agent.capturing import by_addresses, captured
from tests.agent.rig import Rig, lan, wan
from tests.polling import until
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import FirewallRule
from weir.model.interface import Interface
from weir.model.objects import Pair, Queue
from weir.probes.pcapng import INBOUND, OUTBOUND

pytestmark = [
    pytest.mark.measured,
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

MEGABIT = 1_000_000
CLIENT, SERVER, ROUTER = "10.64.0.2", "203.0.113.1", "203.0.113.2"
DIRECTIONS = ("upload", "download")
UNSOLICITED_PORT = 7777


@pytest.fixture(scope="module")
def rig(bare_rig: Rig) -> Iterator[Rig]:
    with bare_rig.fitted_for_xdp():
        yield bare_rig


@pytest.fixture(autouse=True)
def behind_nat(rig: Rig) -> None:
    """NAT, the firewall and one customer whose limit nobody reaches; its counters start at 0."""
    for name in (("queue", "client"), ("firewall-rule", "early"), ("firewall-rule", "blocked")):
        with suppress(Exception):
            rig.commit(delete=[name])
    rig.commit(lan(), wan(), Firewall(), customer(50))


def customer(limit_mbit: float) -> Queue:
    limit_bps = int(limit_mbit * MEGABIT)
    return Queue("client", "client", target=(f"{CLIENT}/32",), max_limit_bps=Pair(limit_bps, limit_bps))


def shaper(rig: Rig, device: str) -> dict[str, str]:
    items = rig.agent.call("interfaces")["value"]
    found: dict[str, str] = next(item["shaper"] for item in items if item["name"] == device)
    return found


def passed_up(rig: Rig, reason: str) -> int:
    return sum(item["passed_up_packets"].get(reason, 0) for item in rig.agent.call("interfaces")["value"])


def test_nat_and_firewall_leave_connections_to_xdp(rig: Rig) -> None:
    assert {shaper(rig, device)["fast_path"] for device in ("lan0", "wan0")} == {"established"}
    assert {shaper(rig, device)["mode"] for device in ("lan0", "wan0")} == {"edt"}
    for direction in DIRECTIONS:
        assert rig.rate_bps(direction, MEGABIT) == pytest.approx(MEGABIT, rel=0.1)
        assert rig.fast_share("client", direction) > 0.5, direction


def test_a_capture_says_what_it_does_not_find_by_the_customers_own_address(rig: Rig) -> None:
    """All that comes to him, and of what he sends only what the stack forwards; by the far end, both."""

    def sends() -> None:
        for direction in DIRECTIONS:
            rig.rate_bps(direction, MEGABIT)

    asked = {"interface": "lan0", "protocol": "udp", "seconds": 12}
    note, found = captured(rig, sends, network=f"{CLIENT}/32", **asked)
    assert f"{CLIENT}/32 is looked for in packets as they leave" in note and note in found.comment
    his = by_addresses(found)
    assert (OUTBOUND, "fast path", SERVER, CLIENT) in his and (INBOUND, "", CLIENT, SERVER) in his
    assert not [packet for packet in his if packet[:2] == (INBOUND, "fast path")]
    _, found = captured(rig, sends, network=f"{SERVER}/32", **asked)
    assert by_addresses(found) >= {
        (OUTBOUND, "fast path", SERVER, CLIENT),
        (INBOUND, "fast path", ROUTER, SERVER),
        (INBOUND, "", CLIENT, SERVER),
    }


CHUNK_BYTES, CHUNKS, PAUSE_S = 20_000, 25, 0.02


def test_tcp_arrives_intact_from_the_routers_address(rig: Rig) -> None:
    """Addresses, ports and checksums as NAT makes them, both ways: the peers' kernels check every segment."""
    with (
        bound(rig.internet, SERVER, kind=socket.SOCK_STREAM) as listener,
        bound(rig.client_ns, CLIENT, kind=socket.SOCK_STREAM) as client,
    ):
        listener.listen()
        client.settimeout(60)
        client.connect(listener.getsockname())
        server, peer = listener.accept()
        echo = threading.Thread(target=_echo, args=(server,))
        echo.start()
        for _ in range(CHUNKS):
            sent = os.urandom(CHUNK_BYTES)
            client.sendall(sent)
            received = bytearray()
            while len(received) < len(sent):
                received += client.recv(65536)
            assert received == sent
            threading.Event().wait(PAUSE_S)
        client.shutdown(socket.SHUT_WR)
        echo.join()
    assert peer[0] == ROUTER
    for direction in DIRECTIONS:
        assert rig.fast_share("client", direction) > 0.3, direction


def _echo(server: socket.socket) -> None:
    with server:
        while data := server.recv(65536):
            server.sendall(data)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_limit_holds_behind_nat(rig: Rig, direction: str) -> None:
    rig.commit(customer(1))
    assert rig.rate_bps(direction, 5 * MEGABIT // 2, warm_s=1.5) == pytest.approx(MEGABIT, rel=0.05)


def test_a_new_rule_holds_from_the_answer_on(rig: Rig) -> None:
    """Without rules a stranger's packets reach the client through XDP; with them none does."""
    rig.commit(Firewall(masquerade=False, drop_new_from_wan=False))
    with bound(rig.internet, SERVER) as stranger, bound(rig.client_ns, CLIENT, UNSOLICITED_PORT) as client:
        client.settimeout(0.5)
        until("a stranger's packets arrive", lambda: _delivered(stranger, client, 5) == 5)
        assert _delivered(stranger, client, 5) == 5
        assert rig.fast_share("client", "download") > 0
        rig.commit(Firewall())
        assert _delivered(stranger, client, 50) == 0


def _delivered(sender: socket.socket, receiver: socket.socket, packets: int) -> int:
    for _ in range(packets):
        sender.sendto(b"unasked", (CLIENT, UNSOLICITED_PORT))
    count = 0
    with suppress(TimeoutError):
        while count < packets:
            receiver.recv(64)
            count += 1
    return count


def answered(asker: socket.socket, server: socket.socket, packets: int) -> int:
    """How many answers arrive, each asked for alone, as the kernel sees both directions take turns."""
    count = 0
    for _ in range(packets):
        asker.sendto(b"asked", (SERVER, server.getsockname()[1]))
        with suppress(TimeoutError):
            _, source = server.recvfrom(64)
            server.sendto(b"answered", source)
            asker.recv(64)
            count += 1
    return count


@pytest.mark.parametrize("is_first", [True, False], ids=["before", "after"])
def test_a_rule_against_answers_alone_holds_beside_the_fast_path(rig: Rig, is_first: bool) -> None:
    """Of a connection that it lets begin, which is there `before` or comes `after` it: the flow table would
    take both directions for what the other one was let do."""
    blocked = FirewallRule("blocked", chain="forward", action="drop", source=(f"{SERVER}/32",))
    elsewhere = replace(blocked, source=("198.51.100.7/32",))
    rig.commit(elsewhere)
    with bound(rig.client_ns, CLIENT) as asker, bound(rig.internet, SERVER, UNSOLICITED_PORT) as server:
        asker.settimeout(0.2)
        server.settimeout(0.5)
        if is_first:
            rig.commit(blocked)
        else:
            until("XDP forwards answers", lambda: answered(asker, server, 5) and carried(rig)[0] > 0)
            assert answered(asker, server, 20) == 20
            rig.commit(blocked)
        assert answered(asker, server, 10) == 0
        rig.commit(elsewhere)
        until("answers arrive again", lambda: answered(asker, server, 5) == 5)
        before = carried(rig)
        assert answered(asker, server, 20) == 20
        fast, all_bytes = (now - then for now, then in zip(carried(rig), before, strict=True))
        assert fast > 0.9 * all_bytes, "both directions are fast where nothing stands in their way"


def carried(rig: Rig) -> tuple[int, int]:
    """Bytes of the customer, both directions: by XDP, and all."""
    lines = [rig.counters("client", direction) for direction in DIRECTIONS]
    return sum(line["fast_bytes"] for line in lines), sum(line["bytes"] for line in lines)


def test_a_change_of_forward_rules_makes_connections_show_themselves_again(rig: Rig) -> None:
    """Another change leaves them on the fast path. No packet is lost by either."""
    with _connection(rig) as (near, far):
        _until_fast(rig, near, far)
        before = passed_up(rig, "no-flow")
        rig.commit(Firewall(allow_ping_from_wan=False))
        assert _carried(near, far) == 20
        assert passed_up(rig, "no-flow") == before
        rig.commit(FirewallRule("other", chain="forward", action="drop", source=("192.0.2.9/32",)))
        assert _carried(near, far) == 20
        assert passed_up(rig, "no-flow") > before
        rig.commit(delete=[("firewall-rule", "other")])


RAW = "raw/prerouting"
BEFORE = {
    "upload": FirewallRule("early", RAW, "drop", in_interface="lan0", source=(f"{CLIENT}/32",)),
    "download": FirewallRule("early", RAW, "drop", in_interface="wan0", source=(f"{SERVER}/32",)),
}


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_rule_before_tracking_ends_what_xdp_forwards(rig: Rig, direction: str) -> None:
    """One direction alone: the packets of the other pass, and put no connection into the flow table again.
    The ports stay on the fast path, for connections that the rule is not about."""
    with _connection(rig) as (near, far):
        _until_fast(rig, near, far)
        rig.commit(BEFORE[direction])
        assert {shaper(rig, device)["fast_path"] for device in ("lan0", "wan0")} == {"established"}
        fast = {each: rig.counters("client", each)["fast_bytes"] for each in DIRECTIONS}
        for _ in range(3):
            passed = {"upload": _carried(near, far), "download": _carried(far, near)}
            assert passed == {each: 0 if each == direction else 20 for each in DIRECTIONS}
        assert fast == {each: rig.counters("client", each)["fast_bytes"] for each in DIRECTIONS}
        rig.commit(delete=[("firewall-rule", "early")])
        _until_fast(rig, near, far)


def test_what_is_tracked_no_more_is_not_forwarded_by_xdp(rig: Rig) -> None:
    """It leaves as it came, without NAT, though its connection is known from before."""
    with _connection(rig) as (near, far):
        _until_fast(rig, near, far)
        rig.commit(FirewallRule("early", RAW, "notrack", in_interface="lan0", protocol="udp"))
        assert _carried(near, far) == 0, "the server hears the router's address alone"
        with bound(rig.internet, SERVER, far.getsockname()[1] + 1) as other:
            other.settimeout(2)
            near.connect(other.getsockname())
            near.send(b"untracked")
            assert other.recvfrom(64)[1] == near.getsockname()
        rig.commit(delete=[("firewall-rule", "early")])


@pytest.mark.parametrize("action", ["accept", "drop", "notrack"])
def test_what_a_rule_before_tracking_is_not_about_is_left_to_xdp(rig: Rig, action: str) -> None:
    rig.commit(FirewallRule("early", RAW, action, in_interface="wan0", source=("198.18.0.0/15",)))
    with _connection(rig) as (near, far):
        _until_fast(rig, near, far)
    rig.commit(delete=[("firewall-rule", "early")])


@contextmanager
def _connection(rig: Rig) -> Iterator[tuple[socket.socket, socket.socket]]:
    """The client's socket and the server's, who hear each other through NAT and nobody else."""
    flow = _numbered(rig, "upload")
    with flow.sender as near, flow.receiver as far:
        yield near, far


def _until_fast(rig: Rig, near: socket.socket, far: socket.socket) -> None:
    def are_fast() -> bool:
        before = {each: rig.counters("client", each)["fast_bytes"] for each in DIRECTIONS}
        assert (_carried(near, far), _carried(far, near)) == (20, 20)
        return all(rig.counters("client", each)["fast_bytes"] > before[each] for each in DIRECTIONS)

    until("XDP forwards the connection", are_fast)


def _carried(sender: socket.socket, receiver: socket.socket, packets: int = 20) -> int:
    for _ in range(packets):
        sender.send(bytes(100))
    receiver.settimeout(0.5)
    count = 0
    with suppress(TimeoutError):
        while count < packets:
            count += len(receiver.recv(2048)) == 100
    return count


def test_a_change_of_the_firewall_keeps_connections_whose_answers_only_xdp_saw(rig: Rig) -> None:
    """The server speaks first behind the change: its packets find the client by NAT as before."""
    with _connection(rig) as (near, far):
        assert _carried(near, far) == 20
        _until_fast(rig, near, far)
        rig.commit(FirewallRule("early", "forward", "accept", source=("198.51.100.9/32",)))
        assert _carried(far, near) == 20


def test_other_protocols_pass_behind_nat_by_the_stack(rig: Rig) -> None:
    rig.run("ping", "-c", "3", "-i", "0.2", "-W", "5", SERVER, namespace=rig.client_ns)


def test_a_port_without_fast_path_still_translates(rig: Rig) -> None:
    rig.commit(Interface("lan0", role="lan", addresses=("10.64.0.1/24",), fast_path="off"))
    assert shaper(rig, "lan0")["fast_path_reason"] == "turned off"
    assert rig.rate_bps("upload", MEGABIT) == pytest.approx(MEGABIT, rel=0.1)
    assert rig.fast_share("client", "upload") == 0.0


NUMBERED = struct.Struct("!I")
PACKET_BYTES = 200
LOADS = (0.3, 1.4, 0.5, 1.2, 0.2, 1.6, 0.8, 1.0)
"""Shares of the limit that are offered, each for `PHASE_S`."""
PHASE_S = 0.4
ROUNDS = 5
FLOWS = 4


@dataclass
class Numbered:
    """One flow of numbered packets, and the numbers in the order of their arrival."""

    sender: socket.socket
    receiver: socket.socket
    sent: int = 0
    arrived: list[int] = field(default_factory=list)

    def collect(self) -> None:
        self.receiver.settimeout(2)
        with suppress(TimeoutError):
            while True:
                data = self.receiver.recv(2048)
                if len(data) > NUMBERED.size + 1:
                    self.arrived.append(NUMBERED.unpack_from(data)[0])

    def overtaken(self) -> list[tuple[int, int]]:
        """Pairs of a number and a smaller one that arrived after it."""
        return [(a, b) for a, b in zip(self.arrived, self.arrived[1:], strict=False) if b < a]


@pytest.mark.on_ours
@pytest.mark.counted
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_no_packet_overtakes_another_while_load_crosses_the_limit(rig: Rig, direction: str) -> None:
    """By a clock that counts instructions: others let processors stand still too long (ADR 74)."""
    limit_mbit = 0.8
    rig.commit(customer(limit_mbit))
    flows = [_numbered(rig, direction) for _ in range(FLOWS)]
    readers = [threading.Thread(target=flow.collect) for flow in flows]
    for reader in readers:
        reader.start()
    _ramp(flows, int(limit_mbit * MEGABIT))
    for reader in readers:
        reader.join()
    for flow in flows:
        flow.sender.close()
        flow.receiver.close()
    arrived = sum(len(flow.arrived) for flow in flows)
    share = rig.fast_share("client", direction)
    print(f"{direction}: {arrived} of {sum(f.sent for f in flows)} arrived, {share:.0%} by the fast path")
    assert [flow.overtaken() for flow in flows] == [[]] * FLOWS
    assert arrived > 1000
    assert 0.05 < share < 0.95, "both paths must be used"


def _numbered(rig: Rig, direction: str) -> Numbered:
    near, far = bound(rig.client_ns, CLIENT), bound(rig.internet, SERVER)
    near.connect(far.getsockname())
    far.settimeout(0.2)

    def met() -> bool:
        near.send(b"hello")
        with suppress(TimeoutError):
            far.connect(far.recvfrom(64)[1])
            return True
        return False

    until("a first packet arrives", met)
    return Numbered(near, far) if direction == "upload" else Numbered(far, near)


def _ramp(flows: list[Numbered], limit_bps: int) -> None:
    """Offer the loads in turn, packets of all flows alternating."""
    punctual()
    filler = bytes(PACKET_BYTES - 28 - NUMBERED.size)
    due_s = time.monotonic()
    number = 0
    for load in LOADS * ROUNDS:
        end_s = due_s + PHASE_S
        interval_s = PACKET_BYTES * 8 / (limit_bps * load)
        while due_s < end_s:
            _wait_until(due_s)
            flow = flows[number % FLOWS]
            flow.sender.send(NUMBERED.pack(flow.sent) + filler)
            flow.sent += 1
            number += 1
            due_s += interval_s


def _wait_until(due_s: float) -> None:
    left_s = due_s - time.monotonic()
    if left_s > 0.0005:
        threading.Event().wait(left_s)

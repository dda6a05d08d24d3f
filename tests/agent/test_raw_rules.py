# SPDX-License-Identifier: Apache-2.0
"""Rules of raw/prerouting as the agent puts them into the kernel: what they drop, and what is not tracked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from weir.agent.drops import Counted
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import FirewallRule

CLIENT, SERVER, ROUTER = "10.64.0.2", "203.0.113.1", "203.0.113.2"
UNTRACKED_PORT, TRACKED_PORT = 9100, 9101


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        netns.ip(made.internet, ["route replace 10.64.0.0/16 via 203.0.113.2"])
        yield made


def early(name: str, action: str, chain: str = "raw/prerouting", **said: object) -> FirewallRule:
    return FirewallRule(name, chain, action, **{"protocol": "udp", **said})  # type: ignore[arg-type]


def exchanged(rig: Rig, port: int) -> tuple[str, bool]:
    """Who asks, as the server sees it ("" = nobody), and whether the answer comes back."""
    with bound(rig.client_ns, CLIENT) as client, bound(rig.internet, SERVER, port) as server:
        client.settimeout(0.3)
        server.settimeout(0.3)
        client.sendto(b"who", (SERVER, port))
        try:
            _, asking = server.recvfrom(64)
        except TimeoutError:
            return "", False
        server.sendto(b"you", asking)
        try:
            client.recv(64)
        except TimeoutError:
            return str(asking[0]), False
        return str(asking[0]), True


def tracked(rig: Rig, port: int) -> bool:
    return f"dport={port}" in rig.run("conntrack", "-L", "-p", "udp")


def lines(rig: Rig, name: str) -> list[tuple[str, str, bool]]:
    found = rig.explain(name, "firewall-rule")["lines"]
    return [(line["field"], line["system"], line["agrees"]) for line in found]


def test_what_is_not_tracked_has_no_connection_and_no_nat(rig: Rig) -> None:
    rig.run("conntrack", "-F")
    rig.commit(
        lan(), wan(), Firewall(), early("quiet", "notrack", ports=(str(UNTRACKED_PORT),), in_interface="lan0")
    )
    assert exchanged(rig, UNTRACKED_PORT) == (CLIENT, False), "an answer to nothing, for the policy"
    assert not tracked(rig, UNTRACKED_PORT)
    assert exchanged(rig, TRACKED_PORT) == (ROUTER, True)
    assert tracked(rig, TRACKED_PORT)
    assert ("action", "in chain raw", True) in lines(rig, "quiet")
    rig.commit(delete=[("firewall-rule", "quiet")])
    assert exchanged(rig, UNTRACKED_PORT) == (ROUTER, True)


def test_a_connection_that_exists_ends_at_a_drop_before_it_is_looked_up(rig: Rig) -> None:
    rig.commit(lan(), wan(), Firewall(), FirewallRule("all", "forward", "accept"))
    with bound(rig.client_ns, CLIENT) as client, bound(rig.internet, SERVER, TRACKED_PORT) as server:
        client.settimeout(2)
        server.settimeout(2)
        client.sendto(b"who", (SERVER, TRACKED_PORT))
        _, asking = server.recvfrom(64)
        server.sendto(b"you", asking)
        assert client.recv(64) == b"you"
        rig.commit(
            early("to-early", "jump", in_interface="wan0", jump_to="early"),
            early("no-answers", "drop", "early", source=(f"{SERVER}/32",), log=True),
        )
        server.sendto(b"you", asking)
        until("the rule has counted it", lambda: counted(rig, "no-answers") == 1)
        client.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.recv(64)
        client.sendto(b"who", (SERVER, TRACKED_PORT))
        assert server.recv(64) == b"who", "the other way is free"
    assert all(agrees for _, _, agrees in lines(rig, "no-answers") + lines(rig, "to-early"))
    assert dropped(rig, "no-answers") == 1
    rig.commit(delete=[("firewall-rule", name) for name in ("to-early", "no-answers", "all")])
    assert exchanged(rig, TRACKED_PORT) == (ROUTER, True)


def counted(rig: Rig, name: str) -> int:
    listed = rig.json("nft", "-j", "list", "counter", "inet", "weir", f"r_{name}")["nftables"]
    (found,) = (item["counter"]["packets"] for item in listed if "counter" in item)
    return int(found)


def dropped(rig: Rig, name: str) -> int:
    """As the agent tells it to who asks for drops by owner."""
    found = (Counted(*item) for item in rig.agent.call("drops")["counted"])
    return sum(each.packets for each in found if (each.kind, each.id) == ("firewall-rule", name))

# SPDX-License-Identifier: Apache-2.0
"""A capture by the customer's own address, where NAT translates it, in the stack's path.

By the fast path: tests/vm/test_fast_path.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from lab.measure import bound
from tests.agent.capturing import by_addresses, captured
from tests.agent.rig import Rig, lan, running, wan
from weir.kinds.firewall import Firewall
from weir.kinds.nat_rule import NatRule
from weir.probes.pcapng import INBOUND, OUTBOUND

CUSTOMER, FAR, ROUTER = "10.64.0.2", "203.0.113.1", "203.0.113.2"
SECONDS = 3
FORWARD = NatRule("web", "destination", protocol="udp", ports=("8443",), to_address=f"{CUSTOMER}/32")


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        made.commit(lan(fast_path="off"), wan(fast_path="off"), Firewall(), FORWARD)
        yield made


def asks_and_is_answered(rig: Rig) -> None:
    """The customer asks the far end, which sees the router's address."""
    with bound(rig.client_ns, CUSTOMER) as near, bound(rig.internet, FAR) as far:
        far.settimeout(5)
        near.settimeout(5)
        near.sendto(b"question", far.getsockname())
        _, seen_from = far.recvfrom(64)
        assert seen_from[0] == ROUTER
        far.sendto(b"answer", seen_from)
        assert near.recv(64) == b"answer"


def is_asked_and_answers(rig: Rig) -> None:
    """The far end asks the router's address, which is forwarded to the customer."""
    with bound(rig.client_ns, CUSTOMER, 8443) as near, bound(rig.internet, FAR) as far:
        far.settimeout(5)
        near.settimeout(5)
        far.sendto(b"question", (ROUTER, 8443))
        _, seen_from = near.recvfrom(64)
        assert seen_from[0] == FAR
        near.sendto(b"answer", seen_from)
        assert far.recvfrom(64) == (b"answer", (ROUTER, 8443))


@pytest.mark.parametrize("sends", [asks_and_is_answered, is_asked_and_answers], ids=["masquerade", "dst-nat"])
def test_both_directions_have_the_customers_address_at_his_port(rig: Rig, sends: object) -> None:
    asked = {"interface": "lan0", "network": f"{CUSTOMER}/32", "protocol": "udp", "seconds": SECONDS}
    note, found = captured(rig, partial(sends, rig), **asked)
    assert by_addresses(found) == {(INBOUND, "", CUSTOMER, FAR), (OUTBOUND, "", FAR, CUSTOMER)}
    assert found.statistics == (2, 0)
    assert note == "What the network stack sees. No interface has the fast path, so that is every packet."


def test_at_the_wan_he_has_the_routers_address(rig: Rig) -> None:
    asked = {"interface": "wan0", "network": f"{ROUTER}/32", "protocol": "udp", "seconds": SECONDS}
    _, found = captured(rig, partial(asks_and_is_answered, rig), **asked)
    assert by_addresses(found) == {(OUTBOUND, "", ROUTER, FAR), (INBOUND, "", FAR, ROUTER)}

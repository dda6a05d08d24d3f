# SPDX-License-Identifier: Apache-2.0
"""Which addresses a configuration can have the router call, in a router's namespace without an agent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab import netns
from tests.agent.rig import Rig
from weir.courier.dial import Failed, dial


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    made = Rig()
    try:
        lines = ["addr add 203.0.113.2/24 dev wan0", "addr add 203.0.113.3/24 dev wan0", "link set wan0 up"]
        lines += ["addr add 2001:db8:64::1/64 dev lan0 nodad", "link set lan0 up"]
        netns.sysctl(made.router, {"ipv6/conf/all/forwarding": "1"})
        netns.ip(made.router, lines)
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("address", ["203.0.113.2", "203.0.113.3", "2001:db8:64::1", "127.0.0.2"])
def test_no_address_of_the_router_is_called(rig: Rig, address: str) -> None:
    with netns.inside(rig.router), pytest.raises(Failed, match=f"^{address} is this router itself$"):
        dial(address, 25)


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("169.254.169.254", "a link-local address"),
        ("::ffff:169.254.169.254", "a link-local address"),
        ("fe80::1", "a link-local address"),
        ("224.0.0.1", "a multicast, broadcast or anycast address"),
        ("ff02::1", "a multicast, broadcast or anycast address"),
        ("203.0.113.255", "a multicast, broadcast or anycast address"),
        ("2001:db8:64::", "a multicast, broadcast or anycast address"),
    ],
)
def test_nothing_is_sent_to_link_local_addresses_nor_to_many(rig: Rig, address: str, what: str) -> None:
    with netns.inside(rig.router), pytest.raises(Failed) as refused:
        dial(address, 25)
    assert str(refused.value) == f"{address} is {what}, to which nothing is sent"

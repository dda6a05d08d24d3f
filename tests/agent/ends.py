# SPDX-License-Identifier: Apache-2.0
"""A router, a host inside and one outside in namespaces, without an agent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from lab import netns

INSIDE = tuple(f"10.64.{third}.{last}" for third in range(3) for last in (2, 77))
OUTSIDE = ("203.0.113.1", "203.0.113.130", "198.51.100.9")
ROUTER_IN, ROUTER_OUT = "10.64.0.1", "203.0.113.2"


@contextmanager
def three_ends(word: str) -> Iterator[tuple[str, str, str]]:
    """Namespaces of the router (`lan0`, `wan0`), inside (`c0`) and outside (`i0`)."""
    names = tuple(f"weir-agent-test-{os.getpid()}-{word}-{end}" for end in "rci")
    for name in names:
        netns.create(name)
    own, inside, outside = names
    try:
        netns.ip(own, ["link set lo up"])
        for device, far, peer in (("lan0", inside, "c0"), ("wan0", outside, "i0")):
            netns.ip(
                own, [f"link add {device} type veth peer name {peer} netns {far}", f"link set {device} up"]
            )
            netns.ip(far, [f"link set {peer} up", "link set lo up"])
        netns.sysctl(own, {"ipv4/ip_forward": "1"})
        netns.ip(own, [f"addr add {ROUTER_IN}/16 dev lan0", f"addr add {ROUTER_OUT}/24 dev wan0"])
        netns.ip(own, ["route add default via 203.0.113.1"])
        netns.ip(
            inside, [*(f"addr add {text}/16 dev c0" for text in INSIDE), f"route add default via {ROUTER_IN}"]
        )
        netns.ip(outside, [*(f"addr add {text}/24 dev i0" for text in OUTSIDE)])
        netns.ip(outside, [f"route add 10.64.0.0/16 via {ROUTER_OUT}"])
        yield own, inside, outside
    finally:
        for name in names:
            netns.remove(name)

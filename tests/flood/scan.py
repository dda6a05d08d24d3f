# SPDX-License-Identifier: Apache-2.0
"""A customer of the lab scans the whole internet, with the kernel's generator on every processor."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from lab import netns, plan

CONTROL = "/proc/net/pktgen"
PACKET_BYTES = 60
"""As in E1."""


def _in_client(script: str) -> list[str]:
    return ["ip", "netns", "exec", plan.CLIENT, "sh", "-ec", script]


def _link(device: str, *options: str) -> dict[str, object]:
    shown: list[dict[str, object]] = json.loads(
        netns.run(["ip", "-n", plan.ROUTER, "-j", *options, "link", "show", device])
    )
    return shown[0]


def forwarded_packets() -> int:
    """To the internet, since the router's start."""
    statistics = _link(plan.WAN.router_device, "-s")["stats64"]
    assert isinstance(statistics, dict)
    packets: int = statistics["tx"]["packets"]
    return packets


def _configuration(processor: int, source: str) -> list[str]:
    device = f"{plan.LAN.peer_device}@{processor}"
    words = [
        "count 0", f"pkt_size {PACKET_BYTES}", f"src_min {source}", f"src_max {source}",
        f"dst_mac {_link(plan.LAN.router_device)['address']}", "dst_min 11.0.0.0", "dst_max 99.255.255.255",
        "flag IPDST_RND", "flag UDPDST_RND", "udp_dst_min 1", "udp_dst_max 65535",
    ]  # fmt: skip
    added = f"echo add_device {device} >{CONTROL}/kpktgend_{processor}"
    return [added, *(f"echo {word} >{CONTROL}/{device}" for word in words)]


@contextmanager
def flood(source: str) -> Iterator[None]:
    """Small UDP packets from one customer to random destinations, as fast as they can be made."""
    processors = range(os.cpu_count() or 1)
    lines = [line for processor in processors for line in _configuration(processor, source)]
    netns.run(_in_client("\n".join(lines)))
    sender = subprocess.Popen(_in_client(f"echo start >{CONTROL}/pgctrl"))
    try:
        yield
    finally:
        netns.run(_in_client(f"echo stop >{CONTROL}/pgctrl"))
        sender.wait()
        removed = [f"echo rem_device_all >{CONTROL}/kpktgend_{processor}" for processor in processors]
        netns.run(_in_client("\n".join(removed)))

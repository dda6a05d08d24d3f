# SPDX-License-Identifier: Apache-2.0
"""RouterOS exports of any size, as an ISP has them: towers, customers with IPv4 and IPv6, bursts."""

from __future__ import annotations

CUSTOMERS_PER_TOWER = 100


def address(number: int) -> str:
    """One of 4 million addresses of 10.64.0.0/10."""
    value = (10 << 24) + (64 << 16) + 256 + number
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))


def prefix_v6(number: int) -> str:
    return f"2001:db8:{0x4000 + (number >> 16):x}:{number & 0xFFFF:x}::/64"


def routeros_export(queues: int) -> str:
    """`/queue simple` with `queues` entries in all: every 101st is the tower of the next 100 customers."""
    lines = ["# by RouterOS 7.16.2", "/queue simple"]
    tower = ""
    for number in range(queues):
        if number % (CUSTOMERS_PER_TOWER + 1) == 0:
            tower = f"tower-{number // (CUSTOMERS_PER_TOWER + 1) + 1}"
            lines.append(f'add max-limit=400M/800M name="{tower}" target=""')
            continue
        down = (10, 20, 50, 100)[number % 4]
        extra = ""
        if number % 5 == 0:
            extra = f" burst-limit={down}M/{down * 2}M burst-threshold={down // 2}M/{down}M burst-time=8s/8s"
        lines.append(
            f'add{extra} comment="contract {100000 + number}" max-limit={down // 2}M/{down}M '
            f'name="customer-{number}" parent="{tower}" target={address(number)}/32,{prefix_v6(number)}'
        )
    return "\n".join(lines) + "\n"

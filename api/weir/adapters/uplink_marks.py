# SPDX-License-Identifier: Apache-2.0
"""The nftables table `inet weir_uplinks`: which uplink a connection has, in its mark and its packets' marks.

What comes in by an uplink belongs to it: answers leave there. What comes from elsewhere and is new is shared
by a hash of source and destination address, in the ratio of weights: a server sees a client by one address of
the router. Each packet of a connection that has an uplink gets its mark before it is routed
(`uplink_rules.py`). The router's own connections are not shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any

from weir.adapters import nft
from weir.adapters.nft_drafts import Hooks, base, learnt, printed, removal
from weir.adapters.uplink_rules import KEPT, MASK

TABLE, DRAFT = nft.UPLINKS_PREFIX, f"{nft.UPLINKS_PREFIX}_draft"
SEED = 0x57
"""Any; always the same, so that another start of the router moves no client."""
_HOOKS = {
    # After connections are looked up (-200), before addresses are translated (-100).
    "arriving": {"type": "filter", "hook": "prerouting", "prio": -150, "policy": "accept"},
    "answering": {"type": "route", "hook": "output", "prio": -150, "policy": "accept"},
}
_REST = 0xFFFFFFFF ^ MASK
_WORD = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Marking:
    """`devices`: interfaces of uplinks with their numbers; `shares`: numbers with their weights, of those
    that new connections leave by; without any they are not marked, and take the default route."""

    devices: tuple[tuple[str, int], ...]
    shares: tuple[tuple[int, int], ...]

    def choice(self, source: str, destination: str) -> int | None:
        """The number of the uplink that a new connection from elsewhere gets."""
        whole = sum(weight for _, weight in self.shares)
        if not whole:
            return None
        place = pair_hash(source, destination) * whole >> 32
        for number, weight in self.shares:
            if place < weight:
                return number
            place -= weight
        return None


def pair_hash(source: str, destination: str) -> int:
    """As the kernel's `jhash` of both IPv4 addresses (linux/jhash.h, nft_hash.c; little-endian machines)."""
    first, second = (int.from_bytes(IPv4Address(text).packed, "little") for text in (source, destination))
    start = 0xDEADBEEF + 8 + SEED
    a, b, c = start + first & _WORD, start + second & _WORD, start & _WORD
    for turn in (14, 11, 25, 16, 4, 14, 24):  # __jhash_final: each time the next of the three
        c = (c ^ b) - _turned(b, turn) & _WORD
        a, b, c = b, c, a
    return b


def _turned(word: int, by: int) -> int:
    return (word << by | word >> 32 - by) & _WORD


def expected(marking: Marking) -> str:
    """What `held` says while it is in force. Raises `ApplyFailed` where the kernel cannot do it."""
    return learnt(DRAFT, _HOOKS, lambda table, hooks: _text(table, marking, hooks))


def held(items: Sequence[dict[str, Any]]) -> str:
    """The table as the kernel has it (of `nft.ruleset`); "" = it is not there."""
    return printed(TABLE, items, {})


def apply(marking: Marking | None) -> None:
    """Make the table so, in one transaction; None removes it."""
    nft.apply_text(removal(TABLE) + ("" if marking is None else _text(TABLE, marking, _HOOKS)))


def _text(table: str, marking: Marking, hooks: Hooks) -> str:
    numbers = [number for _, number in marking.devices]
    kept = ", ".join(f"{KEPT | number:#x} : goto by{number}" for number in numbers)
    came = ", ".join(f'"{name}" : goto from{number}' for name, number in marking.devices)
    return f"""table {nft.FAMILY} {table} {{
{"".join(_chains(numbers))}
  chain kept {{
    ct mark & {MASK:#x} vmap {{ {kept} }}
  }}
  chain arriving {{ {base(hooks, "arriving")}
    meta nfproto != ipv4 accept
    ct mark & {KEPT:#x} == {KEPT:#x} goto kept
    ct state != new accept
    iifname vmap {{ {came} }}
    fib daddr type != unicast accept
    {_share(marking)}
  }}
  chain answering {{ {base(hooks, "answering")}
    meta nfproto ipv4 ct mark & {KEPT:#x} == {KEPT:#x} goto kept
  }}
}}
"""


def _chains(numbers: Sequence[int]) -> Iterator[str]:
    for number in numbers:
        mark = f"& {_REST:#x} | {KEPT | number:#x}"
        yield f"""
  chain by{number} {{
    meta mark set meta mark {mark}
  }}
  chain from{number} {{
    ct mark set ct mark {mark}
  }}
  chain to{number} {{
    ct mark set ct mark {mark}
    meta mark set meta mark {mark}
  }}
"""


def _share(marking: Marking) -> str:
    if len(marking.shares) < 2:
        return "".join(f"goto to{number}" for number, _ in marking.shares)
    places, first = [], 0
    for number, weight in marking.shares:
        last = f"-{first + weight - 1}" if weight > 1 else ""
        places.append(f"{first}{last} : goto to{number}")
        first += weight
    return f"jhash ip saddr . ip daddr mod {first} seed {SEED:#x} vmap {{ {', '.join(places)} }}"

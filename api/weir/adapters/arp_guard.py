# SPDX-License-Identifier: Apache-2.0
"""The nftables table `arp weir_arp`: on guarded interfaces the router hears those hosts alone that it knows.

What an unknown host asks or answers is dropped before the kernel looks at it, so it is neither answered nor
learnt (RFC 826). A host is known by interface, IPv4 address and MAC address, all three.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Sequence
from ipaddress import IPv4Address
from typing import Any, NamedTuple, TypeVar

from weir.adapters import nft, nft_elements
from weir.adapters.drop_counters import of_rules
from weir.adapters.netfilter import FAMILY_ARP
from weir.adapters.nft_drafts import Hooks, base, learnt, printed, removal
from weir.adapters.nft_elements import Changed

T = TypeVar("T")
FAMILY, TABLE, DRAFT = nft.ARP, nft.ARP_PREFIX, f"{nft.ARP_PREFIX}_draft"
GUARDED, KNOWN = "guarded", "known"
_HOOKS = {"input": {"type": "filter", "hook": "input", "prio": 0, "policy": "accept"}}
_NAME_BYTES = 16
_KEY = struct.Struct(f"!{_NAME_BYTES}s4s6sxx")
"""Each part of a key fills whole words."""


class Known(NamedTuple):
    """A host that is heard behind an interface."""

    ifname: str
    address: str
    mac: str

    @property
    def key(self) -> bytes:
        mac = bytes.fromhex(self.mac.replace(":", ""))
        return _KEY.pack(self.ifname.encode(), IPv4Address(self.address).packed, mac)

    @classmethod
    def of(cls, key: bytes) -> Known:
        name, address, mac = _KEY.unpack(key)
        return cls(_name(name), str(IPv4Address(address)), mac.hex(":"))


def expected() -> str:
    """What `held` says while the table is in force. Raises `ApplyFailed` where the kernel cannot do it."""
    return learnt(DRAFT, _HOOKS, _text, FAMILY)


def held(items: Sequence[dict[str, Any]]) -> str:
    """The table as the kernel has it (of `nft.ruleset`), without the elements of its sets; "" = it is not
    there."""
    return printed(TABLE, items, {}, FAMILY)


def apply(*, there: bool) -> None:
    """Make the table, without elements, in one transaction; or remove it."""
    nft.apply_text(removal(TABLE, FAMILY) + (_text(TABLE, _HOOKS) if there else ""))


def guarded() -> frozenset[str]:
    """Interfaces. Raises `ApplyFailed`, `Unavailable`."""
    return frozenset(map(_name, nft_elements.keys(TABLE, GUARDED, FAMILY_ARP)))


def known() -> frozenset[Known]:
    """Raises as `guarded`."""
    return frozenset(map(Known.of, nft_elements.keys(TABLE, KNOWN, FAMILY_ARP)))


def bring(names: Collection[str], hosts: Collection[Known]) -> bool:
    """Guard these interfaces, with these hosts known, in one transaction; whether something changed.
    Raises as `guarded`."""
    changes = (
        _changed(GUARDED, guarded(), names, lambda name: name.encode().ljust(_NAME_BYTES, b"\0")),
        _changed(KNOWN, known(), hosts, lambda host: host.key),
    )
    found = [change for change in changes if change.added or change.removed]
    if found:
        with nft.transaction():
            nft_elements.change(TABLE, found, FAMILY_ARP)
    return bool(found)


def dropped() -> int | None:
    """ARP packets of unknown hosts since the table was made; None: there is none. Raises as `guarded`."""
    found = of_rules(TABLE, FAMILY_ARP).get("unknown")
    return None if found is None else found.packets


def _changed(name: str, held: Collection[T], wanted: Collection[T], key: Callable[[T], bytes]) -> Changed:
    here, there = set(held), set(wanted)
    return Changed(name, list(map(key, there - here)), list(map(key, here - there)))


def _name(padded: bytes) -> str:
    return padded.rstrip(b"\0").decode(errors="replace")


def _text(table: str, hooks: Hooks) -> str:
    return f"""table {FAMILY} {table} {{
  set {GUARDED} {{ type ifname; }}
  set {KNOWN} {{ type ifname . ipv4_addr . ether_addr; }}
  counter unknown {{ }}
  chain input {{ {base(hooks, "input")}
    iifname != @{GUARDED} accept
    iifname . arp saddr ip . arp saddr ether @{KNOWN} accept
    counter name "unknown" drop
  }}
}}
"""

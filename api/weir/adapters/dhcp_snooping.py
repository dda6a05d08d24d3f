# SPDX-License-Identifier: Apache-2.0
"""The nftables table `bridge weir_dhcp`: by which ports of bridges no DHCP server answers.

What comes in there for a client is dropped: UDP to port 68 (RFC 2131, 4.1) or 546 (RFC 8415, 7.2), whatever
port it is from. Messages to relay agents go to the port of servers; those from a server are known by their
first byte. A frame may have one VLAN tag; behind a second one nothing is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weir.adapters import nft
from weir.adapters.nft_drafts import Hooks, base, learnt, printed, removal

TABLE, DRAFT = nft.SNOOPING_PREFIX, f"{nft.SNOOPING_PREFIX}_draft"
_HOOKS = {"answers": {"type": "filter", "hook": "prerouting", "prio": -300, "policy": "accept"}}
_BOOTREPLY, _RELAY_REPLY = 2, 13


def expected(ports: Sequence[str]) -> str:
    """What `held` says while no server answers by these ports. Raises `ApplyFailed`."""
    return learnt(DRAFT, _HOOKS, lambda table, hooks: _text(table, ports, hooks), nft.BRIDGE)


def held(items: Sequence[dict[str, Any]]) -> str:
    """The table as the kernel has it (of `nft.ruleset`); "" = it is not there."""
    return printed(TABLE, items, {}, nft.BRIDGE)


def apply(ports: Sequence[str]) -> None:
    """Make the table so, in one transaction; no ports remove it."""
    nft.apply_text(removal(TABLE, nft.BRIDGE) + (_text(TABLE, ports, _HOOKS) if ports else ""))


def _text(table: str, ports: Sequence[str], hooks: Hooks) -> str:
    names = ", ".join(f'"{name}"' for name in ports)
    return f"""table {nft.BRIDGE} {table} {{
  chain answers {{ {base(hooks, "answers")}
    iifname != {{ {names} }} accept
    meta protocol ip udp dport 68 counter drop
    meta protocol ip udp dport 67 @th,64,8 {_BOOTREPLY} counter drop
    meta protocol ip6 udp dport 546 counter drop
    meta protocol ip6 udp dport 547 @th,64,8 {_RELAY_REPLY} counter drop
  }}
}}
"""

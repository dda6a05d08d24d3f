# SPDX-License-Identifier: Apache-2.0
"""The nftables table `inet weir_limits`: who may have how many connections, and whose full queue opens none.

A table of its own, so that a change of the firewall does not forget who has how many. It is written as text,
because libnftables' JSON cannot declare a set that packets add to (1.0.6: "Invalid set flag").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weir.adapters import nft
from weir.adapters.drop_counters import of_rules
from weir.adapters.nft_drafts import Hooks, base, learnt, printed, removal
from weir.model.problem import Problem

TABLE, DRAFT = nft.LIMITS_PREFIX, f"{nft.LIMITS_PREFIX}_draft"
REFUSED = 4096
"""So many of those who were refused are remembered, for an hour."""
SLOT_SHIFT = 8
NETWORK_SHARE = 4
"""An IPv6 /56, which one customer may have, holds as many connections as so many /64."""
PART, MOST_PARTS = 256, 1024
"""A new connection walks those that are counted with it (Linux, nf_conncount.c), so those of a source with a
bound of 512 and more are counted in parts of 256 to 511 (docs/adr/0266)."""
COUNTED, FULL = 262_144, 16_384
"""Parts of all sources of a family, and those of them that are remembered as full; more are not bounded, or
walked."""
_HOOKS = {
    # After connections are looked up (-200), before addresses are translated (-100) and our firewall (0).
    "sources": {"type": "filter", "hook": "prerouting", "prio": -150, "policy": "accept"},
    "forward": {"type": "filter", "hook": "forward", "prio": -5, "policy": "accept"},
}
_NEW = "ct state new ct status ! confirmed"
"""What has no entry yet. Further packets of an unanswered connection are `new` as well, and have one."""
_SETS = f"""
  set full {{ type mark; size {REFUSED}; flags dynamic,timeout; timeout 1h; }}
  set refused4 {{ type ifname . ipv4_addr; size {REFUSED}; flags dynamic,timeout; timeout 1h; }}
  set refused6 {{ type ifname . ipv6_addr; size {REFUSED}; flags dynamic,timeout; timeout 1h; }}
  counter full {{ }}
  counter refused {{ }}
  chain full {{
    update @full {{ meta mark & 0x0fffff00 counter }}
    counter name "full" drop
  }}
  chain refused {{
    update @refused4 {{ iifname . ip saddr counter }}
    update @refused6 {{ iifname . ip6 saddr & ffff:ffff:ffff:ffff:: counter }}
    counter name "refused" drop
  }}
"""
"""Marks are those of weir/abi.h: WEIR_MARK_SLOT and, below, WEIR_MARK_FULL. Where a set is full, its rule
ends and the next one still drops."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`connections` of each source (IPv4 address, IPv6 /64) at once, 0 = any number. Never more; of bounds
    that are counted in parts some are refused from three quarters on.

    What comes in by an interface of `outside` is not counted: WANs, and VRFs, whose packets came by one of
    their interfaces before.
    """

    outside: tuple[str, ...]
    connections: int


@dataclass(frozen=True, slots=True)
class Refused:
    """Packets that would have opened a connection, dropped since the table was made."""

    full: int
    sources: int
    latest: tuple[tuple[str, str, int], ...]
    """Of the last hour: interface, source, packets; most first."""


NOTHING_REFUSED = Refused(0, 0, ())


def unsupported_reason() -> str:
    """Why this kernel cannot count connections by source, "" = it can."""
    try:
        expected(Limits(("lo",), 1))
    except Problem as problem:
        return problem.message
    return ""


def expected(limits: Limits) -> str:
    """What `held` says while these are in force. Raises `ApplyFailed` where the kernel cannot do it."""
    return learnt(DRAFT, _HOOKS, lambda table, hooks: _text(table, limits, hooks))


def held(items: Sequence[dict[str, Any]]) -> str:
    """The table as the kernel has it (of `nft.ruleset`), without what packets added; "" = it is not there."""
    return printed(TABLE, items, {})


def apply(limits: Limits | None) -> None:
    """Make the table so, in one transaction; None removes it. Who has how many is counted from then on."""
    body = "" if limits is None else _text(TABLE, limits, _HOOKS)
    nft.apply_text(removal(TABLE) + body)


def refused() -> Refused:
    """Raises `Unavailable` or `ApplyFailed` when nft cannot be asked."""
    full, sources = refused_packets()
    latest = [*_sources("refused4"), *_sources("refused6")] if sources else []
    return Refused(full, sources, tuple(sorted(latest, key=lambda row: -row[2])))


def refused_packets() -> tuple[int, int]:
    """Packets dropped since the table was made, because the class was full, and because the source had too
    many connections; 0 where there is no table. Raises as `refused`."""
    counts = of_rules(TABLE)
    full, refused = (counts[name].packets if name in counts else 0 for name in ("full", "refused"))
    return full, refused


def refused_of_class(slot: int) -> int:
    """Packets of an upload class that would open a connection, dropped in the last hour as it was full."""
    if not _is_there():
        return 0
    # `get element` prints nothing as JSON (nft 1.0.6).
    rows = [row for item in nft.listing("list", "set", nft.FAMILY, TABLE, "full") for row in _elements(item)]
    return sum(_packets(row) for row in rows if row["val"] == slot << SLOT_SHIFT)


def _sources(name: str) -> list[tuple[str, str, int]]:
    found = []
    for item in nft.listing("list", "set", nft.FAMILY, TABLE, name):
        for element in _elements(item):
            ifname, source = element["val"]["concat"]
            found.append((str(ifname), str(source), _packets(element)))
    return found


def _elements(item: dict[str, Any]) -> list[dict[str, Any]]:
    listed: Sequence[Any] = item.get("set", item.get("element", {})).get("elem", ())
    return [element["elem"] for element in listed if isinstance(element, dict) and "elem" in element]


def _packets(element: dict[str, Any]) -> int:
    counter = element.get("counter")
    return int(counter["packets"]) if isinstance(counter, dict) else 0


def _is_there() -> bool:
    return bool(nft.of_table(TABLE, nft.ruleset()))


def _text(table: str, limits: Limits, hooks: Hooks) -> str:
    outside = ", ".join(f'"{name}"' for name in ("lo", *limits.outside))
    bounds = _bounds(limits.connections) if limits.connections else ()
    bounded = f"    {_NEW} iifname != {{ {outside} }} jump bounded" if bounds else ""
    return f"""table {nft.FAMILY} {table} {{{_SETS}
{"".join(bound.text for bound in bounds)}
  chain bounded {{
{"".join(bound.rules for bound in bounds)}
  }}
  chain sources {{ {base(hooks, "sources")}
{bounded}
  }}
  chain forward {{ {base(hooks, "forward")}
    meta mark & 0x20000000 == 0x20000000 {_NEW} goto full
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class _Bound:
    """Of one width of sources. A part that was found full counts nothing for a second: who goes on costs no
    walk."""

    name: str
    source: str
    mask: str
    most: int

    @property
    def parts(self) -> int:
        """A power of two, as a connection's part is the end of its number."""
        return min(1 << max((self.most // PART).bit_length() - 1, 0), MOST_PARTS)

    @property
    def text(self) -> str:
        """Its sets, and the chain of those that are one too many."""
        kind = f"typeof iifname . {self.source}{' . ct id' if self.parts > 1 else ''}"
        return f"""  set {self.name} {{ {kind}; size {COUNTED}; flags dynamic; }}
  set full_{self.name} {{ {kind}; size {FULL}; flags dynamic,timeout; timeout 1s; }}
  chain over_{self.name} {{
    add @full_{self.name} {{ {self._key} }}
    goto refused
  }}
"""

    @property
    def rules(self) -> str:
        return f"""    {self._key} @full_{self.name} goto refused
    add @{self.name} {{ {self._key} ct count over {self.most // self.parts} }} goto over_{self.name}
"""

    @property
    def _key(self) -> str:
        part = f" . ct id & {self.parts - 1}" if self.parts > 1 else ""
        return f"iifname . {self.source}{self.mask}{part}"


def _bounds(connections: int) -> Sequence[_Bound]:
    return (
        _Bound("connections4", "ip saddr", "", connections),
        _Bound("connections6", "ip6 saddr", " & ffff:ffff:ffff:ffff::", connections),
        _Bound("networks6", "ip6 saddr", " & ffff:ffff:ffff:ff00::", connections * NETWORK_SHARE),
    )

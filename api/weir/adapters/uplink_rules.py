# SPDX-License-Identifier: Apache-2.0
"""The policy rules of IPv4 by which a packet with an uplink's mark takes that uplink's default route.

For marked packets alone: first the router's own addresses (with VRFs the kernel's rule for them is behind
ours), then what the main table says but its default route, then the table of the uplink. Where that is empty,
as its link is down, the rules behind ours decide: the main table with the default route in use.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from weir.adapters.netlink import OUR_PROTO
from weir.adapters.rtnl_dump import attributes, dump
from weir.adapters.standing_routes import MAIN_TABLE, batch
from weir.adapters.uplink_routes import table_of
from weir.model.problem import Unavailable

MASK, KEPT = 0x8F, 0x80
"""Of the packet's and the connection's mark: `KEPT` and the number of an uplink. The bits above are those of
classes (weir/abi.h)."""
NUMBERS = 16
_LOCAL_TABLE = "255"
_FIRST_PRIORITY = 3000
"""Behind those of VRFs (1000, 2000)."""
_GET_RULE = 34
_RULE = struct.Struct("=BBBBBBBBI")  # family, dst_len, src_len, tos, table, res1, res2, action, flags
_PRIORITY, _MARK, _SUPPRESS, _TABLE, _MASK, _PROTOCOL = 6, 10, 14, 15, 16, 21


class UplinkRule(NamedTuple):
    priority: int
    mark: int
    mask: int
    table: str
    specific: bool = False
    """Not for the table's default route."""

    @property
    def text(self) -> str:
        but = " suppress_prefixlength 0" if self.specific else ""
        return f"fwmark {self.mark:#x}/{self.mask:#x} lookup {self.table}{but}"


def rules_of(numbers: Mapping[int, int]) -> frozenset[UplinkRule]:
    """Of uplinks with these numbers, by the index of the interface; none where there is none."""
    if not numbers:
        return frozenset()
    common = (
        UplinkRule(_FIRST_PRIORITY, KEPT, KEPT, _LOCAL_TABLE),
        UplinkRule(_FIRST_PRIORITY + 1, KEPT, KEPT, MAIN_TABLE, specific=True),
    )
    own = (
        UplinkRule(_FIRST_PRIORITY + 2, KEPT | number, MASK, table_of(ifindex))
        for ifindex, number in numbers.items()
    )
    return frozenset((*common, *own))


def numbers_of(rules: Iterable[UplinkRule], indexes: Iterable[int]) -> dict[int, int]:
    """A number for each interface, by its index: the one that it has, else one that is free, so that
    connections keep their uplinks when others come and go."""
    tables = {table_of(ifindex): ifindex for ifindex in indexes}
    found: dict[int, int] = {}
    for rule in sorted(rules):
        ifindex = tables.get(rule.table)
        if ifindex is not None and rule.mask == MASK:
            found.setdefault(ifindex, rule.mark & ~KEPT)
    free = iter(sorted(set(range(NUMBERS)) - set(found.values())))
    for ifindex in tables.values():
        if ifindex not in found and (number := next(free, None)) is not None:
            found[ifindex] = number
    return found


def read() -> frozenset[UplinkRule]:
    """Those with our protocol number that ask for a mark. Raises `Unavailable`."""
    try:
        bodies = list(dump(_GET_RULE, _RULE.pack(socket.AF_INET, *[0] * 8)))
    except OSError as error:
        raise Unavailable(f"the policy rules cannot be read: {error.strerror}", code="netlink") from error
    return frozenset(rule for body in bodies if (rule := _rule(body)) is not None)


def change(put: Iterable[UplinkRule], remove: Iterable[UplinkRule]) -> dict[UplinkRule, str]:
    """Make rules, then remove others; why that was not done of some."""
    return batch(
        [
            *((rule, f"rule add pref {rule.priority} {rule.text} protocol {OUR_PROTO}") for rule in put),
            *((rule, f"rule del pref {rule.priority} {rule.text} protocol {OUR_PROTO}") for rule in remove),
        ]
    )


def _rule(body: bytes) -> UplinkRule | None:
    found = attributes(body, _RULE.size)
    if _MARK not in found or found.get(_PROTOCOL) != bytes((OUR_PROTO,)):
        return None
    table = _number(found[_TABLE]) if _TABLE in found else body[4]
    suppressed = found.get(_SUPPRESS) == struct.pack("=i", 0)
    mask = _number(found[_MASK]) if _MASK in found else 0xFFFFFFFF
    priority = _number(found[_PRIORITY]) if _PRIORITY in found else 0
    return UplinkRule(priority, _number(found[_MARK]), mask, str(table), suppressed)


def _number(data: bytes) -> int:
    return int(struct.unpack_from("=I", data)[0])

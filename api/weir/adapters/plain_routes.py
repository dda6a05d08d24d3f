# SPDX-License-Identifier: Apache-2.0
"""Whether the FIB's answer depends on nothing but a destination and where a packet came in, and for which
destinations it is the same: what the fast path has to know to keep answers (datapath/bpf/hops.h).

XDP asks with a mark of 0, so rules by mark always say the same to it.
"""

from __future__ import annotations

import socket
import struct
import sys
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from weir.adapters.rtnl_dump import attributes, dump

REGIONS = 65_536
"""One for each 16 bits that an address may begin with (WEIR_REGIONS)."""
NO_REGIONS = bytes(2 * REGIONS)
_REGION_BITS = 16
_GET_RULE = 34
_RULE = struct.Struct("=BBBBBBBBI")  # family, dst_len, src_len, tos, table, -, -, action, flags
_TO_TABLE = 1
_FRA_PRIORITY, _FRA_TABLE = 6, 15
_USES_PMTU = Path("/proc/sys/net/ipv4/ip_forward_use_pmtu")
"""Whether packets are forwarded by what was learnt of paths' MTUs, which is not counted with routes."""
_STEADY = {1, 3, 4, 6, 10, 13, 14, 15, 16, 18, 19, 21}
"""Attributes of rules that look at no more than the destination, the port of entry or the mark: FRA_DST,
IIFNAME, GOTO, PRIORITY, FWMARK, SUPPRESS_IFGROUP, SUPPRESS_PREFIXLEN, TABLE, FWMASK, PAD, L3MDEV and
PROTOCOL of linux/fib_rules.h."""
_USUAL = {(0, 255), (32766, 254), (32767, 253)}
"""Priority and table of the rules that there are without any: local, main, default."""
_EVERYTHING = {6, 14, 15, 21}
"""Attributes of a rule that every packet matches."""
_UNICAST = 1
_OIF, _GATEWAY, _MULTIPATH = 4, 5, 9
_DEFAULT, _MAIN, _LOCAL = 253, 254, 255


@dataclass(slots=True)
class PlainRoutes:
    """Fed with every IPv4 route of all tables."""

    plain: bool = True
    _wide: dict[tuple[int, int], bool] = field(default_factory=dict)
    """Of the main table, by length and first region: whether all routes of this prefix have a gateway."""
    _mixed: set[int] = field(default_factory=set)
    """Regions with routes of their own inside."""
    _held: set[range] = field(default_factory=set)
    """What the local table has."""
    _has_default: bool = False

    def note(self, route: tuple[int, ...], table: int, found: Mapping[int, bytes]) -> None:
        """`route`: the fields of struct rtmsg; `found`: its attributes, RTA_DST as 1."""
        _, length, _, tos, _, _, _, kind, _ = route
        if tos or _MULTIPATH in found or (kind == _UNICAST and _OIF not in found):
            self.plain = False
        if table not in (_DEFAULT, _MAIN, _LOCAL):
            return
        first = int.from_bytes(found.get(1, bytes(4)), "big") >> _REGION_BITS
        if length > _REGION_BITS:
            self._mixed.add(first)
        elif table == _MAIN:
            with_gateway = kind == _UNICAST and _GATEWAY in found
            self._wide[length, first] = self._wide.get((length, first), True) and with_gateway
        elif table == _LOCAL:
            self._held.add(_span(length, first))
        else:
            self._has_default = True

    def regions(self) -> bytes | None:
        """For each region the number of the route that all its addresses take by a gateway, or 0. None:
        routes or rules are not plain. Raises OSError."""
        steady, usual = _rules()
        if not self.plain or not steady or _USES_PMTU.read_text().strip() != "0":
            return None
        if not usual or self._has_default:
            return NO_REGIONS
        found = array("H", NO_REGIONS)
        number = 0
        for (length, first), with_gateway in sorted(self._wide.items()):
            span = _span(length, first)
            number = min(number + with_gateway, REGIONS - 1)
            own = number if with_gateway and number < REGIONS - 1 else 0
            found[span.start : span.stop] = array("H", [own]) * len(span)
        for span in (*self._held, *(range(region, region + 1) for region in self._mixed)):
            found[span.start : span.stop] = array("H", [0]) * len(span)
        assert found.itemsize == 2 and sys.byteorder == "little"
        return found.tobytes()


def _span(length: int, first: int) -> range:
    return range(first, first + (1 << _REGION_BITS - length))


def _rules() -> tuple[bool, bool]:
    """(none looks at more than XDP's answers are kept by, there are only the usual ones)."""
    steady, usual = True, True
    for body in dump(_GET_RULE, _RULE.pack(socket.AF_INET, *[0] * 8)):
        _, to_bits, from_bits, tos, table, _, _, action, _ = _RULE.unpack_from(body)
        found = attributes(body, _RULE.size)
        steady = steady and not from_bits and not tos and found.keys() <= _STEADY
        priority = _number(found.get(_FRA_PRIORITY))
        key = (priority, _number(found.get(_FRA_TABLE)) or table)
        matches_all = found.keys() <= _EVERYTHING and not to_bits and action == _TO_TABLE
        usual = usual and matches_all and key in _USUAL
    return steady, usual


def _number(data: bytes | None) -> int:
    return int(struct.unpack("=I", data)[0]) if data else 0

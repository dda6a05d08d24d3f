# SPDX-License-Identifier: Apache-2.0
"""Bridges in the kernel (linux/if_bridge.h): settings, ports, VLANs, and what is learnt behind ports."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from weir.adapters import link_messages as messages
from weir.adapters.link_messages import Attributes
from weir.adapters.rtnl_dump import attribute, attributes, each_attribute
from weir.model.frames import ranges_of

KIND = "bridge"
SETTINGS: Attributes = {
    "forward_delay": (1, "=I"),
    "hello_time": (2, "=I"),
    "max_age": (3, "=I"),
    "ageing_time": (4, "=I"),
    "stp_state": (5, "=I"),
    "priority": (6, "=H"),
    "vlan_filtering": (7, "=B"),
    "mcast_snooping": (23, "=B"),
    "vlan_default_pvid": (39, "=H"),
}
PORT_SETTINGS: Attributes = {
    "priority": (2, "=H"),
    "cost": (3, "=I"),
    "mode": (4, "=B"),
    "guard": (5, "=B"),
    "learning": (8, "=B"),
    "isolated": (33, "=B"),
}
_ROOT_ID, _BRIDGE_ID, _PORT_STATE = 10, 11, 1
STATES = ("disabled", "listening", "learning", "forwarding", "blocking")
"""By the kernel's number (linux/if_bridge.h, BR_STATE_*)."""

_AF_BRIDGE = 7
_FILTER_VLANS = 4  # RTEXT_FILTER_BRVLAN_COMPRESSED
_FLAGS, _VLAN_INFO = 0, 2
_MASTER_FLAG, _SELF_FLAG = 1, 2
_VLAN = struct.Struct("=HH")
_IS_PVID, _IS_UNTAGGED, _RANGE_BEGIN, _RANGE_END = 0x2, 0x4, 0x8, 0x10
_RANGES_AT_ONCE = 64

_GET_NEIGHBOUR = 30
_NEIGHBOUR = struct.Struct("=BxxxiHBB")  # family, ifindex, state, flags, type
_PERMANENT, _NO_ARP = 0x80, 0x40
_LLADDR, _CACHE_INFO, _NDA_VLAN, _NDA_MASTER = 2, 3, 5, 9
_TICKS_PER_S = 100


class HeldVlans(NamedTuple):
    """`pvid` 0: there is none. `untagged` are those of `ids` that leave without a tag."""

    pvid: int
    ids: frozenset[int]
    untagged: frozenset[int]


NO_VLANS = HeldVlans(0, frozenset(), frozenset())


@dataclass(frozen=True, slots=True)
class HeldBridge:
    """`is_root`: its timers are its own, and not those of another bridge."""

    index: int
    mac: str
    settings: Mapping[str, int]
    is_root: bool
    root: str


@dataclass(frozen=True, slots=True)
class HeldLink:
    """Any interface; `settings` and `state` where it is a bridge's port. `master` "" = it belongs to none."""

    index: int
    mac: str
    up: bool
    master: str
    settings: Mapping[str, int]
    state: str


class Station(NamedTuple):
    """An address that was learnt; `vlan` 0: in no VLAN."""

    bridge: str
    port: str
    mac: str
    vlan: int
    age_s: int


def read() -> tuple[dict[str, HeldBridge], dict[str, HeldLink]]:
    """All bridges, and all interfaces. Raises `Unavailable`."""
    found = messages.links()
    names = {link.index: link.name for link in found}
    bridges = {link.name: _bridge(link) for link in found if link.kind == KIND}
    held = {
        link.name: HeldLink(
            link.index,
            link.mac,
            link.up,
            names.get(link.master, ""),
            messages.read(PORT_SETTINGS, link.member_data),
            STATES[min(link.member_data[_PORT_STATE][0], len(STATES) - 1)]
            if link.member_data.get(_PORT_STATE)
            else "",
        )
        for link in found
    }
    return bridges, held


def _bridge(link: messages.RawLink) -> HeldBridge:
    root, own = link.data.get(_ROOT_ID, b""), link.data.get(_BRIDGE_ID, b"")
    text = f"{root[:2].hex()}.{root[2:8].hex(':')}" if len(root) == 8 else ""
    return HeldBridge(link.index, link.mac, messages.read(SETTINGS, link.data), root == own, text)


def read_vlans() -> dict[str, HeldVlans]:
    """By interface: of bridges and of their ports. Raises `Unavailable`."""
    body = messages.INFO.pack(_AF_BRIDGE, 0, 0, 0, 0) + attribute(
        messages.EXT_MASK, messages.U32.pack(_FILTER_VLANS)
    )
    found = {}
    for message in messages.dumped(messages.GET_LINK, body, "the VLANs of bridges"):
        held = attributes(message, messages.INFO.size)
        name = held.get(messages.IFNAME, b"").rstrip(b"\0").decode("ascii", "replace")
        found[name] = _vlans(held.get(messages.AF_SPEC, b""))
    return found


def _vlans(spec: bytes) -> HeldVlans:
    pvid, begin, ids, untagged = 0, 0, set[int](), set[int]()
    for number, payload in each_attribute(spec):
        if number != _VLAN_INFO:
            continue
        flags, vid = _VLAN.unpack(payload)
        if flags & _RANGE_BEGIN:
            begin = vid
            continue
        some = range(begin if flags & _RANGE_END else vid, vid + 1)
        ids.update(some)
        if flags & _IS_UNTAGGED:
            untagged.update(some)
        if flags & _IS_PVID:
            pvid = vid
    return HeldVlans(pvid, frozenset(ids), frozenset(untagged))


def set_bridge(name: str, index: int, settings: Mapping[str, int]) -> None:
    """Raises `ApplyFailed`."""
    messages.set_own(f"bridge {name}", index, KIND, messages.packed(SETTINGS, settings))


def set_port(name: str, index: int, settings: Mapping[str, int]) -> None:
    """Raises `ApplyFailed`."""
    data = messages.packed(PORT_SETTINGS, settings)
    messages.set_member(f"{name} as port of a bridge", index, KIND, data)


def add_vlans(name: str, index: int, ids: Iterable[int], *, own: bool, untagged: bool, pvid: int = 0) -> None:
    """VLANs of a port, or (`own`) of the bridge itself; one that is there gets these flags. Raises
    `ApplyFailed`."""
    flag = _IS_UNTAGGED if untagged else 0
    for some in _batches(set(ids) - {pvid}):
        _change_vlans(name, index, messages.SET_LINK, some, flag, own)
    if pvid:
        _change_vlans(name, index, messages.SET_LINK, [(pvid, pvid)], flag | _IS_PVID, own)


def remove_vlans(name: str, index: int, ids: Iterable[int], *, own: bool) -> None:
    """Raises `ApplyFailed`."""
    for some in _batches(ids):
        _change_vlans(name, index, messages.DEL_LINK, some, 0, own)


def _batches(ids: Iterable[int]) -> Iterator[list[tuple[int, int]]]:
    ranges = ranges_of(ids)
    for start in range(0, len(ranges), _RANGES_AT_ONCE):
        yield list(ranges[start : start + _RANGES_AT_ONCE])


def _change_vlans(
    name: str, index: int, kind: int, ranges: Iterable[tuple[int, int]], flags: int, own: bool
) -> None:
    spec = attribute(_FLAGS, struct.pack("=H", _SELF_FLAG if own else _MASTER_FLAG))
    for first, last in ranges:
        if first == last:
            spec += attribute(_VLAN_INFO, _VLAN.pack(flags, first))
        else:
            spec += attribute(_VLAN_INFO, _VLAN.pack(flags | _RANGE_BEGIN, first))
            spec += attribute(_VLAN_INFO, _VLAN.pack(flags | _RANGE_END, last))
    body = attribute(messages.AF_SPEC, spec)
    messages.change_link(f"VLANs of {name}", index, body, family=_AF_BRIDGE, kind=kind)


def stations() -> Iterator[Station]:
    """Every address that a bridge learnt. Raises `Unavailable`."""
    names = {link.index: link.name for link in messages.links()}
    body = _NEIGHBOUR.pack(_AF_BRIDGE, 0, 0, 0, 0)
    for message in messages.dumped(_GET_NEIGHBOUR, body, "the addresses behind bridges"):
        _, index, state, _, _ = _NEIGHBOUR.unpack_from(message)
        held = attributes(message, _NEIGHBOUR.size)
        if state & (_PERMANENT | _NO_ARP) or _NDA_MASTER not in held or _LLADDR not in held:
            continue
        (master,) = messages.U32.unpack(held[_NDA_MASTER])
        (vlan,) = struct.unpack("=H", held[_NDA_VLAN]) if _NDA_VLAN in held else (0,)
        _, _, updated, _ = struct.unpack("=IIII", held.get(_CACHE_INFO, bytes(16)))
        yield Station(
            names.get(master, ""), names.get(index, ""), held[_LLADDR].hex(":"), vlan, updated // _TICKS_PER_S
        )

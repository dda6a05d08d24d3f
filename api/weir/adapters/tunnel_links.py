# SPDX-License-Identifier: Apache-2.0
"""VXLAN and GRE in the kernel (linux/if_link.h, IFLA_VXLAN_*; linux/if_tunnel.h, IFLA_GRE_*).

The remotes of a VXLAN are entries for the address of zeros in its table of addresses (bridge(8), fdb), which
frames to unknown addresses go to.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from weir.adapters import link_messages as messages
from weir.adapters.link_messages import IFNAME, INFO, LINK_INFO, NEW_LINK, U32
from weir.adapters.netlink import OUR_GROUP
from weir.adapters.rtnl_dump import APPEND, CREATE, EXCLUSIVE, attribute, attributes, change
from weir.model.problem import ApplyFailed, Unsupported
from weir.parts.tunnels import TUNNELS, VXLAN, Ends

_MTU, _GROUP, _KIND, _DATA = 4, 27, 1, 2
_VNI, _LOCAL_4, _TTL, _LEARNING, _PORT, _LOCAL_6 = 1, 4, 5, 7, 15, 17
_IN_FLAGS, _OUT_FLAGS, _IN_KEY, _OUT_KEY, _LOCAL, _REMOTE, _GRE_TTL, _FLAGS = 2, 3, 4, 5, 6, 7, 8, 13
_HAS_KEY = 0x2000
_NO_ENCAPSULATION_LIMIT = 1
"""IP6_TNL_F_IGN_ENCAP_LIMIT: without it each packet has a header of 8 bytes more, which many ends drop."""
_VXLAN_TTL = 64

_AF_BRIDGE = 7
_NEW_NEIGHBOUR, _DEL_NEIGHBOUR, _GET_NEIGHBOUR = 28, 29, 30
_NEIGHBOUR = struct.Struct("=BxxxiHBB")  # family, ifindex, state, flags, type
_PERMANENT, _SELF = 0x80, 0x02
_DESTINATION, _LLADDR = 1, 2
_ANY_STATION = bytes(6)
_ANY = {4: bytes(4), 6: bytes(16)}


@dataclass(frozen=True, slots=True)
class HeldTunnel:
    """`made_with` is what it has for life, as `weir.parts.tunnels` calls it."""

    made_with: tuple[tuple[str, int], ...]
    ends: Ends


def read() -> dict[str, HeldTunnel]:
    """All VXLANs and GRE tunnels. Raises `Unavailable`."""
    links = [link for link in messages.links() if link.kind in TUNNELS]
    remotes = _remotes() if any(link.kind == VXLAN for link in links) else {}
    return {
        link.name: _vxlan(link.data, remotes.get(link.index, []))
        if link.kind == VXLAN
        else HeldTunnel((), _gre(link.data))
        for link in links
    }


def _vxlan(data: Mapping[int, bytes], remotes: list[str]) -> HeldTunnel:
    local = data.get(_LOCAL_6) or data.get(_LOCAL_4, b"")
    made_with = (
        ("vni", messages.read({"vni": (_VNI, "=I")}, data).get("vni", 0)),
        ("port", int.from_bytes(data.get(_PORT, b"\0"), "big")),
        ("family", 6 if _LOCAL_6 in data else 4),
    )
    return HeldTunnel(
        made_with, Ends(_host(local), tuple(sorted(remotes)), learning=data.get(_LEARNING) == b"\1")
    )


def _gre(data: Mapping[int, bytes]) -> Ends:
    flags = int.from_bytes(data.get(_IN_FLAGS, b"\0"), "big") & int.from_bytes(
        data.get(_OUT_FLAGS, b"\0"), "big"
    )
    keys = {int.from_bytes(data.get(number, b"\0"), "big") for number in (_IN_KEY, _OUT_KEY)}
    remote = _host(data.get(_REMOTE, b""))
    return Ends(
        _host(data.get(_LOCAL, b"")),
        (remote,) if remote else (),
        (keys.pop() if len(keys) == 1 else -1) if flags & _HAS_KEY else None,
        int.from_bytes(data.get(_GRE_TTL, b"\0"), "big"),
    )


def _host(packed: bytes) -> str:
    """ "" for none, and for any."""
    if not any(packed):
        return ""
    return socket.inet_ntop(socket.AF_INET6 if len(packed) == 16 else socket.AF_INET, packed)


def _packed(address: str) -> bytes:
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)


def _remotes() -> dict[int, list[str]]:
    """By the index of an interface."""
    found: dict[int, list[str]] = {}
    body = _NEIGHBOUR.pack(_AF_BRIDGE, 0, 0, 0, 0)
    for message in messages.dumped(_GET_NEIGHBOUR, body, "the remotes of VXLANs"):
        _, index, _, flags, _ = _NEIGHBOUR.unpack_from(message)
        held = attributes(message, _NEIGHBOUR.size)
        if flags & _SELF and held.get(_LLADDR) == _ANY_STATION and _DESTINATION in held:
            found.setdefault(index, []).append(_host(held[_DESTINATION]))
    return found


def make(name: str, kind: str, made_with: tuple[tuple[str, int], ...], ends: Ends, mtu: int) -> None:
    """Make a tunnel with our mark, down. Raises `Unsupported` for a kernel without that kind."""
    known = dict(made_with)
    data = _settings(kind, known.get("family", 4), ends)
    if kind == VXLAN:
        data += attribute(_VNI, U32.pack(known["vni"])) + attribute(_TTL, bytes((_VXLAN_TTL,)))
        data += attribute(_PORT, known["port"].to_bytes(2, "big"))
    body = INFO.pack(0, 0, 0, 0, 0) + attribute(IFNAME, name.encode() + b"\0")
    body += attribute(_GROUP, U32.pack(OUR_GROUP)) + _own(kind, data, mtu)
    try:
        change(NEW_LINK, body, CREATE | EXCLUSIVE)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            raise Unsupported(f"{name}: this kernel has no {kind}", code=f"no-{kind}") from error
        raise ApplyFailed(f"{name}: {kind}: {error.strerror}", code="netlink") from error
    if kind == VXLAN:
        _set_remotes(name, (), ends.remotes)


def set_ends(name: str, kind: str, held: Ends, wanted: Ends, mtu: int) -> None:
    """Change what can be changed while packets pass. Raises `ApplyFailed`."""
    index = messages.index_of(name)
    if kind != VXLAN or (held.local, held.learning) != (wanted.local, wanted.learning):
        family = 6 if ":" in "".join((wanted.local, *wanted.remotes)) else 4
        messages.change_link(f"{name}: {kind}", index, _own(kind, _settings(kind, family, wanted), mtu))
    if kind == VXLAN:
        _set_remotes(name, held.remotes, wanted.remotes)


def _own(kind: str, data: bytes, mtu: int) -> bytes:
    """The kernel gives a tunnel another MTU with its ends, unless it is told."""
    info = attribute(_KIND, kind.encode()) + attribute(_DATA, data)
    return attribute(_MTU, U32.pack(mtu)) + attribute(LINK_INFO, info)


def _settings(kind: str, family: int, ends: Ends) -> bytes:
    local = _packed(ends.local) if ends.local else _ANY[family]
    if kind == VXLAN:
        number = _LOCAL_6 if family == 6 else _LOCAL_4
        return attribute(number, local) + attribute(_LEARNING, bytes((ends.learning,)))
    remote = _packed(ends.remotes[0])
    data = attribute(_LOCAL, _packed(ends.local) if ends.local else bytes(len(remote)))
    data += attribute(_REMOTE, remote) + attribute(_GRE_TTL, bytes((ends.ttl or 0,)))
    if kind == "ip6gre":
        data += attribute(_FLAGS, U32.pack(_NO_ENCAPSULATION_LIMIT))
    if ends.key is not None:
        flags, key = _HAS_KEY.to_bytes(2, "big"), ends.key.to_bytes(4, "big")
        data += attribute(_IN_FLAGS, flags) + attribute(_OUT_FLAGS, flags)
        data += attribute(_IN_KEY, key) + attribute(_OUT_KEY, key)
    return data


def _set_remotes(name: str, held: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    """Those that come are there before others go."""
    index = messages.index_of(name)
    for remote in wanted:
        if remote not in held:
            _change_remote(name, index, _NEW_NEIGHBOUR, remote, CREATE | APPEND)
    for remote in held:
        if remote not in wanted:
            _change_remote(name, index, _DEL_NEIGHBOUR, remote, 0)


def _change_remote(name: str, index: int, kind: int, remote: str, flags: int) -> None:
    body = _NEIGHBOUR.pack(_AF_BRIDGE, index, _PERMANENT, _SELF, 0)
    body += attribute(_LLADDR, _ANY_STATION) + attribute(_DESTINATION, _packed(remote))
    try:
        change(kind, body, flags)
    except OSError as error:
        if kind == _DEL_NEIGHBOUR and error.errno == errno.ENOENT:
            return
        reason = error.strerror or os.strerror(error.errno or 0)
        raise ApplyFailed(f"{name}: remote {remote}: {reason}", code="netlink") from error

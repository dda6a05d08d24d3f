# SPDX-License-Identifier: Apache-2.0
"""Settings of links that are made of others, by netlink (linux/if_link.h): as numbers by name.

A setting that this kernel does not have is in no answer.
"""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from weir.adapters.rtnl_dump import ask, attribute, attributes, change, dump
from weir.model.problem import ApplyFailed, NotFound, Unavailable

NEW_LINK, DEL_LINK, GET_LINK, SET_LINK = 16, 17, 18, 19
ADDRESS, IFNAME, MASTER, LINK_INFO, AF_SPEC, EXT_MASK = 1, 3, 10, 18, 26, 29
_KIND, _DATA, _SLAVE_KIND, _SLAVE_DATA = 1, 2, 4, 5
_IFF_UP, _IFF_RUNNING, _IFF_NOARP = 0x1, 0x40, 0x80
INFO = struct.Struct("=BxHiII")  # family, type, index, flags, change
U32 = struct.Struct("=I")

Attributes = Mapping[str, tuple[int, str]]
"""Of each setting its number and how its value is packed."""


@dataclass(frozen=True, slots=True)
class RawLink:
    """`data` are the attributes of its own kind, `member_data` those of a member of its master. `asks`: hosts
    behind it are found by ARP or neighbour discovery."""

    name: str
    index: int
    kind: str
    mac: str
    up: bool
    running: bool
    master: int
    data: Mapping[int, bytes]
    member_data: Mapping[int, bytes]
    asks: bool = True


def link_at(index: int) -> RawLink | None:
    """One link; None: there is none. Raises `Unavailable`."""
    try:
        return _link(ask(GET_LINK, INFO.pack(0, 0, index, 0, 0)))
    except OSError as error:
        if error.errno == errno.ENODEV:
            return None
        raise Unavailable(f"an interface cannot be read: {error.strerror}", code="netlink") from error


def links() -> list[RawLink]:
    """Raises `Unavailable`."""
    try:
        return [_link(body) for body in dump(GET_LINK, INFO.pack(0, 0, 0, 0, 0))]
    except OSError as error:
        raise Unavailable(f"the interfaces cannot be read: {error.strerror}", code="netlink") from error


def index_of(name: str) -> int:
    """Raises `NotFound` naming the interface."""
    try:
        return socket.if_nametoindex(name)
    except OSError as error:
        raise NotFound(
            f"there is no interface {name}", code="no-such-interface", path=f"interface/{name}"
        ) from error


def _link(body: bytes) -> RawLink:
    _, _, index, flags, _ = INFO.unpack_from(body)
    held = attributes(body, INFO.size)
    info = attributes(held.get(LINK_INFO, b""))
    return RawLink(
        _text(held.get(IFNAME, b"")),
        index,
        _text(info.get(_KIND, b"")),
        held.get(ADDRESS, b"").hex(":"),
        bool(flags & _IFF_UP),
        bool(flags & _IFF_RUNNING),
        U32.unpack(held[MASTER])[0] if MASTER in held else 0,
        attributes(info.get(_DATA, b"")),
        attributes(info.get(_SLAVE_DATA, b"")),
        not flags & _IFF_NOARP,
    )


def _text(value: bytes) -> str:
    return value.rstrip(b"\0").decode("ascii", "replace")


def read(known: Attributes, held: Mapping[int, bytes]) -> dict[str, int]:
    """The known settings among the attributes that the kernel answered."""
    return {
        name: int(struct.unpack(form, held[number])[0])
        for name, (number, form) in known.items()
        if len(held.get(number, b"")) == struct.calcsize(form)
    }


def packed(known: Attributes, settings: Mapping[str, int]) -> bytes:
    return b"".join(_packed(*known[name], value) for name, value in settings.items())


def _packed(number: int, form: str, value: int) -> bytes:
    return attribute(number, struct.pack(form, value))


def set_own(what: str, index: int, kind: str, data: bytes) -> None:
    """Settings of a link of `kind`. Raises `ApplyFailed`, which begins with `what`."""
    info = attribute(_KIND, kind.encode()) + attribute(_DATA, data)
    change_link(what, index, attribute(LINK_INFO, info))


def set_member(what: str, index: int, kind: str, data: bytes) -> None:
    """Settings of a member of a link of `kind`. Raises `ApplyFailed`."""
    info = attribute(_SLAVE_KIND, kind.encode()) + attribute(_SLAVE_DATA, data)
    change_link(what, index, attribute(LINK_INFO, info))


def set_master(what: str, index: int, master: int) -> None:
    """Make it a member of the link with the index `master`; 0: of none. Raises `ApplyFailed`."""
    change_link(what, index, attribute(MASTER, U32.pack(master)))


def set_mac(what: str, index: int, mac: str) -> None:
    change_link(what, index, attribute(ADDRESS, bytes.fromhex(mac.replace(":", ""))))


def set_up(what: str, index: int, up: bool) -> None:
    _asked(what, NEW_LINK, INFO.pack(0, 0, index, _IFF_UP if up else 0, _IFF_UP))


def change_link(what: str, index: int, body: bytes, *, family: int = 0, kind: int = NEW_LINK) -> None:
    _asked(what, kind, INFO.pack(family, 0, index, 0, 0) + body)


def _asked(what: str, kind: int, body: bytes) -> None:
    try:
        change(kind, body)
    except OSError as error:
        raise ApplyFailed(f"{what}: {error.strerror}", code="netlink") from error


def dumped(kind: int, body: bytes, what: str) -> Iterator[bytes]:
    """As `rtnl_dump.dump`. Raises `Unavailable` saying what cannot be read."""
    try:
        yield from dump(kind, body)
    except OSError as error:
        raise Unavailable(f"{what} cannot be read: {error.strerror}", code="netlink") from error

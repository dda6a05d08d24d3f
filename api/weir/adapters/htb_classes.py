# SPDX-License-Identifier: Apache-2.0
"""HTB classes read by rtnetlink: one in 20 us, or all of an interface in one dump.

`tc -j class show` of iproute2 6.1 prints no JSON, and neither it nor pyroute2 reads a single class;
verifying one change in a tree of 10,000 must not read them all. Layouts: linux/rtnetlink.h
(tcmsg), linux/pkt_sched.h (tc_htb_opt, tc_ratespec).
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass

from weir.model.problem import ApplyFailed

_HEADER = struct.Struct("=IHHII")
_TCMSG = struct.Struct("=BxxxiIII")
_ATTRIBUTE = struct.Struct("=HH")
_RATESPEC_RATE = struct.Struct("=8xI")
_HTB_TAIL = struct.Struct("=IIIII")
_RATESPEC_SIZE = 12

_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_RTM_NEWTCLASS, _RTM_GETTCLASS = 40, 42
_NLM_F_REQUEST, _NLM_F_ECHO, _NLM_F_DUMP = 0x1, 0x8, 0x300
_TCA_OPTIONS, _TCA_KIND = 2, 1
_HTB_PARMS, _HTB_RATE64, _HTB_CEIL64 = 1, 6, 7
_TC_H_ROOT = 0xFFFF_FFFF
_TICK_NS = 64
"""PSCHED_SHIFT is 6: the kernel keeps bursts as multiples of 64 ns at the rate."""
_ANSWER_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class HtbClass:
    """Rates in bit/s, whole bytes per second. `parent_minor` 0 = the tree's root; `priority` 0 is best."""

    minor: int
    parent_minor: int
    rate_bps: int
    ceil_bps: int
    burst_bytes: int
    cburst_bytes: int
    priority: int


def read_all(ifindex: int, major: int) -> dict[int, HtbClass]:
    """The classes of the tree with handle `major:` on an interface, by minor. Raises `ApplyFailed`."""
    return {item.minor: item for item in _ask(ifindex, major, 0, _NLM_F_DUMP)}


def read_one(ifindex: int, major: int, minor: int) -> HtbClass | None:
    """One class, None when there is none (or no such tree). Raises `ApplyFailed`."""
    return next(_ask(ifindex, major, minor, _NLM_F_ECHO), None)


def _ask(ifindex: int, major: int, minor: int, flags: int) -> Iterator[HtbClass]:
    body = _TCMSG.pack(socket.AF_UNSPEC, ifindex, major << 16 | minor if minor else 0, 0, 0)
    head = _HEADER.pack(_HEADER.size + len(body), _RTM_GETTCLASS, _NLM_F_REQUEST | flags, 1, 0)
    deadline = time.monotonic() + _ANSWER_TIMEOUT_S
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as link:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        link.bind((0, 0))
        link.send(head + body)
        while True:
            link.settimeout(max(deadline - time.monotonic(), 1e-3))
            try:
                data = link.recv(1 << 18)
            except OSError as error:
                raise ApplyFailed(f"classes of interface {ifindex}: {error}", code="netlink") from error
            for kind, payload in _messages(data):
                if kind == _NLMSG_DONE or (kind == _NLMSG_ERROR and _ended(payload, ifindex)):
                    return
                if kind == _RTM_NEWTCLASS:
                    yield from _class(payload, major)
                    if flags == _NLM_F_ECHO:
                        return


def _ended(payload: memoryview, ifindex: int) -> bool:
    (number,) = struct.unpack_from("=i", payload)
    if number in (0, -errno.ENOENT, -errno.ENODEV, -errno.EINVAL, -errno.EOPNOTSUPP):
        return True  # no such device, tree or class: nothing to report
    raise ApplyFailed(f"classes of interface {ifindex}: {os.strerror(-number)}", code="netlink")


def _messages(data: bytes) -> Iterator[tuple[int, memoryview]]:
    view = memoryview(data)
    while len(view) >= _HEADER.size:
        length, kind, *_ = _HEADER.unpack_from(view)
        if length < _HEADER.size:
            return
        yield kind, view[_HEADER.size : length]
        view = view[(length + 3) & ~3 :]


def _attributes(view: memoryview) -> dict[int, memoryview]:
    found: dict[int, memoryview] = {}
    while len(view) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(view)
        if length < _ATTRIBUTE.size:
            break
        found[kind & 0x3FFF] = view[_ATTRIBUTE.size : length]
        view = view[(length + 3) & ~3 :]
    return found


def _class(payload: memoryview, major: int) -> Iterator[HtbClass]:
    _, _, handle, parent, _ = _TCMSG.unpack_from(payload)
    attributes = _attributes(payload[_TCMSG.size :])
    kind = bytes(attributes.get(_TCA_KIND, b"")).rstrip(b"\0")
    if handle >> 16 != major or kind != b"htb":
        return
    options = _attributes(attributes[_TCA_OPTIONS])
    parameters = options[_HTB_PARMS]
    rate, ceil = (_rate(parameters, options, place) for place in (0, 1))
    buffer, cbuffer, _, _, priority = _HTB_TAIL.unpack_from(parameters, 2 * _RATESPEC_SIZE)
    yield HtbClass(
        minor=handle & 0xFFFF,
        parent_minor=0 if parent == _TC_H_ROOT else parent & 0xFFFF,
        rate_bps=rate * 8,
        ceil_bps=ceil * 8,
        burst_bytes=_bytes(buffer, rate),
        cburst_bytes=_bytes(cbuffer, ceil),
        priority=priority,
    )


def _rate(parameters: memoryview, options: dict[int, memoryview], place: int) -> int:
    """Bytes per second; beyond 32 bits it is in an attribute of its own."""
    wide = options.get((_HTB_RATE64, _HTB_CEIL64)[place])
    if wide is not None:
        (rate,) = struct.unpack_from("=Q", wide)
    else:
        (rate,) = _RATESPEC_RATE.unpack_from(parameters, place * _RATESPEC_SIZE)
    return int(rate)


def _bytes(ticks: int, bytes_per_s: int) -> int:
    return (ticks * _TICK_NS * bytes_per_s + 500_000_000) // 1_000_000_000

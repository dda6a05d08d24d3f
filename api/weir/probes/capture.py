# SPDX-License-Identifier: Apache-2.0
"""capture: packets of an interface as they come, as pcapng."""

from __future__ import annotations

import fcntl
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress

from weir.probes import packet_filter, pcapng
from weir.probes.output import Gone, Output
from weir.tools.capture import Capture

_ETH_P_ALL = 3
_SOL_PACKET, _PACKET_STATISTICS, _PACKET_AUXDATA = 263, 6, 8
_SO_TIMESTAMPNS = 35
_SIOCGIFHWADDR = 0x8927
_VLAN_VALID, _VLAN_TPID_VALID = 1 << 4, 1 << 6
_OUTGOING = 4
_AUXDATA = struct.Struct("=IIIHHHH")
_TIME = struct.Struct("@qq")
_ETHERNET_TYPES = (1, 772)
"""ARPHRD_ETHER, ARPHRD_LOOPBACK."""
ETHERNET_BYTES = 14
_BUFFER_BYTES = 8 << 20
_CONTROL_BYTES = socket.CMSG_SPACE(_AUXDATA.size) + socket.CMSG_SPACE(_TIME.size)
BLOCK_BYTES = 64
"""What a packet's block has besides the packet, rounded up."""


def run(asked: Capture, output: Output, confine: Callable[[], None], note: str) -> None:
    """`note` is what the file says of itself, about what cannot be in it. Raises `OSError`."""
    with _opened(asked) as handle:
        confine()
        is_ethernet = handle.type == socket.SOCK_RAW
        link = pcapng.ETHERNET if is_ethernet else pcapng.IP
        output.write(pcapng.begin(note, asked.interface, link, asked.packet_bytes))
        with suppress(Gone):  # a run that somebody stops ends as one whose time is over
            _packets(asked, output, handle, is_ethernet)
        received, dropped = struct.unpack("=II", handle.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
        output.write(pcapng.end(time.time_ns(), received, dropped))


def _opened(asked: Capture) -> socket.socket:
    """A socket with its filter, and nothing in it that came before. Only Ethernet has a link header."""
    is_ethernet = _type(asked.interface) in _ETHERNET_TYPES
    handle = socket.socket(socket.AF_PACKET, socket.SOCK_RAW if is_ethernet else socket.SOCK_DGRAM, 0)
    made = packet_filter.program(
        asked.network, asked.protocol, asked.port, ETHERNET_BYTES if is_ethernet else 0
    )
    packet_filter.attach(handle, made)
    handle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
    handle.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    handle.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
    handle.bind((asked.interface, _ETH_P_ALL))
    handle.setblocking(False)
    return handle


def _type(interface: str) -> int:
    """What the kernel calls the kind of link (ARPHRD_*). Raises `OSError`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        answer = fcntl.ioctl(handle, _SIOCGIFHWADDR, struct.pack("16s24x", interface.encode()))
    return int(struct.unpack_from("=H", answer, 16)[0])


def _packets(asked: Capture, output: Output, handle: socket.socket, is_ethernet: bool) -> None:
    until_s, left_bytes = time.monotonic() + asked.seconds, asked.most_bytes
    while time.monotonic() < until_s and output.wait(handle.fileno(), until_s):
        try:
            data, ancillary, _, sender = handle.recvmsg(asked.packet_bytes, _CONTROL_BYTES, socket.MSG_TRUNC)
        except BlockingIOError:
            continue
        at_ns, length, tag = _said(ancillary, len(data))
        if tag and is_ethernet:
            data, length = (data[:12] + tag + data[12:])[: asked.packet_bytes], length + len(tag)
        left_bytes -= len(data) + BLOCK_BYTES
        if left_bytes < 0:
            return
        way = pcapng.OUTBOUND if sender[2] == _OUTGOING else pcapng.INBOUND
        output.write(pcapng.packet(at_ns, data, length, way))


def _said(ancillary: list[tuple[int, int, bytes]], kept: int) -> tuple[int, int, bytes]:
    """When it came (nanoseconds since 1970), how long it was, and the VLAN tag that was taken off it."""
    at_ns, length, tag = time.time_ns(), kept, b""
    for level, kind, value in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
            seconds, nanoseconds = _TIME.unpack_from(value)
            at_ns = seconds * 10**9 + nanoseconds
        elif (level, kind) == (_SOL_PACKET, _PACKET_AUXDATA):
            status, length, _, _, _, vlan, protocol = _AUXDATA.unpack_from(value)
            if status & _VLAN_VALID:
                tag = struct.pack("!HH", protocol if status & _VLAN_TPID_VALID else 0x8100, vlan)
    return at_ns, length, tag

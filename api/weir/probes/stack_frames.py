# SPDX-License-Identifier: Apache-2.0
"""Packets of an interface that the network stack sees, by a packet socket (packet(7))."""

from __future__ import annotations

import fcntl
import socket
import struct
import time

from weir.probes import packet_filter, pcapng
from weir.tools.capture import Capture

AT_ONCE = 256
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
_ETHERNET_BYTES = 14
_BUFFER_BYTES = 8 << 20
_CONTROL_BYTES = socket.CMSG_SPACE(_AUXDATA.size) + socket.CMSG_SPACE(_TIME.size)


class StackFrames:
    """A socket with its filter, and nothing in it that came before. Only Ethernet has a link header."""

    def __init__(self, asked: Capture) -> None:
        """Raises `OSError`."""
        self.is_ethernet = _type(asked.interface) in _ETHERNET_TYPES
        self._kept_bytes = asked.packet_bytes
        self._handle = socket.socket(
            socket.AF_PACKET, socket.SOCK_RAW if self.is_ethernet else socket.SOCK_DGRAM, 0
        )
        made = packet_filter.program(
            asked.network, asked.protocol, asked.port, _ETHERNET_BYTES if self.is_ethernet else 0
        )
        packet_filter.attach(self._handle, made)
        self._handle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        self._handle.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._handle.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
        self._handle.bind((asked.interface, _ETH_P_ALL))
        self._handle.setblocking(False)

    @property
    def descriptor(self) -> int:
        return self._handle.fileno()

    def read(self) -> list[pcapng.Packet]:
        """The next ones; none when all have been read. Raises `OSError`."""
        found: list[pcapng.Packet] = []
        while len(found) < AT_ONCE:
            try:
                data, ancillary, _, sender = self._handle.recvmsg(
                    self._kept_bytes, _CONTROL_BYTES, socket.MSG_TRUNC
                )
            except BlockingIOError:
                break
            at_ns, length, tag = _said(ancillary, len(data))
            if tag and self.is_ethernet:
                data, length = (data[:12] + tag + data[12:])[: self._kept_bytes], length + len(tag)
            way = pcapng.OUTBOUND if sender[2] == _OUTGOING else pcapng.INBOUND
            found.append(pcapng.Packet(at_ns, data, length, way))
        return found

    def sums(self) -> tuple[int, int]:
        """How many passed the filter since the last call, and how many of them the kernel had to drop."""
        received, dropped = struct.unpack("=II", self._handle.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
        return received, dropped

    def close(self) -> None:
        self._handle.close()


def _type(interface: str) -> int:
    """What the kernel calls the kind of link (ARPHRD_*). Raises `OSError`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        answer = fcntl.ioctl(handle, _SIOCGIFHWADDR, struct.pack("16s24x", interface.encode()))
    return int(struct.unpack_from("=H", answer, 16)[0])


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

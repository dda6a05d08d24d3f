# SPDX-License-Identifier: Apache-2.0
"""Whether somebody on the network has an IPv4 address already: the ARP probe of RFC 5227.

Three probes within 0.6 s and an answer awaited until 1 s, where the RFC has 4 to 7 s: that is for hosts which
choose an address themselves. Here a server has chosen it, and a router has customers who wait.
"""

from __future__ import annotations

import socket
import struct
import time

_ETH_P_ARP = 0x0806
_EVERYBODY = b"\xff" * 6
_ARP = struct.Struct("!HHBBH6s4s6s4s")
_ETHERNET_IPV4 = (1, 0x0800, 6, 4)
_REQUEST = 1
_NOBODY = bytes(4)
_MAX_BYTES = 128
PROBES = 3
GAP_S = 0.3
WAIT_S = 1.0


def holder_of(ifname: str, mac: bytes, address: str) -> str:
    """The MAC address of the host that has it, or is about to take it as we are; "" when nobody says so.

    Raises `OSError` where the interface is down or gone.
    """
    wanted = socket.inet_aton(address)
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0) as handle:
        handle.bind((ifname, _ETH_P_ARP))
        started = time.monotonic()
        for number in range(PROBES):
            handle.sendto(probe(mac, wanted), (ifname, _ETH_P_ARP, 0, 0, _EVERYBODY))
            until = started + (GAP_S * (number + 1) if number + 1 < PROBES else WAIT_S)
            while (left_s := until - time.monotonic()) > 0:
                handle.settimeout(left_s)
                try:
                    data, (came_by, *_) = handle.recvfrom(_MAX_BYTES)
                except TimeoutError:
                    break
                # A VLAN interface's frames are heard by its parent's sockets as well.
                if came_by == ifname and (found := claimant(data, mac, wanted)):
                    return found.hex(":")
    return ""


def probe(mac: bytes, address: bytes) -> bytes:
    """A question that nobody learns a wrong address from: it names no sender's (RFC 5227, 2.1.1)."""
    return _ARP.pack(*_ETHERNET_IPV4, _REQUEST, mac, _NOBODY, bytes(6), address)


def claimant(data: bytes, mac: bytes, address: bytes) -> bytes:
    """The MAC address of another station that has the address by this packet, or probes for it."""
    if len(data) < _ARP.size:
        return b""
    *kind, operation, sender_mac, sender, _, target = _ARP.unpack_from(data)
    if tuple(kind) != _ETHERNET_IPV4 or sender_mac == mac:
        return b""
    probes = operation == _REQUEST and sender == _NOBODY and target == address
    return bytes(sender_mac) if sender == address or probes else b""

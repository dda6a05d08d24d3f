# SPDX-License-Identifier: Apache-2.0
"""arping: who on a link says that an address is theirs (RFC 826)."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable

from weir.probes.output import Output
from weir.tools.local import Arping

_ETH_P_ARP = 0x0806
_EVERYBODY = b"\xff" * 6
_ARP = struct.Struct("!HHBBH6s4s6s4s")
_REQUEST, _REPLY = 1, 2
_MAX_BYTES = 128
GAP_S = 1.0


def run(asked: Arping, output: Output, confine: Callable[[], None]) -> None:
    wanted = socket.inet_aton(asked.address)
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0) as handle:
        handle.bind((asked.interface, _ETH_P_ARP))
        handle.setblocking(False)
        confine()
        own = handle.getsockname()[4]
        stations: set[str] = set()
        received = 0
        for number in range(1, asked.count + 1):
            sent_ns, until_s = time.monotonic_ns(), time.monotonic() + GAP_S
            # It names no sender's address, so that nobody learns a wrong one from it (RFC 5227, 2.1.1).
            question = _ARP.pack(1, 0x0800, 6, 4, _REQUEST, own, bytes(4), bytes(6), wanted)
            handle.sendto(question, (asked.interface, _ETH_P_ARP, 0, 0, _EVERYBODY))
            answered = False
            while output.wait(handle.fileno(), until_s):
                data, (came_by, *_) = handle.recvfrom(_MAX_BYTES)
                mac = _claimed(data, wanted)
                # A VLAN interface's frames are heard by its parent's sockets as well.
                if mac is None or mac == own or came_by != asked.interface:
                    continue
                took_us = (time.monotonic_ns() - sent_ns) // 1000
                output.tell("reply", number=number, mac=mac.hex(":"), round_trip_us=took_us)
                stations.add(mac.hex(":"))
                answered = True
            received += answered
            if not answered:
                output.tell("lost", number=number)
    output.tell("summary", sent=asked.count, received=received, stations=len(stations))


def _claimed(data: bytes, wanted: bytes) -> bytes | None:
    """The MAC address of who says in a reply that the address is theirs."""
    if len(data) < _ARP.size:
        return None
    *kind, operation, mac, sender, _, _ = _ARP.unpack_from(data)
    is_answer = tuple(kind) == (1, 0x0800, 6, 4) and operation == _REPLY and sender == wanted
    return bytes(mac) if is_answer else None

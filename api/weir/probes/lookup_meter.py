# SPDX-License-Identifier: Apache-2.0
"""What lookups cost in the running kernel's tables (datapath/loader/meter.c). No packet is sent or seen."""

from __future__ import annotations

import ctypes
import socket
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_uint16, c_uint32, c_void_p
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import NamedTuple

from weir.probes.library import checked

_TRIE = Path("/proc/net/fib_triestat")
_LOOPBACK = "lo"
_FIXED, _FROM = "1.1.1.1", "192.0.2.1"
"""A destination in the internet; a source that nobody has (RFC 5737)."""
_FROM6, _FROM_PORT = "2001:db8::1", 1
_LOCAL = {4: "127.0.0.1", 6: "::1"}


class _Spec(Structure):
    _fields_ = [("ifindex", c_uint32), ("source", c_char * 4), ("destination", c_char * 4)]


class _End(Structure):
    _fields_ = [("address", c_char * 16), ("port", c_char * 2), ("family", c_uint16)]


class RouteTimes(NamedTuple):
    """Of an IPv4 lookup, in ns: always the same destination, and random ones."""

    fixed_ns: int
    random_ns: int


class LookupMeter:
    """Not thread-safe."""

    def __init__(self, library: str) -> None:
        """Raises `OSError`."""
        self._library = ctypes.CDLL(library)
        self._library.weir_error.restype = c_char_p
        self._library.weir_meter_open.argtypes = [POINTER(c_void_p)]
        self._library.weir_meter_close.argtypes = [c_void_p]
        times = [POINTER(c_uint32)]
        self._library.weir_meter_routes.argtypes = [c_void_p, POINTER(_Spec), *times, *times]
        self._library.weir_meter_listener.argtypes = [c_void_p, POINTER(_End), POINTER(_End), *times]
        self._meter = c_void_p()
        checked(self._library, self._library.weir_meter_open(byref(self._meter)))

    def routes(self) -> RouteTimes:
        """As for packets that come in by the loopback interface, so with the rules for all interfaces; about
        2 ms. Raises `OSError`, where forwarding is off too."""
        spec = _Spec()
        spec.ifindex = socket.if_nametoindex(_LOOPBACK)
        _put(spec, "source", IPv4Address(_FROM).packed)
        _put(spec, "destination", IPv4Address(_FIXED).packed)
        fixed, random = c_uint32(), c_uint32()
        checked(
            self._library,
            self._library.weir_meter_routes(self._meter, byref(spec), byref(fixed), byref(random)),
        )
        return RouteTimes(fixed.value, random.value)

    def listener(self, address: str) -> int:
        """The ns until a SYN to `address:port` has its socket, or none; sixteen lookups. Raises `OSError`."""
        host, _, port = address.rpartition(":")
        asked = ip_address(host.strip("[]"))
        if asked.is_unspecified:
            asked = ip_address(_LOCAL[asked.version])
        source = _FROM if asked.version == 4 else _FROM6
        ends = [_end(ip_address(source), _FROM_PORT), _end(asked, int(port))]
        took = c_uint32()
        checked(self._library, self._library.weir_meter_listener(self._meter, *map(byref, ends), byref(took)))
        return took.value

    def close(self) -> None:
        if self._meter:
            self._library.weir_meter_close(self._meter)
            self._meter = c_void_p()


def _end(address: IPv4Address | IPv6Address, port: int) -> _End:
    end = _End()
    end.family = address.version
    _put(end, "address", address.packed)
    _put(end, "port", port.to_bytes(2, "big"))
    return end


def _put(into: Structure, name: str, data: bytes) -> None:
    """As it is: assigning to an array of characters would end at the first 0."""
    ctypes.memmove(ctypes.addressof(into) + getattr(type(into), name).offset, data, len(data))


def route_count() -> int | None:
    """IPv4 prefixes of all tables of this network namespace; None: the kernel does not tell. Raises
    `OSError`."""
    try:
        text = _TRIE.read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    count, table = 0, ""
    for line in text.splitlines():
        if line.endswith(":") and not line.startswith("\t"):
            table = line
        elif line.startswith("\tPrefixes:") and table != "Local:":
            count += int(line.split(":")[1])
    return count

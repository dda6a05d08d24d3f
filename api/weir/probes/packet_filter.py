# SPDX-License-Identifier: Apache-2.0
"""Which packets of an interface are wanted, as a classic BPF program that the kernel runs (bpf(4)).

It is made of what a form says, so there is no language whose texts could be too long or too deep. Offsets are
into what the socket sees, where `link_bytes` of a link header come before the network's.
"""

from __future__ import annotations

import ctypes
import socket
import struct
from ipaddress import ip_network

_LD_W_ABS, _LD_H_ABS, _LD_B_ABS, _LDX_MSH, _LD_H_IND = 0x20, 0x28, 0x30, 0xB1, 0x48
_JEQ, _JSET, _JA, _AND, _RET = 0x15, 0x45, 0x05, 0x54, 0x06
_PROTOCOL_OF_FRAME = 0xFFFFF000
"""SKF_AD_OFF + SKF_AD_PROTOCOL: the EtherType, also where a VLAN tag was taken off."""
_IPV4, _IPV6, _ARP = 0x0800, 0x86DD, 0x0806
_NUMBERS = {"tcp": (6,), "udp": (17,), "icmp": (1, 58)}
_SO_ATTACH_FILTER = 26
_NEXT, _NO = "next", "no"
ALL_BYTES = 0x40000


class _Program:
    """Instructions with jumps by name; every label is behind the jump to it."""

    def __init__(self) -> None:
        self._code: list[tuple[int, str, str, int]] = []
        self._labels: dict[str, int] = {}

    def add(self, code: int, value: int, yes: str = _NEXT, no: str = _NEXT) -> None:
        self._code.append((code, yes, no, value))

    def go(self, name: str) -> None:
        self._code.append((_JA, name, _NEXT, 0))

    def label(self, name: str) -> None:
        self._labels[name] = len(self._code)

    def packed(self) -> list[tuple[int, int, int, int]]:
        def far(at: int, name: str) -> int:
            return 0 if name == _NEXT else self._labels[name] - at - 1

        return [
            (code, 0, 0, far(at, yes)) if code == _JA else (code, far(at, yes), far(at, no), value)
            for at, (code, yes, no, value) in enumerate(self._code)
        ]


def attach(handle: socket.socket, made: list[tuple[int, int, int, int]]) -> None:
    """Give a socket its filter. Raises `OSError`."""
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *item) for item in made))
    handle.setsockopt(
        socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", len(made), ctypes.addressof(code))
    )


def program(
    network: str | None, protocol: str, port: int | None, link_bytes: int
) -> list[tuple[int, int, int, int]]:
    """Instructions (code, jump if true, jump if false, value)."""
    made = _Program()
    v4, v6 = _families(network, protocol)
    made.add(_LD_H_ABS, _PROTOCOL_OF_FRAME)
    if protocol == "arp" or (protocol == "any" and port is None):
        made.add(_JEQ, _ARP, "arp")
    if v4:
        made.add(_JEQ, _IPV4, "v4")
    if v6:
        made.add(_JEQ, _IPV6, "v6")
    made.add(_RET, ALL_BYTES if network is None and protocol == "any" and port is None else 0)
    if protocol == "arp" or (protocol == "any" and port is None):
        made.label("arp")
        if network is not None and v4:
            _ends(made, network, link_bytes + 14, link_bytes + 24, "arp")
        elif network is not None:
            made.add(_RET, 0)
        made.add(_RET, ALL_BYTES)
    if v4:
        made.label("v4")
        _ipv4(made, network, protocol, port, link_bytes)
    if v6:
        made.label("v6")
        _ipv6(made, network, protocol, port, link_bytes)
    made.label(_NO)
    made.add(_RET, 0)
    return made.packed()


def numbers(protocol: str, port: int | None) -> tuple[int, ...]:
    """The protocols of IP that are wanted, by their numbers; none: all of them."""
    return _NUMBERS.get(protocol, _NUMBERS["tcp"] + _NUMBERS["udp"] if port is not None else ())


def _families(network: str | None, protocol: str) -> tuple[bool, bool]:
    if protocol == "arp":
        return network is None or ip_network(network).version == 4, False
    if network is None:
        return True, True
    return ip_network(network).version == 4, ip_network(network).version == 6


def _ipv4(made: _Program, network: str | None, protocol: str, port: int | None, link: int) -> None:
    if protocol == "arp":
        made.add(_RET, 0)
        return
    if network is not None:
        _ends(made, network, link + 12, link + 16, "v4")
    _numbers(made, protocol, port, link + 9, "v4")
    if port is not None:
        made.add(_LD_H_ABS, link + 6)
        made.add(_JSET, 0x1FFF, _NO)  # only the first fragment has ports
        made.add(_LDX_MSH, link)
        made.add(_LD_H_IND, link)
        made.add(_JEQ, port, "v4 port")
        made.add(_LD_H_IND, link + 2)
        made.add(_JEQ, port, _NEXT, _NO)
        made.label("v4 port")
    made.add(_RET, ALL_BYTES)


def _ipv6(made: _Program, network: str | None, protocol: str, port: int | None, link: int) -> None:
    """Extension headers are not followed: their packets are of another protocol."""
    if network is not None:
        _ends(made, network, link + 8, link + 24, "v6")
    _numbers(made, protocol, port, link + 6, "v6")
    if port is not None:
        made.add(_LD_H_ABS, link + 40)
        made.add(_JEQ, port, "v6 port")
        made.add(_LD_H_ABS, link + 42)
        made.add(_JEQ, port, _NEXT, _NO)
        made.label("v6 port")
    made.add(_RET, ALL_BYTES)


def _numbers(made: _Program, protocol: str, port: int | None, at: int, label: str) -> None:
    wanted = numbers(protocol, port)
    if not wanted:
        return
    made.add(_LD_B_ABS, at)
    for number in wanted[:-1]:
        made.add(_JEQ, number, f"{label} number")
    made.add(_JEQ, wanted[-1], _NEXT, _NO)
    made.label(f"{label} number")


def _ends(made: _Program, network: str, source: int, destination: int, label: str) -> None:
    """From or to the network: word by word, as far as its length goes."""
    found = ip_network(network)
    address, mask = found.network_address.packed, found.netmask.packed
    words = [(struct.unpack_from("!I", mask, at)[0], struct.unpack_from("!I", address, at)[0], at)
             for at in range(0, len(mask), 4)]  # fmt: skip
    words = [word for word in words if word[0]]
    for place, (start, missing) in enumerate(((source, f"{label} to"), (destination, _NO))):
        for mask_word, word, at in words:
            made.add(_LD_W_ABS, start + at)
            made.add(_AND, mask_word)
            made.add(_JEQ, word, _NEXT, missing)
        if place == 0:
            made.go(f"{label} found")
            made.label(f"{label} to")
    made.label(f"{label} found")

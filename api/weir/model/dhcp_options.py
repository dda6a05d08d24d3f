# SPDX-License-Identifier: Apache-2.0
"""Options of DHCP (RFC 2132 and IANA's registry of them): their names, and their values as bytes."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address
from typing import Literal, get_args

from weir.model.problem import Invalid
from weir.model.reader import shown

ValueType = Literal["text", "addresses", "number-8", "number-16", "number-32", "hex"]
VALUE_TYPES: tuple[ValueType, ...] = get_args(ValueType)

CODES: dict[str, int] = {
    "time-offset": 2,
    "log-servers": 7,
    "swap-server": 16,
    "root-path": 17,
    "interface-mtu": 26,
    "static-routes": 33,
    "nis-domain": 40,
    "nis-servers": 41,
    "vendor-specific": 43,
    "netbios-name-servers": 44,
    "netbios-node-type": 46,
    "smtp-servers": 69,
    "tftp-server-name": 66,
    "boot-file-name": 67,
    "posix-time-zone": 100,
    "time-zone-name": 101,
    "captive-portal": 114,
    "domain-search": 119,
    "sip-servers": 120,
    "classless-static-routes": 121,
    "capwap-controllers": 138,
    "tftp-server-addresses": 150,
    "proxy-autoconfiguration": 252,
}
OWN: dict[int, str] = {
    1: "the subnet of the interface's address",
    3: "gateway",
    6: "dns_servers",
    12: "hostname of a reservation",
    15: "domain",
    42: "ntp_servers",
    51: "lease_s",
    **dict.fromkeys((50, 52, 53, 54, 55, 56, 57, 58, 59, 61, 81, 82), "the protocol itself"),
}
"""What says them instead."""
MAX_VALUE_BYTES = 255
_NUMBER_BYTES = {"number-8": 1, "number-16": 2, "number-32": 4}
_HEX = re.compile(r"(?:0x)?((?:[0-9a-f]{2}[:\s]?)+)", re.ASCII | re.IGNORECASE)


def code_of(text: str) -> int:
    """The code of an option that is given by its name or its number. Raises `Invalid`."""
    if text in CODES:
        return CODES[text]
    if text.isascii() and text.isdigit() and 1 <= int(text) <= 254:
        return int(text)
    message = f"{shown(text)} is no option's number (1 to 254), and none of {', '.join(CODES)}"
    raise Invalid(message, code="unknown-option")


def value_bytes(kind: str, text: str) -> bytes:
    """A value as it is sent. Raises `Invalid` for one that is not of its type, or longer than 255 bytes."""
    if kind == "text":
        found = text.encode()
    elif kind == "addresses":
        found = _addresses(text)
    elif kind == "hex":
        found = hex_bytes(text)
    else:
        found = _number(text, _NUMBER_BYTES[kind])
    if not 1 <= len(found) <= MAX_VALUE_BYTES:
        raise Invalid(f"has {len(found)} bytes; 1 to {MAX_VALUE_BYTES} can be sent", code="bad-value")
    return found


def hex_bytes(text: str) -> bytes:
    """Bytes as hexadecimal digits, in pairs that colons or blanks may part. Raises `Invalid`."""
    match = _HEX.fullmatch(text.strip())
    if match is None:
        raise Invalid(f"must be bytes such as 0x0a000001 or 0a:00:00:01, not {shown(text)}", code="bad-hex")
    return bytes.fromhex(match[1].replace(":", " "))


def identifier_bytes(text: str) -> bytes:
    """A client-id or circuit-id: bytes when it is written as `0x...` or with colons, else the text itself.
    Raises `Invalid`."""
    return hex_bytes(text) if text.startswith("0x") or _PAIRS.fullmatch(text) else text.encode()


_PAIRS = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2})+", re.ASCII | re.IGNORECASE)


def _addresses(text: str) -> bytes:
    try:
        return b"".join(IPv4Address(part).packed for part in text.replace(",", " ").split())
    except AddressValueError as error:
        message = f"must be IPv4 addresses with blanks between them, not {shown(text)}"
        raise Invalid(message, code="bad-value") from error


def _number(text: str, size: int) -> bytes:
    most = 256**size - 1
    if not (text.isascii() and text.isdigit() and int(text) <= most):
        raise Invalid(f"must be a number of 0 to {most:,}, not {shown(text)}", code="bad-value")
    return int(text).to_bytes(size, "big")

# SPDX-License-Identifier: Apache-2.0
"""The other end of a tunnel: a host, by address or name, with its UDP port."""

from __future__ import annotations

import base64
import binascii

from weir.model.address import parse_host, parse_host_or_name
from weir.model.problem import Invalid
from weir.model.reader import shown

_KEY_BYTES = 32


def parse_endpoint(value: object) -> str:
    """`vpn.example.net:51820` or `[2001:db8::1]:51820` in its one form. Raises `Invalid`."""
    wanted = "must be a host and its port, such as vpn.example.net:51820 or [2001:db8::1]:51820"
    if not isinstance(value, str):
        raise Invalid(f"{wanted}, not {shown(value)}", code="bad-endpoint")
    host, colon, port = value.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit() and len(port) <= 5 and 1 <= int(port) <= 65_535):
        raise Invalid(f"{wanted}, not {shown(value)}", code="bad-endpoint")
    if host[:1] == "[" and host[-1:] == "]" and ":" in host:
        return join_endpoint(parse_host(host[1:-1]), int(port))
    if ":" in host:
        raise Invalid(f"{wanted}: an IPv6 address needs brackets", code="bad-endpoint")
    return join_endpoint(parse_host_or_name(host), int(port))


def split_endpoint(text: str) -> tuple[str, int]:
    """Host without brackets, and port, of an endpoint in its one form."""
    host, _, port = text.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)


def join_endpoint(host: str, port: int) -> str:
    """What `split_endpoint` takes apart."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_key(value: object) -> str:
    """A key of Curve25519 as WireGuard writes it. Raises `Invalid`, which does not repeat it."""
    text = value if isinstance(value, str) else ""
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != _KEY_BYTES or base64.b64encode(key).decode("ascii") != text:
        raise Invalid("must be a WireGuard key: 32 bytes in base64, 44 characters", code="bad-key")
    return text

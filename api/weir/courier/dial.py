# SPDX-License-Identifier: Apache-2.0
"""Connections to who is outside, with a deadline for each step, and what went wrong in plain words."""

from __future__ import annotations

import errno
import smtplib
import socket
import ssl
import struct
from http.client import HTTPException, RemoteDisconnected
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

_RTM_NEWROUTE, _RTM_GETROUTE, _NLM_F_REQUEST, _RTA_DST = 24, 26, 1, 1
_LOCAL, _OF_MANY = 2, (3, 4, 5)
"""Types of routes: to the host itself; of broadcasts, anycasts and multicasts."""
STEP_S = 8.0
"""For so long a connection, a lookup's answer or a line is waited for."""


class Failed(Exception):
    """It was not taken; the message says why."""


def dial(host: str, port: int, kind: socket.SocketKind = socket.SOCK_STREAM) -> socket.socket:
    """The first of a host's addresses that answers. Raises `Failed`: also for the router's own programs,
    which take no commands from a configuration, and for addresses that are no single receiver's
    everywhere."""
    try:
        found = socket.getaddrinfo(host, port, type=kind)
    except socket.gaierror as error:
        raise Failed(f"{host} is not known to the name servers: {error.strerror}") from error
    reasons = [_refused(str(place[0])) for _, _, _, _, place in found]
    places = [(item[0], item[4]) for item, why in zip(found, reasons, strict=True) if not why]
    if not places:
        raise Failed(f"{host} is {reasons[0]}")
    for family, place in places[:4]:
        handle = socket.socket(family, kind)
        handle.settimeout(STEP_S)
        try:
            handle.connect(place)
            return handle
        except OSError as error:
            handle.close()
            failed = Failed(f"{place[0]} port {port}: {words_of(error)}")
    raise failed


def _refused(text: str) -> str:
    """What an address is to which nothing is sent; nothing for one that may be dialed, such as one of the
    operator's private networks."""
    address = ip_address(text.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None) or address
    kind = _route_type(mapped)
    if mapped.is_loopback or mapped.is_unspecified or kind == _LOCAL:
        return "this router itself"
    if mapped.is_link_local:  # where clouds tell a machine's credentials
        return "a link-local address, to which nothing is sent"
    if mapped.is_multicast or kind in _OF_MANY:
        return "a multicast, broadcast or anycast address, to which nothing is sent"
    return ""


def _route_type(address: IPv4Address | IPv6Address) -> int:
    """Where the kernel would take a packet to it (rtnetlink(7), RTM_GETROUTE), whichever table says so; 0
    where it has no way there."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    raw = address.packed
    asked = struct.pack("=8B I HH", family, len(raw) * 8, *[0] * 6, 0, len(raw) + 4, _RTA_DST) + raw
    head = struct.pack("=IHHII", len(asked) + 16, _RTM_GETROUTE, _NLM_F_REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW) as kernel:
        kernel.send(head + asked)
        answer = kernel.recv(8192)
    (kind,) = struct.unpack_from("=H", answer, 4)
    return answer[16 + 7] if kind == _RTM_NEWROUTE else 0


def trusting(ca_bundle: str) -> ssl.SSLContext:
    """What checks a server's certificate and its name. Raises `Failed`."""
    try:
        return ssl.create_default_context(cafile=ca_bundle or None)
    except (OSError, ssl.SSLError) as error:
        raise Failed(f"the list of certificate authorities cannot be read: {error}") from error


def words_of(error: Exception) -> str:
    """What went wrong, for a person."""
    cause = error.__context__
    if isinstance(error, smtplib.SMTPServerDisconnected) and isinstance(cause, OSError):
        return words_of(cause)  # smtplib says the same of every end
    match error:
        case Failed():
            return str(error)
        case ssl.SSLCertVerificationError():
            return f"its certificate is not accepted: {error.verify_message}"
        case ssl.SSLError():
            return f"no TLS came about: {(error.reason or str(error)).replace('_', ' ').lower()}"
        case TimeoutError(errno=errno.ETIMEDOUT):
            return "it does not answer any more"
        case TimeoutError():
            return f"it did not answer within {STEP_S:.0f} s"
        case ConnectionRefusedError():
            return "it refused the connection"
        case (
            ConnectionResetError()
            | BrokenPipeError()
            | RemoteDisconnected()
            | smtplib.SMTPServerDisconnected()
        ):
            return "it cut off the connection"
        case smtplib.SMTPResponseException():
            return f"it answered {reply(error.smtp_code, error.smtp_error)}"
        case smtplib.SMTPNotSupportedError():
            return f"it does not offer what is needed: {error}"
        case HTTPException():
            return f"what it answered is no HTTP: {type(error).__name__}"
        case OSError():
            return error.strerror or str(error)
    return str(error)


def reply(code: int, text: Any) -> str:
    """An answer of SMTP: its code and its text."""
    said = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    return f"{code} {said}".strip()

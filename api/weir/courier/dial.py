# SPDX-License-Identifier: Apache-2.0
"""Connections to who is outside, with a deadline for each step, and what went wrong in plain words."""

from __future__ import annotations

import smtplib
import socket
import ssl
from http.client import HTTPException, RemoteDisconnected
from ipaddress import ip_address
from typing import Any

STEP_S = 8.0
"""For so long a connection, a lookup's answer or a line is waited for."""


class Failed(Exception):
    """It was not taken; the message says why."""


def dial(host: str, port: int, kind: socket.SocketKind = socket.SOCK_STREAM) -> socket.socket:
    """The first of a host's addresses that answers. Raises `Failed`: also for the router's own programs,
    which take no commands from a configuration."""
    try:
        found = socket.getaddrinfo(host, port, type=kind)
    except socket.gaierror as error:
        raise Failed(f"{host} is not known to the name servers: {error.strerror}") from error
    places = [(family, place) for family, _, _, _, place in found if not _is_own(str(place[0]))]
    if not places:
        raise Failed(f"{host} is this router itself")
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


def _is_own(text: str) -> bool:
    address = ip_address(text.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_loopback or mapped.is_unspecified)


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

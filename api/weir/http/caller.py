# SPDX-License-Identifier: Apache-2.0
"""From where a request comes to the router, and where it arrives: what a change must not cut off unseen.

What a socket of the router saw is believed: the API's own, that of the proxy on the router itself
(`X-Forwarded-For` and `X-Weir-Reached`, which nginx replaces), and that of the SSH server, which the command
line repeats (`X-Weir-SSH`). A proxy elsewhere is a caller as any other: who comes by it is cut off with it.
What is told here protects the caller from himself and gives no rights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv6Address, ip_address
from typing import Any

from weir.accounts.principal import Caller
from weir.http.serving import REACHED

_PROXY_SAW = "HTTP_X_WEIR_REACHED"
_SSH_SAW = "HTTP_X_WEIR_SSH"
_ORIGINAL = "werkzeug.proxy_fix.orig"


def caller_of(environ: Mapping[str, Any], trusted_proxies: int) -> Caller:
    """Of a request's environment; `trusted_proxies` as in the settings."""
    seen = {**environ, **environ.get(_ORIGINAL, {})}
    peer = _address(str(seen.get("REMOTE_ADDR") or ""))
    if peer is None:
        return Caller(unknown="you come by a socket of the router itself")
    if not ip_address(peer).is_loopback:
        return _arrived(peer, *(seen.get(REACHED) or ("", 0))[:2])
    forwarded = str(seen.get("HTTP_X_FORWARDED_FOR") or "").rpartition(",")[2].strip()
    if not forwarded:
        return _by_ssh(str(environ.get(_SSH_SAW) or ""))
    source = _address(forwarded) if trusted_proxies else None
    if source is None:
        return Caller(unknown="you come by a proxy on the router, which is not believed")
    if ip_address(source).is_loopback:
        return Caller(unknown="you come from the router itself; who is behind that is not known")
    reached, _, port = str(environ.get(_PROXY_SAW) or "").partition(" ")
    return _arrived(source, reached, port)


def _by_ssh(connection: str) -> Caller:
    """`SSH_CONNECTION` of sshd(8): the far end's address and port, and the router's."""
    words = connection.split()
    source = _address(words[0]) if len(words) == 4 else None
    if source is None or ip_address(source).is_loopback:
        return Caller(unknown="you come from the router itself; who is behind that is not known")
    return replace(_arrived(source, words[2], words[3]), is_repeated=True)


def _arrived(source: str, reached: object, port: object) -> Caller:
    own = _address(str(reached))
    number = int(str(port)) if str(port).isascii() and str(port).isdigit() else 0
    if own is None or not 0 < number < 65_536 or ip_address(own).is_unspecified:
        why = "which of the router's addresses and ports you came to is not known"
        return Caller(source, unknown=why)
    here, there = ip_address(own), ip_address(source)
    if there.is_link_local or here.is_link_local:
        why = "you come by a link-local address, which does not say by which interface"
        return Caller(source, unknown=why)
    if here.version != there.version:
        return Caller(source, unknown="your address and the router's are of two families")
    return Caller(source, own, number)


def _address(text: str) -> str | None:
    """As it is written canonically, IPv4 in IPv6 as IPv4; None for what is none."""
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(found)

# SPDX-License-Identifier: Apache-2.0
"""ARP on an interface: for whom the router answers, and which hosts it believes (RFC 826)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from weir.fields import Host, Mac

ArpMode = Literal["on", "proxy", "local-proxy", "reply-only"]
MODES: tuple[ArpMode, ...] = ("on", "proxy", "local-proxy", "reply-only")
GUARDED: ArpMode = "reply-only"


@dataclass(frozen=True, slots=True)
class KnownHost:
    """A host that has no lease and no reservation of a DHCP server."""

    address: Annotated[str, Host(help="An address of the interface's networks.", example="192.168.88.9")]
    mac: Annotated[str, Mac(label="MAC address", help="The only hardware address that it is believed at.")]

# SPDX-License-Identifier: Apache-2.0
"""Protocols that announce further connections (docs/adr/0263)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from weir.fields import Choice, Many, Port, Prefix

MAX_PORTS, _MAX_SERVERS = 8, 64


class Spoken(NamedTuple):
    """What a helper understands: by which protocols it is carried, and at which port its servers are."""

    protocols: tuple[str, ...]
    port: int
    title: str


SPOKEN = {
    "ftp": Spoken(("tcp",), 21, "FTP"),
    "pptp": Spoken(("tcp",), 1723, "PPTP"),
    "sip": Spoken(("udp", "tcp"), 5060, "SIP"),
    "tftp": Spoken(("udp",), 69, "TFTP"),
}
"""The helpers that the kernel of the image has (board/kernel/fragments/50-netfilter.config)."""


@dataclass(frozen=True, slots=True)
class ConnectionHelper:
    """Reads what connections of one protocol say, and lets pass the connections that they announce."""

    helper: Annotated[str, Choice(*sorted(SPOKEN), help="The protocol.")]
    ports: Annotated[
        tuple[int, ...],
        Many(
            Port(),
            MAX_PORTS,
            help="The servers' ports. Empty: the usual one, which is 21 (ftp), 1723 (pptp), 5060 (sip) or "
            "69 (tftp).",
            example="21",
        ),
    ] = ()
    servers: Annotated[
        tuple[str, ...],
        Many(
            Prefix(),
            _MAX_SERVERS,
            help="Of connections that begin inside, those to these networks have the helper. Empty: all.",
            example="192.0.2.0/24",
        ),
    ] = ()

    @property
    def at(self) -> tuple[int, ...]:
        """The servers' ports."""
        return self.ports or (SPOKEN[self.helper].port,)

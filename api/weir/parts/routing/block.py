# SPDX-License-Identifier: Apache-2.0
"""FRR's configuration as data: blocks of lines in the spelling in which FRR prints them."""

from __future__ import annotations

from dataclasses import dataclass, field

from weir.model.objects import Kind

Path = tuple[str, ...]
"""A line of FRR's configuration below the blocks that it is in: ("router bgp 65000", "bgp router-id
192.0.2.1")."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a list that FRR numbers: `head` follows the number, `lines` are in its block."""

    head: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Peer:
    """A session of a block: the object that configures it, and how FRR knows it."""

    object: tuple[Kind, str]
    address: str
    vrf: str


@dataclass(frozen=True, slots=True)
class Block:
    """A block that is Weir's as a whole, by its first line (or `ip prefix-list NAME`, `route-map NAME`).

    `lines` are paths below the header. `entries` are those of a numbered list. `daemons` have to run and to
    hold it; a list's are those of the protocols. `{place}` in a line stands for the secret of that place,
    sealed in `secrets`. `refreshed` are lists, or lines without their
    last word, and the command that makes the daemon take one that changes into account: it does not itself.
    """

    header: str
    lines: tuple[Path, ...] = ()
    entries: tuple[Entry, ...] = ()
    daemons: frozenset[str] = frozenset()
    owner: tuple[Kind, str] | None = None
    peers: tuple[Peer, ...] = ()
    secrets: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    refreshed: tuple[tuple[str, str], ...] = ()

    @property
    def is_numbered(self) -> bool:
        return self.header.startswith(("ip prefix-list ", "ipv6 prefix-list ", "route-map "))

# SPDX-License-Identifier: Apache-2.0
"""Bonds in the kernel (linux/if_link.h, IFLA_BOND_*): settings, members, and what LACP agreed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from weir.adapters import link_messages as messages
from weir.adapters.link_messages import Attributes, RawLink
from weir.adapters.rtnl_dump import attribute, attributes

KIND = "bond"
SETTINGS: Attributes = {"miimon": (3, "=I"), "hash_policy": (14, "=B"), "min_links": (18, "=I")}
_PORTS: Attributes = {"active": (2, "=I"), "primary": (11, "=I")}
_PRIMARY: Attributes = {"primary": _PORTS["primary"]}
COUPLED_CONTROL = 32
_AD_INFO, _PARTNER = 23, 5
_MEMBER: Attributes = {
    "state": (1, "=B"),
    "link": (2, "=B"),
    "failures": (3, "=I"),
    "aggregator": (6, "=H"),
    "actor": (7, "=B"),
    "partner": (8, "=H"),
}
_STATES = ("active", "backup")
_LINKS = ("up", "going down", "down", "coming up")
_SYNC, _DEFAULTED, _EXPIRED = 0x08, 0x40, 0x80
"""Of a port's state in LACP (IEEE 802.1AX, 6.4.2.3)."""


class HeldMember(NamedTuple):
    """What a bond says of one of its members; `lacp` and `aggregator` where it speaks LACP."""

    state: str
    link: str
    failures: int
    lacp: str | None
    aggregator: int | None


@dataclass(frozen=True, slots=True)
class HeldBond:
    """`primary` and `active` are members, "" = none; `partner` is the other end's address in LACP."""

    settings: Mapping[str, int]
    primary: str
    active: str
    partner: str


@dataclass(frozen=True, slots=True)
class HeldLink:
    """Any interface. `master` "" = it belongs to none; `member` where that is a bond."""

    up: bool
    master: str
    member: HeldMember | None


def read() -> tuple[dict[str, HeldBond], dict[str, HeldLink]]:
    """All bonds, and all interfaces. Raises `Unavailable`."""
    found = messages.links()
    names = {link.index: link.name for link in found}
    bonds = {link.name: _bond(link, names) for link in found if link.kind == KIND}
    links = {}
    for link in found:
        master = names.get(link.master, "")
        links[link.name] = HeldLink(link.up, master, _member(link) if master in bonds else None)
    return bonds, links


def _bond(link: RawLink, names: Mapping[int, str]) -> HeldBond:
    ports = messages.read(_PORTS, link.data)
    partner = attributes(link.data.get(_AD_INFO, b"")).get(_PARTNER, b"")
    return HeldBond(
        messages.read(SETTINGS, link.data),
        names.get(ports.get("primary", 0), ""),
        names.get(ports.get("active", 0), ""),
        partner.hex(":") if any(partner) else "",
    )


def _member(link: RawLink) -> HeldMember:
    said = messages.read(_MEMBER, link.member_data)
    return HeldMember(
        _STATES[min(said.get("state", 1), 1)],
        _LINKS[min(said.get("link", 2), 3)],
        said.get("failures", 0),
        _agreed(said["actor"], said.get("partner", 0)) if "actor" in said else None,
        said.get("aggregator"),
    )


def _agreed(actor: int, partner: int) -> str:
    if actor & _DEFAULTED:
        return "no partner"
    if actor & _EXPIRED:
        return "silent partner"
    return "in sync" if actor & _SYNC and partner & _SYNC else "negotiating"


def set_bond(name: str, index: int, settings: Mapping[str, int]) -> None:
    """Raises `ApplyFailed`."""
    messages.set_own(f"bond {name}", index, KIND, messages.packed(SETTINGS, settings))


def set_primary(name: str, index: int, primary: int) -> None:
    """The index of the member that carries when it can; 0: none. Raises `ApplyFailed`."""
    data = messages.packed(_PRIMARY, {"primary": primary})
    messages.set_own(f"bond {name}: primary", index, KIND, data)


def collect_before_distributing(name: str, index: int) -> None:
    """A new member takes frames once the other end agrees, and sends some once the other end says that it
    takes them: independent control of LACP (IEEE 802.1AX-2014, 6.4.15). Kernels before Linux 6.9 know coupled
    control alone, and ignore this.

    The bond speaks LACP, and is down. Raises `ApplyFailed`.
    """
    messages.set_own(f"bond {name}: LACP", index, KIND, attribute(COUPLED_CONTROL, b"\0"))

# SPDX-License-Identifier: Apache-2.0
"""Which ports' packets leave by another port as well: VLAN interfaces, tunnels, PPP, bridges, bonds.

Both have the egress program, and a packet is to be charged by the first only: what it leaves by first is
`CARRIED` (and `TRUNK`), what it may leave by then is `TRUNK`. VLAN interfaces on a port are `TAGGED`: the
port below knows their packets by the tag, in XDP as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from weir.adapters.datapath_records import NO_TAG, Role, Tag
from weir.adapters.netlink import Link

_LEAVES_ITSELF = frozenset(("physical", "veth", "tun", "dummy", "ifb", "vrf", "loopback", "wireguard"))
"""Kinds whose packets leave the machine there, or come out of it as others: without the mark of ours."""
_ON_ONE = frozenset(("vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec"))
OVER_MEMBERS = frozenset(("bridge", "bond", "team"))


def stacking(link: Link, links: Mapping[str, Link], ports: Iterable[str]) -> tuple[Role, Tag]:
    """The roles of a port that come of what is above and below it, and the tag if it is TAGGED.

    One tag, that is: a VLAN interface on another is carried like a tunnel.
    """
    found = [links[name] for name in ports if name in links]
    lower = _below(link, found)
    if lower is not None:
        roles, tag = Role.TAGGED, Tag(lower.index, *link.vlan)
    else:
        roles, tag = (Role.NOTHING if link.kind in _LEAVES_ITSELF else Role.CARRIED | Role.TRUNK), NO_TAG
    if any(_may_leave_by(other, link, links) for other in found if other.index != link.index):
        roles |= Role.TRUNK
    return roles, tag


def _below(link: Link, ports: Iterable[Link]) -> Link | None:
    """The port that a VLAN interface is on, unless that is one itself."""
    if link.kind != "vlan":
        return None
    return next((port for port in ports if port.index == link.lower and port.kind != "vlan"), None)


def _may_leave_by(above: Link, link: Link, links: Mapping[str, Link]) -> bool:
    """A tunnel's packets take any way that there is a route for; others only those that they are on."""
    if above.kind in _LEAVES_ITSELF:
        return False
    if above.kind not in _ON_ONE | OVER_MEMBERS:
        return True
    passed: list[Link] = []
    ahead = [above]
    while ahead:
        here = ahead.pop()
        passed.append(here)
        ahead += [other for other in links.values() if _is_under(other, here) and other not in passed]
    return link in passed


def _is_under(other: Link, link: Link) -> bool:
    if link.kind in OVER_MEMBERS:
        return other.master == link.index
    return link.kind in _ON_ONE and other.index == link.lower

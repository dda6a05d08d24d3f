# SPDX-License-Identifier: Apache-2.0
"""BGP's blocks. No peer groups: FRR loses neighbours when a group changes (FRR issues 15574, 17541)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from weir.kinds.bgp import REDISTRIBUTED, Bgp
from weir.kinds.bgp_neighbor import BgpNeighbor
from weir.kinds.prefix_list import PrefixList
from weir.kinds.secrets import place_of
from weir.model.document import Document
from weir.parts.routing.block import Block, Path, Peer
from weir.parts.routing.filters import list_header

DEFAULT_TIMERS = (60, 180)
"""FRR prints no others."""
STANDING = ("bgp graceful-restart", "bgp graceful-restart preserve-fw-state")
"""With these zebra keeps the routes of a bgpd that ended, and peers keep what they were told (RFC 4724)."""


def bgp(document: Document) -> Iterator[Block]:
    for item in sorted(document.every(Bgp), key=lambda item: item.id):
        if not item.disabled:
            yield _block(document, item)


def header_of(item: Bgp) -> str:
    return f"router bgp {item.asn}" + (f" vrf {item.vrf}" if item.vrf else "")


def _block(document: Document, item: Bgp) -> Block:
    neighbors = sorted(
        (n for n in document.every(BgpNeighbor) if n.bgp == item.id and not n.disabled), key=lambda n: n.id
    )
    own = [("no bgp default ipv4-unicast",), *((line,) for line in STANDING)]
    if item.router_id is not None:
        own.append((f"bgp router-id {item.router_id}",))
    lists = {found.id: found.family for found in document.every(PrefixList)}
    sessions: list[Path] = [(line,) for neighbor in neighbors for line in _session(item, neighbor)]
    families = [path for family in ("ipv4", "ipv6") for path in _family(item, neighbors, family, lists)]
    vrf = item.vrf or "default"
    return Block(
        header_of(item),
        (*own, *sessions, *families),
        daemons=frozenset(("bgpd",)),
        owner=("bgp", item.id),
        peers=tuple(Peer((n.kind, n.id), n.address, vrf) for n in neighbors),
        secrets=tuple(
            (place_of(n.kind, n.id, "password"), n.password) for n in neighbors if n.password is not None
        ),
        refreshed=tuple(_refreshed(document, neighbors, vrf)),
    )


def _session(item: Bgp, neighbor: BgpNeighbor) -> Iterator[str]:
    start = f"neighbor {neighbor.address}"
    yield f"{start} remote-as {neighbor.remote_as}"
    if neighbor.description:
        yield f"{start} description {' '.join(neighbor.description.split())}"
    if neighbor.bfd is not None:
        yield f"{start} bfd"
        yield f"{start} bfd profile {neighbor.bfd}"
    if neighbor.passive:
        yield f"{start} passive"
    if neighbor.multihop is not None and neighbor.remote_as != item.asn:
        yield f"{start} ebgp-multihop {neighbor.multihop}"
    if neighbor.password is not None:
        yield f"{start} password {{{place_of(neighbor.kind, neighbor.id, 'password')}}}"
    if neighbor.hold_s is not None:
        pair = (neighbor.keepalive_s or max(neighbor.hold_s // 3, 1), neighbor.hold_s)
        if pair != DEFAULT_TIMERS:
            yield f"{start} timers {pair[0]} {pair[1]}"
    if neighbor.update_source is not None:
        yield f"{start} update-source {neighbor.update_source}"
    if ":" in neighbor.address and "ipv4" in neighbor.families:
        yield f"{start} capability extended-nexthop"


def _family(item: Bgp, neighbors: list[BgpNeighbor], family: str, lists: Mapping[str, str]) -> Iterator[Path]:
    context = f"address-family {family} unicast"
    is_v6 = family == "ipv6"
    own = [f"network {network}" for network in item.networks if (":" in network) == is_v6]
    policy = f" route-map {item.redistribute_route_map}" if item.redistribute_route_map else ""
    for protocol in REDISTRIBUTED:
        if getattr(item, f"redistribute_{protocol}") and not (is_v6 and protocol == "ospf"):
            own.append(f"redistribute {protocol}{policy}")
    exchanged = [line for n in neighbors if family in n.families for line in _exchange(n, family, lists)]
    paths = [f"maximum-paths {item.multipath}", f"maximum-paths ibgp {item.multipath}"]
    yield from ((context, line) for line in (*own, *exchanged, *(paths if own or exchanged else ())))


def _exchange(neighbor: BgpNeighbor, family: str, lists: Mapping[str, str]) -> Iterator[str]:
    start = f"neighbor {neighbor.address}"
    yield f"{start} activate"
    if neighbor.route_reflector_client:
        yield f"{start} route-reflector-client"
    if neighbor.next_hop_self:
        yield f"{start} next-hop-self"
    if neighbor.default_originate:
        yield f"{start} default-originate"
    if not neighbor.send_community:
        yield f"no {start} send-community all"
    for way, word in (("import", "in"), ("export", "out")):
        for field, command in (("prefix_list", "prefix-list"), ("route_map", "route-map")):
            name = getattr(neighbor, f"{way}_{field}")
            if name is not None and (field == "route_map" or lists.get(name) == family):
                yield f"{start} {command} {name} {word}"
    if neighbor.maximum_prefixes is not None:
        yield f"{start} maximum-prefix {neighbor.maximum_prefixes}"


def _refreshed(document: Document, neighbors: list[BgpNeighbor], vrf: str) -> Iterator[tuple[str, str]]:
    """bgpd looks at routes again when a map changes or another list is named, and not when a named list
    changes."""
    for neighbor in neighbors:
        found = document.get("prefix-list", neighbor.import_prefix_list or "")
        if isinstance(found, PrefixList):
            where = f"vrf {vrf} " if vrf != "default" else ""
            yield list_header(found), f"clear bgp {where}{found.family} {neighbor.address} soft in"

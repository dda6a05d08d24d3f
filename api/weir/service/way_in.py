# SPDX-License-Identifier: Apache-2.0
"""Whether the caller still reaches the router after a change (docs/adr/0241). Pure.

What two documents say of one caller's way is compared: the interface and what it is made of, the address
that the caller came to, the rules that decide about a new connection and about its answers, and the way back.
Where something counts that was not looked at, the answer is that it is not known, never that the caller
stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from weir.accounts.principal import Caller
from weir.kinds.firewall_rule import RAW
from weir.kinds.static_route import StaticRoute
from weir.kinds.wireguard_peer import WireguardPeer
from weir.model.address import split_address
from weir.model.document import Document
from weir.model.interface import Interface, members_of
from weir.model.objects import Kind
from weir.model.prefix import parse_prefix
from weir.parts.decision import Packet, Rules, Walk, redirected
from weir.parts.filter import OUTGOING
from weir.parts.rule import BEFORE_TRACKING, PacketRule
from weir.service.deciders import Decider, configured_way, decider, mac_in_rules, names_in_rules

Fate = Literal["stays", "cuts-off-you", "not-known"]
FATES: tuple[Fate, ...] = ("stays", "cuts-off-you", "not-known")
LOOKED_AT = frozenset[Kind](
    (
        *("interface", "static-route", "wireguard-peer", "ssh-server", "ssh-key"),
        *("firewall", "firewall-rule", "nat-rule", "service", "set", "set-entry", "zone", "zone-policy"),
        *("management", "certificate"),
    )
)
HARMLESS = frozenset[Kind](
    (
        *("queue", "queue-type", "alert-rule", "alert-target", "syslog-target"),
        *("identity", "job", "dns", "dns-block-list", "dns-forward", "dns-record", "ntp"),
    )
)
"""What decides nothing about packets between a caller and the router. Of all other kinds it is not known."""
_MADE = ("wireguard", "vxlan", "gre", "pppoe", "bridge", "bond", "vrf_table", "loopback")
_LEARNT = ("addressing", "ipv6_addressing", "dhcpv6", "delegated", "pppoe", "disabled")


@dataclass(frozen=True, slots=True)
class YourWay:
    """`kind` and `id`: the object that cuts the caller off. None where that is no single one."""

    fate: Fate
    text: str
    kind: Kind | None = None
    id: str | None = None
    address: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one document says of a caller's way. `refused` is None where rules let in and answers out."""

    came: str
    interface: Interface | None
    under: tuple[Interface, ...]
    holder: str | None
    learnt: tuple[object, ...]
    back: str | None
    routes: frozenset[object]
    peer: WireguardPeer | None
    refused: Decider | None
    unsure: tuple[tuple[str, tuple[PacketRule, ...]], ...]
    """What only the kernel knows of the rules, and which of them hold at other hours; with the rule, and what
    follows if it matches."""


def look(document: Document, rules: Rules, caller: Caller, came: str, at: datetime) -> Seen:
    """`came` is the interface by which the caller comes to what runs; `at` the router's local time."""
    item = _behind_master(document, came)
    walk = Walk()
    refused = None if item is None else _refused(document, rules, caller, item, at, walk)
    interfaces = sorted(document.interfaces(), key=lambda each: each.id)
    doubted = [*walk.doubted.items(), *((_at_other_hours(rule), rule) for rule in walk.resting)]
    return Seen(
        came,
        item,
        tuple(_made_on(document, item)),
        next((each.id for each in interfaces if caller.reached in _answers_at(each)), None),
        tuple((each.id, *(getattr(each, name) for name in _LEARNT)) for each in interfaces),
        configured_way(document, caller.address),
        frozenset(_routes(document)),
        None if item is None else _peer(document, item, caller),
        refused,
        tuple((text, (rule, *rules.below(rule))) for text, rule in doubted),
    )


def _at_other_hours(rule: PacketRule) -> str:
    return f"{decider(rule, 'input').text} at other hours"


def compare(before: Seen, after: Seen, caller: Caller, changed: Set[Kind]) -> YourWay:
    """What becomes of the caller."""
    doubt = _no_start(before, caller)
    if not doubt:
        for cut in (*_by_links(before, after), *_by_address(before, after, caller), *_by_rules(after)):
            return replace(cut, address=caller.address)
        for cut in _by_way_back(before, after, caller):
            return replace(cut, address=caller.address)
        doubt = next(_doubts(before, after, caller, changed), "")
    if doubt:
        return YourWay("not-known", doubt, address=caller.address)
    came = after.came if after.interface is None else after.interface.id
    text = f"a new connection from {caller.address} by {came} to {_place(caller)} would still be taken"
    return YourWay("stays", text, address=caller.address)


def _place(caller: Caller) -> str:
    return f"{caller.reached} port {caller.port}"


def _no_start(before: Seen, caller: Caller) -> str:
    """Why nothing can be said of what is to come: how the caller is let in today is not understood."""
    if before.interface is None:
        return f"{before.came}, by which you come, is no interface that is configured"
    if before.interface.vrf is not None:
        return f"you come by {before.came}, which is in a VRF: ways in VRFs are not looked at"
    if caller.is_repeated and before.holder is None:
        return f"{caller.reached}, to which your SSH session leads, is not configured here"
    if before.refused is not None:
        return (
            f"the configuration that runs would refuse {caller.address} ({before.refused.text}), and yet you "
            "are here: something else leads you in"
        )
    return ""


def _by_links(before: Seen, after: Seen) -> Iterator[YourWay]:
    """The interface, and what it is made on."""
    old, new = before.interface, after.interface
    assert old is not None
    if new is None:
        yield _cut(f"{old.id}, by which you come, would be gone or disabled", "interface", old.id)
        return
    if new.vrf is not None or new.vrf_table is not None:
        text = f"{new.id} would be in a VRF, where the router's own services do not answer"
        yield _cut(text, "interface", new.id)
    if new.id == old.id and new.vlan != old.vlan:
        yield _cut(f"{new.id}, by which you come, would be another VLAN", "interface", new.id)
    there = {item.id for item in before.under if not item.disabled}
    for item in after.under:
        if item.disabled and item.id in there:
            text = f"{item.id} would be disabled, and {new.id}, by which you come, is made on it"
            yield _cut(text, "interface", item.id)
    if before.peer is not None and (
        after.peer is None or _key(after.peer) != _key(before.peer) or after.peer.id != before.peer.id
    ):
        text = f"what {new.id} gets from you would not be taken: peer {before.peer.id} would change or go"
        yield _cut(text, "wireguard-peer", before.peer.id)


def _by_address(before: Seen, after: Seen, caller: Caller) -> Iterator[YourWay]:
    if before.holder is not None and after.holder is None:
        text = f"the router would not have the address {caller.reached}, at which you reach it"
        yield _cut(text, "interface", before.holder)
    old, new = before.interface, after.interface
    if before.holder is not None or after.holder is not None or old is None or new is None:
        return
    by_dhcp = parse_prefix(caller.reached).family == 4 and old.addressing == "dhcp"
    if by_dhcp and new.addressing != "dhcp":
        text = f"{old.id} would not ask DHCP any more, and {caller.reached} is not configured"
        yield _cut(text, "interface", old.id)


def _by_rules(after: Seen) -> Iterator[YourWay]:
    if after.refused is not None:
        text = f"a new connection of yours would be refused: {after.refused.text}"
        yield _cut(text, after.refused.kind, after.refused.id)


def _by_way_back(before: Seen, after: Seen, caller: Caller) -> Iterator[YourWay]:
    """Where the configuration says the way back today, it has to say it then."""
    if after.interface is None or before.back != before.came or after.back == after.interface.id:
        return
    where = "no way that is configured would lead" if after.back is None else f"{after.back} would lead"
    text = f"{where} back to {caller.address}, and not {after.interface.id}, by which you come"
    if after.back is None:
        text = f"{where} back to {caller.address}"
    yield _cut(text, None, None)


def _doubts(before: Seen, after: Seen, caller: Caller, changed: Set[Kind]) -> Iterator[str]:
    """What counts and was not looked at."""
    others = sorted(changed - LOOKED_AT - HARMLESS)
    if others:
        yield f"what a change of {', '.join(others)} does to your way is not looked at"
    old, new = before.interface, after.interface
    if old is not None and new is not None:
        if old.id != new.id:
            yield f"you would come by {new.id} and not by {old.id}: how that is made is not looked at"
        made = [name for name in _MADE if getattr(old, name) != getattr(new, name)]
        if made:
            yield f"{new.id}, by which you come, would be made in another way ({', '.join(made)})"
        parents = {item.id: item for item in before.under}
        for item in after.under:
            if _link_of(item) != _link_of(parents.pop(item.id, None)):
                yield f"{item.id}, which {new.id} is made on, would change"
        for name in parents:
            yield f"{name}, which {new.id} is made on, would not be configured any more"
    if _session_of(before.peer) != _session_of(after.peer):
        yield f"peer {'' if after.peer is None else after.peer.id}, by which you come, would change"
    if before.holder is None and before.learnt != after.learnt:
        yield f"{caller.reached} is an address that the router was given, and what it asks for would change"
    if before.back != before.came and before.routes != after.routes:
        yield f"the way back to {caller.address} is learnt, and the configured ways would change"
    yield from (text for text, then in after.unsure if (text, then) not in before.unsure)


def _refused(
    document: Document, rules: Rules, caller: Caller, item: Interface, at: datetime, walk: Walk
) -> Decider | None:
    """What refuses a new connection, leads it elsewhere, or keeps its answers. Of those that the router's own
    programs make for him on loopback no rule decides (weir.parts.admission)."""
    family: Literal[4, 6] = 6 if parse_prefix(caller.reached).family == 6 else 4
    names = names_in_rules(document, item.id)
    mac = mac_in_rules(document, item.id, None)
    packet = Packet(
        *(family, caller.address, caller.reached, "tcp", caller.port),
        in_names=names,
        to_router=True,
        mac=mac,
        at=at,
    )
    dropped, packet = rules.before_tracking(packet, walk)
    if dropped is not None:
        return decider(dropped, RAW)
    if packet.state == "untracked":
        _doubt_answers(walk, rules.decide(BEFORE_TRACKING, packet, walk))
    turned = None if packet.state == "untracked" else rules.decide("prerouting", packet, walk)
    if turned is not None:
        behind = redirected(packet, turned, caller.reached)
        if not behind.to_router or behind.port != packet.port:
            return decider(turned, "prerouting")
    answer = replace(
        packet,
        source=packet.destination,
        destination=packet.source,
        port=0,
        source_port=packet.port,
        in_names=frozenset(),
        out_names=packet.in_names,
        state="established",
        to_router=False,
        mac="",
    )
    for chain, each in (("input", packet), (OUTGOING, answer)):
        found = rules.decide(chain, each, walk)
        if found is not None and found.verdict in ("drop", "reject"):
            return decider(found, chain)
    return None


def _doubt_answers(walk: Walk, rule: PacketRule | None) -> None:
    """To what is not tracked an answer is one that nobody asked for."""
    if rule is not None:
        walk.doubted.setdefault(f"firewall rule {rule.comment} leaves your packets untracked", rule)


def _behind_master(document: Document, name: str) -> Interface | None:
    """The interface, or the bridge or bond of which it is a port; None where it is not there or disabled."""
    item = document.interface(name)
    if item is not None and item.disabled:
        return None
    for other in document.interfaces():
        if not other.disabled and name in members_of(other):
            return other
    return item


def _made_on(document: Document, item: Interface | None) -> Iterator[Interface]:
    """Configured interfaces that carry its packets, the nearest first. A loop, which rules refuse, ends."""
    known: set[str] = set()
    names = [] if item is None else list(_carriers(item))
    while names:
        name = names.pop(0)
        found = document.interface(name)
        if found is not None and name not in known:
            known.add(name)
            yield found
            names += _carriers(found)


def _carriers(item: Interface) -> Iterator[str]:
    yield from members_of(item)
    if item.vlan is not None:
        yield item.vlan.parent
    if item.pppoe is not None:
        yield item.pppoe.parent


def _answers_at(item: Interface) -> Iterator[str]:
    if not item.disabled and item.vrf is None and item.vrf_table is None:
        yield from (split_address(text)[0] for text in item.addresses)


def _routes(document: Document) -> Iterator[object]:
    """What is configured of ways."""
    yield from (route for route in document.every(StaticRoute) if not route.disabled)
    for item in document.interfaces():
        yield (item.id, item.vrf, item.vrf_table, *_answers_at(item), item.addressing, item.ipv6_addressing)


def _peer(document: Document, item: Interface, caller: Caller) -> WireguardPeer | None:
    """The peer of a tunnel whose packets the caller's are."""
    host = parse_prefix(caller.address)
    found = [
        (network.length, peer.id, peer)
        for peer in document.every(WireguardPeer)
        if peer.interface == item.id and not peer.disabled
        for network in map(parse_prefix, peer.allowed_ips)
        if network.covers(host)
    ]
    return max(found, key=lambda each: each[:2])[2] if found else None


def _key(peer: WireguardPeer) -> tuple[object, ...]:
    return peer.interface, peer.public_key, peer.preshared_key


def _session_of(peer: WireguardPeer | None) -> tuple[object, ...]:
    return () if peer is None else (peer.endpoint, peer.allowed_ips, peer.route_allowed_ips)


def _link_of(item: Interface | None) -> tuple[object, ...]:
    return () if item is None else tuple(getattr(item, name) for name in (*_MADE, "vlan", "vrf", "disabled"))


def _cut(text: str, kind: Kind | None, object_id: str | None) -> YourWay:
    return YourWay("cuts-off-you", text, kind, object_id)

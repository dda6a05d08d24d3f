# SPDX-License-Identifier: Apache-2.0
"""NAT rules as rules of nftables (docs/adr/0175).

What a rule matches is compiled as firewall rules are (filter.py). The translation is in `prerouting` or
`postrouting`. A port forward has up to three rules besides: hosts inside that ask for the address outside,
the router's address in place of theirs where they share the server's network, and what the policy lets pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from weir.kinds.connection_helper import SPOKEN, ConnectionHelper
from weir.kinds.firewall_rule import FirewallRule
from weir.kinds.nat import families, ports_named
from weir.kinds.nat_rule import NatRule
from weir.kinds.service import Service
from weir.model.address import split_address
from weir.model.document import Document
from weir.model.members import ports_of
from weir.model.prefix import Prefix, parse_prefix
from weir.model.vrf import is_vrf
from weir.parts.expectations import object_of
from weir.parts.filter import Lengths, Named, NamedByRules, compiled, ways_of
from weir.parts.rule import HELPERS, PacketRule
from weir.parts.zones import Zones

COUNTERS = "n_"
"""How the names of their counters begin."""


@dataclass(frozen=True, slots=True, eq=False)
class Around:
    """What of the interfaces matters to NAT rules; equal ones are the same object (`_around`).

    `outside` are the WANs and `dynamic` those with addresses that are not known before; `in_vrf` are
    interfaces in a VRF. `inside` are the networks of the others, and `addresses` the router's own there.
    """

    outside: tuple[str, ...]
    dynamic: frozenset[str]
    in_vrf: frozenset[str]
    outer_addresses: tuple[tuple[str, str], ...]
    inside: tuple[tuple[str, Prefix], ...]
    addresses: tuple[str, ...]
    helpers: tuple[ConnectionHelper, ...]
    is_policed: bool
    """New connections from WANs, or those to some zone, are dropped unless something lets them pass."""


_NO_ZONES = Zones({})
"""A NAT rule names none."""
_OF_VERDICT = ("to", "to_port", "maps", "target")
"""What of a rule goes where its verdict is."""

_around = lru_cache(maxsize=4)(Around)


def around(document: Document, helpers: tuple[ConnectionHelper, ...], *, is_policed: bool) -> Around:
    interfaces = sorted(
        (item for item in document.interfaces() if not item.disabled), key=lambda item: item.id
    )
    outside = [item for item in interfaces if item.role == "wan"]
    inner = [item for item in interfaces if item.role != "wan" and not is_vrf(item) and item.vrf is None]
    return _around(
        tuple(item.id for item in outside),
        frozenset(item.id for item in outside if item.addressing != "static" or not item.addresses),
        frozenset(item.id for item in interfaces if item.vrf is not None),
        tuple((item.id, split_address(text)[0]) for item in outside for text in item.addresses),
        tuple((item.id, split_address(text)[1]) for item in inner for text in item.addresses),
        tuple(sorted({split_address(text)[0] for item in inner for text in item.addresses})),
        helpers,
        is_policed,
    )


def translated(document: Document, lengths: Lengths, here: Around) -> Iterator[PacketRule]:
    """The enabled rules in their order, but for those that name something empty or disabled."""
    named = NamedByRules(document, lengths)
    for rule in sorted(document.every(NatRule), key=lambda rule: (rule.position, rule.id)):
        if not rule.disabled:
            sets = named.sets(rule.source_set, rule.destination_set)
            yield from _translated(rule, sets, named.service(rule.service), here)


@lru_cache(maxsize=4096)
def _translated(
    rule: NatRule, sets: tuple[Named, ...], service: Service | None, here: Around
) -> tuple[PacketRule, ...]:
    """What one rule becomes. It is remembered: of many rules a commit changes one."""
    return tuple(_Translated(rule, sets, service, here).rules())


def counter_of(rule_id: str) -> str:
    return f"{COUNTERS}{rule_id}"


def rule_of(counter: str) -> str | None:
    """The id of the NAT rule that has a counter; None for a counter of another kind."""
    return counter.removeprefix(COUNTERS) if counter.startswith(COUNTERS) else None


class _Translated:
    def __init__(self, rule: NatRule, sets: tuple[Named, ...], service: Service | None, here: Around) -> None:
        self._rule, self._sets, self._service, self._here = rule, sets, service, here
        self._ends = (rule.interface,) if rule.interface else here.outside
        self._count = 0

    def rules(self) -> Iterator[PacketRule]:
        rule, ends = self._rule, self._ends
        if rule.type == "none":
            place = (rule.interface,) if rule.interface else ()
            yield from self._made("prerouting", "accept", in_interfaces=place)
            yield from self._made("postrouting", "accept", out_interfaces=place)
        elif not ends:
            return
        elif rule.type in ("masquerade", "source"):
            verdict = "masquerade" if rule.type == "masquerade" else "snat"
            yield from self._made("postrouting", verdict, out_interfaces=ends, to=rule.to_address or "")
        elif rule.type in ("one-to-one", "prefix"):
            yield from self._networks()
        else:
            yield from self._forwards()

    def _networks(self) -> Iterator[PacketRule]:
        rule, ends = self._rule, self._ends
        inside, outside = rule.to_address or "", rule.destination[0]
        yield from self._helped(in_interfaces=ends)
        yield from self._made("prerouting", "dnat", in_interfaces=ends, to=inside, maps=True)
        swapped = self._match(source=(inside,), destination=())
        yield from self._made("postrouting", "snat", swapped, out_interfaces=ends, to=outside, maps=True)

    def _forwards(self) -> Iterator[PacketRule]:
        rule, ends, here = self._rule, self._ends, self._here
        verdict, to = ("redirect", "") if rule.type == "redirect" else ("dnat", rule.to_address or "")
        said: dict[str, Any] = {"to": to, "to_port": rule.to_port or 0}
        is_open = bool(rule.destination or rule.destination_set)
        from_wan = set(ends) <= set(here.outside)
        addressed = "" if is_open else "own" if from_wan else "others"
        if rule.type == "destination":
            yield from self._helped(in_interfaces=ends, addressed=addressed)
        yield from self._made("prerouting", verdict, in_interfaces=ends, addressed=addressed, **said)
        if rule.type == "destination" and rule.hairpin and from_wan and here.in_vrf.isdisjoint(ends):
            yield from self._hairpin(is_open, said)
        if rule.allow and from_wan and here.is_policed:
            chain = "input" if rule.type == "redirect" else "forward"
            yield from self._made(
                chain, "accept", self._arrived(), in_interfaces=ends, is_forwarded=True, counter=""
            )
            if rule.type == "redirect" and self._may_stay():
                # What is for that address and port already is not translated, says the kernel.
                yield from self._made(chain, "accept", in_interfaces=ends, counter="")

    def _may_stay(self) -> bool:
        """Whether the port to which it is redirected is one of those that it matches."""
        rule, service = self._rule, self._service
        ports = ports_named(rule) if service is None else service.ports
        return rule.to_port is None or not ports or any(rule.to_port in ports_of(text) for text in ports)

    def _hairpin(self, is_open: bool, said: dict[str, Any]) -> Iterator[PacketRule]:
        """From inside to the address outside; and back through the router, where the one who asks would get
        the server's answer directly from it and not know it."""
        here, ends = self._here, self._ends
        match: dict[str, Any] = {"outside": here.outside}
        if is_open:
            base = self._match()
        elif here.dynamic.isdisjoint(ends):
            own = tuple(address for name, address in here.outer_addresses if name in ends)
            base = self._match(destination=tuple(parse_prefix(text).text for text in own))
            if not any(parse_prefix(text).family in families(self._rule) for text in own):
                return
        else:
            family = 0 if self._rule.to_address is None else parse_prefix(self._rule.to_address).family
            inner = tuple(text for text in here.addresses if parse_prefix(text).family == family)
            base, match = self._match(), {**match, "addressed": "own", "not_destinations": inner}
        yield from self._helped(base, **match)
        yield from self._made("prerouting", "dnat", base, **match, **said)
        target = parse_prefix(self._rule.to_address or "")
        beside = tuple(sorted({name for name, network in here.inside if network.covers(target)}))
        where: dict[str, Any] = (
            {"in_interfaces": beside, "out_interfaces": beside} if beside else {"outside": here.outside}
        )
        leaves = self._arrived()
        leaves = replace(leaves, source_mac=None, negated=_without(leaves.negated, "source_mac"))
        yield from self._made("postrouting", "masquerade", leaves, **where, is_forwarded=True, counter="")

    def _helped(self, match: FirewallRule | None = None, **said: Any) -> Iterator[PacketRule]:
        """The helpers of connections that get another destination, before they do."""
        rule, service = self._rule, self._service
        if rule.service is not None and (service is None or service.disabled):
            return
        protocols, ports = (
            (rule.protocol, ports_named(rule)) if service is None else (service.protocol, service.ports)
        )
        base = match or self._match()
        base = replace(base, service=None, negated=_without(base.negated, "protocol", "ports"))
        for row in self._here.helpers:
            asked = _asked_at(row, ports, rule.to_port)
            if asked is None:
                continue
            for protocol in SPOKEN[row.helper].protocols:
                is_named = protocols in ("any", "tcp-udp", protocol)
                if is_named != ("protocol" in rule.negated):
                    own = replace(base, protocol=protocol, ports=asked)
                    helper = {"target": object_of(row.helper, protocol), "counter": ""}
                    yield from self._made(HELPERS, "helper", own, is_first=True, **said, **helper)

    def _match(self, **said: Any) -> FirewallRule:
        """What the rule matches, as a firewall rule that says it."""
        rule = self._rule
        family = rule.family if rule.to_address is None else f"ipv{parse_prefix(rule.to_address).family}"
        found = FirewallRule(
            rule.id,
            "forward",
            "accept",
            family=family,
            source=rule.source,
            source_set=rule.source_set,
            source_mac=rule.source_mac,
            destination=rule.destination,
            destination_set=rule.destination_set,
            protocol=rule.protocol,
            ports=rule.ports,
            service=rule.service,
            negated=_without(rule.negated, *said),
            time=rule.time,
        )
        return replace(found, **said)

    def _arrived(self) -> FirewallRule:
        """What it matches, with the new destination."""
        rule, service = self._rule, self._service
        said: dict[str, Any] = {"destination": (), "destination_set": None}
        if rule.type == "destination" and rule.to_address:
            said["destination"] = (rule.to_address,)
        if rule.to_port:
            said["ports"] = (str(rule.to_port),)
            if service is not None and not service.disabled:
                said |= {"service": None, "protocol": service.protocol}
        return self._match(**said)

    def _made(
        self, chain: str, verdict: str, match: FirewallRule | None = None, **said: Any
    ) -> Iterator[PacketRule]:
        """The rules of one match: where packets come in, and where they have their verdict."""
        name = self._rule.id
        last: dict[str, Any] = {key: said.pop(key) for key in _OF_VERDICT if key in said}
        last["counter"] = said.pop("counter", counter_of(name))
        self._count += 1
        # No id of people's has a capital, and each match has a number: their chains are nobody else's.
        found = replace(match or self._match(), id=f"N{self._count}{name}")
        protocol = ""
        for rule in compiled(found, self._sets, self._service, ways_of(found, _NO_ZONES)):
            rule = replace(rule, nat=name, comment=f"NAT rule {name}")
            if rule.chain == "forward":
                rule = replace(rule, chain=chain, **said)
                protocol = rule.protocol
            if rule.counter:
                rule = replace(rule, verdict=verdict, **last)
                yield from _by_protocol(rule, protocol) if rule.to_port else (rule,)
            else:
                yield rule


def _without(fields: tuple[str, ...], *others: str) -> tuple[str, ...]:
    return tuple(field for field in fields if field not in others)


def _asked_at(row: ConnectionHelper, ports: tuple[str, ...], to_port: int | None) -> tuple[str, ...] | None:
    """At which of these ports, none of which are all, a server of the helper's is asked; None: at none."""
    if to_port is not None:
        return ports if to_port in row.at else None
    found = tuple(str(port) for port in row.at if not ports or any(port in ports_of(text) for text in ports))
    return found or None


def _by_protocol(rule: PacketRule, protocol: str) -> Iterator[PacketRule]:
    """Who changes a port has to say of which protocol, of one at a time."""
    for name in ("tcp", "udp") if protocol == "tcp-udp" else (protocol,):
        yield replace(rule, protocol=name)

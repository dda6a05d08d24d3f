# SPDX-License-Identifier: Apache-2.0
"""NAT rules as commands of `/ip firewall nat`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weir.formats.routeros.writing import matches
from weir.formats.routeros.writing.links import must_be_written
from weir.formats.routeros.writing.lists import zone_list
from weir.formats.routeros.writing.matches import commands, port_axis
from weir.formats.routeros.writing.script import (
    Property,
    UnsaidError,
    command,
    common,
    not_written,
    remark,
    section,
)
from weir.kinds.firewall import Firewall
from weir.kinds.nat import families
from weir.kinds.nat_rule import NatRule
from weir.model.document import Document
from weir.model.zones import WAN

_SIDES = {"srcnat": "out", "dstnat": "in"}
_ACTIONS: dict[str, Sequence[tuple[str, str]]] = {
    "destination": (("dstnat", "dst-nat"),),
    "redirect": (("dstnat", "redirect"),),
    "masquerade": (("srcnat", "masquerade"),),
    "source": (("srcnat", "src-nat"),),
    "none": (("srcnat", "accept"), ("dstnat", "accept")),
}
_FAMILY = 4


def rules(document: Document) -> Iterator[str]:
    """In their order, and what the policy translates last."""
    items = sorted(document.every(NatRule), key=lambda rule: (rule.position, rule.id))
    yield from section("/ip firewall nat", (line for line in _all(document, items)))


def _all(document: Document, items: Sequence[NatRule]) -> Iterator[str]:
    for rule in items:
        try:
            yield from map(command, _commands(document, rule))
        except UnsaidError as problem:
            yield not_written(f"nat-rule {rule.id}", str(problem))
            continue
        if rule.type == "destination" and rule.hairpin:
            yield remark(
                f"For hosts of one network with that of {rule.id}, RouterOS needs a rule of srcnat, too."
            )
        if 6 in families(rule):
            yield not_written(f"nat-rule {rule.id} for IPv6", "translations of IPv6 are not written")
    if document.single(Firewall).masquerade and any(item.role == WAN for item in document.interfaces()):
        yield command([("chain", "srcnat"), ("action", "masquerade"), ("out-interface-list", zone_list(WAN))])


def _commands(document: Document, rule: NatRule) -> list[list[Property]]:
    must_be_written(document, rule.interface)
    if _FAMILY not in families(rule):
        raise UnsaidError("translations of IPv6 are not written")
    if rule.type == "prefix":
        raise UnsaidError("RouterOS translates no prefixes")
    if rule.type == "one-to-one":
        return [*_both_ways(rule)]
    names, ports = matches.protocols(document, rule, _FAMILY)
    said = [*matches.addresses(document, rule, _FAMILY), *_target(rule), *matches.hours(rule)]
    if rule.source_mac is not None:
        said.append(("src-mac-address", matches.but(rule, "source_mac", rule.source_mac.upper())))
    said += common(disabled=rule.disabled, comment=rule.comment)
    return [
        [("chain", chain), ("action", action), *_interface(rule, chain), *properties]
        for chain, action in _ACTIONS[rule.type]
        for properties in commands(
            [
                [said],
                [[("protocol", name)] for name in names] or [[]],
                port_axis("dst-port", ports, negated="ports" in rule.negated),
            ]
        )
    ]


def _both_ways(rule: NatRule) -> Iterator[list[Property]]:
    """One-to-one is a rule for each direction."""
    if not rule.destination or rule.to_address is None:
        raise UnsaidError("it does not name both networks")
    outside, inside = rule.destination[0], rule.to_address
    said = [*matches.hours(rule), *common(disabled=rule.disabled, comment=rule.comment), ("action", "netmap")]
    for chain, key, match, target in (
        ("dstnat", "dst-address", outside, inside),
        ("srcnat", "src-address", inside, outside),
    ):
        yield [("chain", chain), (key, match), ("to-addresses", target), *_interface(rule, chain), *said]


def _interface(rule: NatRule, chain: str) -> Iterator[Property]:
    """Without one it is about every WAN; a port forward that hosts inside use, too, comes from anywhere."""
    if rule.type == "none" and rule.interface is None:
        return
    comes_from_anywhere = rule.type == "destination" and rule.hairpin
    if comes_from_anywhere and not (rule.destination or rule.destination_set):
        yield "dst-address-type", "local"
    elif rule.interface is not None and not comes_from_anywhere:
        yield f"{_SIDES[chain]}-interface", rule.interface
    elif not comes_from_anywhere:
        yield f"{_SIDES[chain]}-interface-list", zone_list(WAN)


def _target(rule: NatRule) -> Iterator[Property]:
    if rule.to_address is not None:
        yield "to-addresses", rule.to_address.removesuffix("/32")
    if rule.to_port is not None:
        yield "to-ports", str(rule.to_port)

# SPDX-License-Identifier: Apache-2.0
"""What NAT rules must be, and their declaration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from weir.fields import OBJECT_IDS, Whole
from weir.kinds.declaration import Declaration
from weir.kinds.firewall import Firewall
from weir.kinds.nat_rule import NatRule
from weir.kinds.negated import families_of, names_what_is_there, whole
from weir.kinds.sender_macs import lacks_macs
from weir.kinds.service import Service
from weir.kinds.sets import Set
from weir.model.address import split_address
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.members import other_ports, ports_of
from weir.model.prefix import WIDTH, Prefix, parse_prefix
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, error, own, warning
from weir.model.schedule import TimeWindow

_KIND = NatRule.kind
_FORWARDS = ("destination", "redirect")
_NETWORKS = ("one-to-one", "prefix")
MANAGEMENT_PORTS = (80, 443)
"""Where nginx answers browsers and scripts (board/overlay/etc/nginx/nginx.conf)."""
_TOLD_APART = ("tcp", "udp", "sctp", "others")
_ALL_PORTS = ((0, 65_535),)


def families(rule: NatRule) -> tuple[int, ...]:
    """Of the packets that it translates; none where what it says is of two families."""
    if rule.to_address is not None:
        found = {parse_prefix(rule.to_address).family}
    else:
        found = {"ipv4": {4}, "ipv6": {6}}.get(rule.family, {4, 6})
    return tuple(sorted(found & families_of(rule, "source") & families_of(rule, "destination")))


def wans(document: Document) -> list[Interface]:
    """The enabled interfaces outside."""
    return [item for item in document.interfaces() if item.role == "wan" and not item.disabled]


def matches_are_right(_view: View, rule: NatRule) -> Iterator[Finding]:
    if rule.service is not None and (rule.protocol != "any" or rule.ports):
        text = "a service includes a protocol and ports: leave these fields empty"
        yield error("service-and-ports", rule, "service", text)
    for field in ("ports", "to_port"):
        is_open = rule.protocol == "any" or "protocol" in rule.negated
        if getattr(rule, field) and is_open and rule.service is None:
            text = "ports need a protocol that has them, such as tcp"
            yield error("ports-without-protocol", rule, field, text)
    for field in ("source", "destination"):
        if getattr(rule, field) and getattr(rule, f"{field}_set") is not None:
            yield error("prefixes-and-set", rule, field, "name prefixes or a set, not both")
    if not families(rule):
        text = "no connection can match: the prefixes and the target belong to different address families"
        if any(whole(getattr(rule, side)) for side in ("source", "destination") if side in rule.negated):
            text = "no connection can match: there is no other address than those that are turned round"
        yield error("family-mismatch", rule, "to_address" if rule.to_address else "family", text)


def target_is_right(_view: View, rule: NatRule) -> Iterator[Finding]:
    """Which types have a target, and what it may be."""
    needs = rule.type in ("destination", "source", *_NETWORKS)
    if needs and rule.to_address is None:
        yield error("target-missing", rule, "to_address", f"the type {rule.type} needs a target address")
    elif not needs and rule.to_address is not None:
        yield error("target-unused", rule, "to_address", f"the type {rule.type} has no target address")
    elif rule.type == "destination" and rule.to_address and not _is_address(rule.to_address):
        text = f"a port is forwarded to one address, and {rule.to_address} is a network"
        yield error("target-too-large", rule, "to_address", text)
    if rule.to_port is not None and rule.type not in _FORWARDS:
        yield error("target-unused", rule, "to_port", f"the type {rule.type} changes no ports")
    if rule.source_mac is not None and rule.type not in _FORWARDS:
        text = (
            f"the type {rule.type} looks at packets where they leave, which have no sender's address any more"
        )
        yield error("mac-not-seen", rule, "source_mac", text)
    if rule.type in _NETWORKS:
        yield from _networks_match(rule)


def _networks_match(rule: NatRule) -> Iterator[Finding]:
    others = (rule.source, rule.source_set, rule.destination_set, rule.service, rule.protocol != "any")
    if any(others) or rule.negated:
        text = (
            f"the type {rule.type} translates whole networks: leave out sources, sets, protocol and service, "
            "and turn nothing round"
        )
        yield error("too-narrow", rule, "type", text)
    if len(rule.destination) != 1:
        text = (
            f"the type {rule.type} needs exactly one network outside, to which to_address is the one inside"
        )
        yield error("network-missing", rule, "destination", text)
        return
    outside, inside = parse_prefix(rule.destination[0]), parse_prefix(rule.to_address or rule.destination[0])
    if outside.length != inside.length and outside.family == inside.family:
        text = f"{outside.text} and {inside.text} must have the same length"
        yield error("sizes-differ", rule, "to_address", text)
    if rule.type == "prefix" and outside.family != 6:
        text = "prefixes are translated of IPv6; for IPv4 use the type one-to-one"
        yield error("family-mismatch", rule, "type", text)


def sets_fit(view: View, rule: NatRule) -> Iterator[Finding]:
    for field in ("source_set", "destination_set"):
        item = view.document.get("set", getattr(rule, field) or "")
        if isinstance(item, Set) and item.type != "address":
            text = f"the set {item.id} holds type {item.type}; here it must be address"
            yield error("wrong-type", rule, field, text)


# -- what is around a rule -------------------------------------------------------------------------------


def target_is_inside(view: View, rule: NatRule) -> Iterator[Finding]:
    """A port forward leads to a host inside, and to another one than the router."""
    if rule.disabled or rule.type != "destination" or rule.to_address is None:
        return
    address = rule.to_address.partition("/")[0]
    owners = view.own_addresses().get(address)
    if owners:
        text = f"{address} is the router's own address on {owners[0]}: use the type redirect"
        yield error("own-address", rule, "to_address", text)
        return
    target = parse_prefix(rule.to_address)
    for name, network in _connected(view, outside=True):
        if network.covers(target):
            text = f"{address} is in the network of {name}, which is a WAN: a port forward leads inside"
            yield error("target-outside", rule, "to_address", text)
            return


def is_reached(view: View, rule: NatRule) -> Iterator[Finding]:
    """What makes a rule useless although nothing of it is wrong."""
    if rule.disabled:
        return
    if rule.interface is None and rule.type != "none" and not wans(view.document):
        text = "no enabled interface has the role wan, so the rule has nothing to do"
        yield warning("no-wan", rule, "interface", text)
    is_narrow = rule.type in ("destination", *_NETWORKS) and "destination" not in rule.negated
    for text in rule.destination if is_narrow else ():
        prefix = parse_prefix(text)
        for name, network in _connected(view, outside=True):
            if network.covers(prefix) and not _all_owned(view, prefix):
                words = (
                    f"{text} is in the network of {name} and not one of its addresses, so nobody outside "
                    f"finds it: add it to {name}"
                )
                yield warning("nobody-answers", rule, "destination", words)


def sender_is_seen(view: View, rule: NatRule) -> Iterator[Finding]:
    if rule.source_mac is not None and lacks_macs(view.document.interface(rule.interface or "")):
        text = f"packets arrive by {rule.interface} without a hardware address: none can match"
        yield warning("no-mac", rule, "source_mac", text)


def _all_owned(view: View, prefix: Prefix) -> bool:
    if WIDTH[prefix.family] - prefix.length > 8:
        return False
    whole = range(prefix.value, prefix.value + (1 << (WIDTH[prefix.family] - prefix.length)))
    width = WIDTH[prefix.family]
    return all(
        Prefix(prefix.family, value, width).text.partition("/")[0] in view.own_addresses() for value in whole
    )


def _connected(view: View, *, outside: bool) -> Sequence[tuple[str, Prefix]]:
    """The connected networks of enabled interfaces that are WANs, or that are not."""

    def found() -> list[tuple[str, Prefix]]:
        return [
            (item.id, split_address(text)[1])
            for item in view.document.interfaces()
            if not item.disabled and (item.role == "wan") == outside
            for text in item.addresses
        ]

    return view.worked_out(f"networks {'outside' if outside else 'inside'}", found)


def takes_no_open_port(view: View, rule: NatRule) -> Iterator[Finding]:
    """A forwarded port is not one where the router itself answers."""
    if rule.disabled or rule.type not in _FORWARDS:
        return
    if _may_arrive_outside(view, rule) and not _is_elsewhere(view, rule):
        firewall = view.document.single(Firewall)
        for port in firewall.allowed_wan_tcp_ports:
            if _takes(view, rule, "tcp", port) and not _is_to_itself(rule, port):
                text = (
                    f"TCP port {port} of the router is open to the WAN (firewall, allowed_wan_tcp_ports), "
                    "and the rule would take it: close it there, or forward another port"
                )
                yield error("takes-open-port", rule, "ports", text)
        for item in view.document.interfaces():
            udp_port = None if item.disabled else item.udp_port
            if udp_port is not None and _takes(view, rule, "udp", udp_port):
                text = f"UDP port {udp_port} is that of the tunnel {item.id}, and the rule would take it"
                yield error("takes-open-port", rule, "ports", text)
    address = _own_address_inside(view, rule)
    for port in MANAGEMENT_PORTS if address else ():
        if _takes(view, rule, "tcp", port) and not _is_to_itself(rule, port):
            text = (
                f"TCP port {port} of {address} is the router's own web interface and API, and the rule would "
                "cut them off: forward another port"
            )
            yield error("takes-management", rule, "ports", text)


def _is_to_itself(rule: NatRule, port: int) -> bool:
    return rule.type == "redirect" and rule.to_port in (None, port)


def _may_arrive_outside(view: View, rule: NatRule) -> bool:
    if rule.interface is None:
        return True
    item = view.document.interface(rule.interface)
    return item is not None and item.role == "wan"


def _is_elsewhere(view: View, rule: NatRule) -> bool:
    """Whether it takes no connection to an address of the router's, as far as these are configured."""
    return bool(rule.destination) and not any(_names(rule, address) for address in view.own_addresses())


def _names(rule: NatRule, address: str) -> bool:
    """Whether the address is one of its destinations."""
    host = parse_prefix(address)
    is_in = any(parse_prefix(text).covers(host) for text in rule.destination)
    return bool(rule.destination) and is_in != ("destination" in rule.negated)


def _own_address_inside(view: View, rule: NatRule) -> str:
    """An address at which people inside reach the router, to which the rule takes connections; "" = none."""
    from_inside = not _may_arrive_outside(view, rule) or (rule.type == "destination" and rule.hairpin)
    for item in view.document.interfaces() if from_inside else ():
        if item.role != "wan" and not item.disabled:
            for address in (split_address(text)[0] for text in item.addresses):
                if _names(rule, address):
                    return address
    return ""


def spans_of(document: Document, rule: NatRule) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    """The protocols that a rule says, and the ranges of ports; ("any",) and all of them for one that says
    none; no protocol where its service is missing or disabled."""
    protocol, ports = rule.protocol, ports_named(rule)
    if rule.service is not None:
        service = document.get("service", rule.service)
        if not isinstance(service, Service) or service.disabled:
            return (), ()
        protocol, ports = service.protocol, service.ports
    protocols: tuple[str, ...] = ("tcp", "udp") if protocol == "tcp-udp" else (protocol,)
    if "protocol" in rule.negated:
        protocols = tuple(name for name in _TOLD_APART if name not in protocols)
    spans = tuple((found[0], found[-1]) for found in map(ports_of, ports))
    return protocols, spans or _ALL_PORTS


def ports_named(rule: NatRule) -> tuple[str, ...]:
    """The ports that it matches, none = any."""
    return other_ports(rule.ports) if "ports" in rule.negated else rule.ports


def _takes(view: View, rule: NatRule, protocol: str, port: int) -> bool:
    protocols, spans = spans_of(view.document, rule)
    return bool({protocol, "any"} & set(protocols)) and any(first <= port <= last for first, last in spans)


def port_is_free(view: View, rule: NatRule) -> Iterator[Finding]:
    """Of two that forward one port of the same addresses, the second would never match."""
    other = view.worked_out("forwards that are hidden", lambda: _hidden(view)).get(rule.id)
    if other is not None:
        text = f"NAT rule {other}, which comes before, forwards the same port"
        yield error("port-taken", rule, "ports", text)


Forward = tuple[int, int, tuple[int, str]]
"""First and last port, and where the rule stands."""


def _hidden(view: View) -> dict[str, str]:
    """From a rule to one before it that takes a port of its, at any time or in the same hours."""
    outside = [item.id for item in wans(view.document)]
    groups: dict[Any, dict[TimeWindow | None, list[Forward]]] = {}
    for rule in view.document.every(NatRule):
        if rule.disabled or rule.type not in _FORWARDS:
            continue
        protocols, spans = spans_of(view.document, rule)
        turned = tuple(field for field in rule.negated if field not in ("protocol", "ports"))
        source = (rule.source, rule.source_set, rule.source_mac)
        matched = (source, rule.destination, rule.destination_set, turned)
        for interface in outside if rule.interface is None else (rule.interface,):
            for family in families(rule):
                for protocol in protocols:
                    group = groups.setdefault((interface, family, protocol, *matched), {})
                    forwards = group.setdefault(rule.time, [])
                    forwards += [(first, last, (rule.position, rule.id)) for first, last in spans]
    found: dict[str, str] = {}
    for group in groups.values():
        always = group.get(None, [])
        ever = {rule for _, _, (_, rule) in always}
        for hours, forwards in group.items():
            found.update(_overlapping(forwards))
            if hours is not None:
                pairs = _overlapping([*always, *forwards])
                found.update((second, first) for second, first in pairs if second not in ever)
    return found


def _overlapping(group: list[Forward]) -> Iterator[tuple[str, str]]:
    """Each range beside the one before it that reaches furthest."""
    furthest: Forward | None = None
    for forward in sorted(group):
        if furthest is not None and forward[0] <= furthest[1] and forward[2] != furthest[2]:
            first, second = sorted((forward[2], furthest[2]))
            yield second[1], first[1]
        if furthest is None or forward[1] > furthest[1]:
            furthest = forward


def _is_address(text: str) -> bool:
    prefix = parse_prefix(text)
    return prefix.length == WIDTH[prefix.family]


_AROUND = all_after(_KIND, "interface", "firewall", "service")

KIND = Declaration(
    NatRule,
    singular="NAT rule",
    plural="NAT rules",
    short="nat-rule",
    about="Port forwards and other translations of addresses, in their order.",
    ids=replace(OBJECT_IDS, assigned="n"),
    columns=(
        "type",
        "interface",
        "connections",
        "source",
        "destination",
        "protocol",
        "ports",
        "negated",
        "to_address",
        "to_port",
        "time",
        "comment",
    ),
    argument="rule_id",
    area="Firewall",
    purpose="NAT rules give connections other addresses, as port forwards do. The first that matches "
    "decides; the policy's masquerading comes behind them.",
    state={
        "connections": Whole(
            0, 2**63 - 1, help="That it translated since the rule was made or the router started."
        )
    },
    rules=(
        Rule("matches-are-right", _KIND, matches_are_right, own(_KIND), True),
        Rule("names-what-is-there", _KIND, names_what_is_there, own(_KIND), True),
        Rule("target-is-right", _KIND, target_is_right, own(_KIND), True),
        Rule("sets-fit", _KIND, sets_fit, all_after(_KIND, "set"), True),
        Rule("target-is-inside", _KIND, target_is_inside, all_after(_KIND, "interface"), True),
        Rule("takes-no-open-port", _KIND, takes_no_open_port, _AROUND, True),
        Rule("port-is-free", _KIND, port_is_free, all_after(_KIND, _KIND, "interface", "service"), True),
        Rule("sender-is-seen", _KIND, sender_is_seen, all_after(_KIND, "interface"), False),
        Rule("is-reached", _KIND, is_reached, all_after(_KIND, "interface"), False),
    ),
)

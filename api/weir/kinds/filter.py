# SPDX-License-Identifier: Apache-2.0
"""What is refused of firewall rules, and their declaration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from weir.fields import OBJECT_IDS, When, Whole
from weir.kinds.declaration import Declaration
from weir.kinds.firewall_rule import (
    BUILT_IN,
    RAW,
    WITH_FLAGS,
    WITH_PORTS,
    WITH_TYPES,
    FirewallRule,
    families,
    family_fits,
)
from weir.kinds.negated import names_what_is_there, whole
from weir.kinds.peopled_zones import zones_have_interfaces
from weir.kinds.sender_macs import itself_and_where_macs_are, macs_are_seen
from weir.kinds.sets import Set
from weir.kinds.source_limit import OVER, WITHIN
from weir.model.document import Change
from weir.model.interface import Interface
from weir.model.limits import MAX_SET_ENTRIES
from weir.model.prefix import parse_prefix
from weir.model.problem import Finding
from weir.model.rule import Rule, View, all_after, caused_by, differs, error, own, warning
from weir.model.schedule import window_text

_KIND = "firewall-rule"
_IN_RAW = ("accept", "drop", "jump", "return", "add-to-set", "notrack")
_TRACKED = tuple(chain for chain in BUILT_IN if chain != RAW)


def chains_are_right(view: View, rule: FirewallRule) -> Iterator[Finding]:
    """A jump leads to one of the user's that has rules."""
    if rule.action != "jump":
        if rule.jump_to:
            yield error("jump-without-action", rule, "jump_to", f"the action is {rule.action}, not jump")
    elif not rule.jump_to:
        yield error("bad-jump", rule, "jump_to", "a jump needs a chain to go to")
    elif rule.jump_to in BUILT_IN:
        text = f"packets enter {rule.jump_to} by themselves: name a chain of your own to jump to"
        yield error("bad-jump", rule, "jump_to", text)
    elif _returns_to_itself(view, rule):
        yield error("jump-loop", rule, "jump_to", f"chain {rule.jump_to} leads back to chain {rule.chain}")
    elif rule.jump_to not in _jumps(view):
        yield warning("empty-chain", rule, "jump_to", f"chain {rule.jump_to} has no rules")


@caused_by(_KIND)
def _itself_and_jumps(view: View, change: Change) -> Iterator[str]:
    """A rule that comes or goes, and one that leads elsewhere, matters to those that jump."""
    yield change.id
    if differs(change, "chain", "action", "jump_to") and view.once("jumps", change.kind):
        yield from (rule.id for rule in view.document.every(FirewallRule) if rule.action == "jump")


def _jumps(view: View) -> dict[str, set[str]]:
    """By chain, where its rules jump to."""

    def found() -> dict[str, set[str]]:
        jumps: dict[str, set[str]] = {}
        for rule in view.document.every(FirewallRule):
            targets = jumps.setdefault(rule.chain, set())
            if rule.action == "jump" and rule.jump_to:
                targets.add(rule.jump_to)
        return jumps

    result: dict[str, set[str]] = view.worked_out("jumps of firewall rules", found)
    return result


def _returns_to_itself(view: View, rule: FirewallRule) -> bool:
    jumps, seen, waiting = _jumps(view), set[str](), [rule.jump_to or ""]
    while waiting:
        chain = waiting.pop()
        if chain == rule.chain:
            return True
        if chain not in seen:
            seen.add(chain)
            waiting.extend(jumps.get(chain, ()))
    return False


def sets_fit(view: View, rule: FirewallRule) -> Iterator[Finding]:
    wanted = (
        ("source_set", ("address", "mac", "interface")),
        ("destination_set", ("address",)),
        ("port_set", ("port",)),
        ("add_set", ("address",)),
    )
    for field, types in wanted:
        item = view.document.get("set", getattr(rule, field) or "")
        if isinstance(item, Set) and item.type not in types:
            text = f"the set {item.id} holds type {item.type}; here it must be {' or '.join(types)}"
            yield error("wrong-type", rule, field, text)
        elif isinstance(item, Set) and field == "add_set" and item.source != "dynamic":
            yield error(
                "static-set",
                rule,
                field,
                f"the set {item.id} is of the source {item.source}, and rules can add to dynamic sets only",
            )
    if (rule.add_set is None) == (rule.action == "add-to-set"):
        yield error("add-set", rule, "add_set", "add-to-set needs a set, and no other action has one")
    if (rule.new_dscp is None) == (rule.action == "set-dscp"):
        text = "set-dscp needs a codepoint, and no other action has one"
        yield error("new-dscp", rule, "new_dscp", text)


def makes_sense(_view: View, rule: FirewallRule) -> Iterator[Finding]:
    if rule.service is not None and (rule.protocol != "any" or rule.ports or rule.port_set):
        yield error(
            "service-and-ports",
            rule,
            "service",
            "a service includes a protocol and ports: leave these fields empty",
        )
    for field in ("ports", "source_ports"):
        named = getattr(rule, field) or (field == "ports" and rule.port_set)
        if named and not _has_protocol(rule, WITH_PORTS):
            text = "ports need a protocol that has them, such as tcp"
            yield error("ports-without-protocol", rule, field, text)
    yield from _flags_make_sense(rule)
    if rule.icmp_types and not _has_protocol(rule, WITH_TYPES):
        yield error("icmp-types", rule, "icmp_types", "ICMP types need the protocol icmp")
    for field, chain, what in (
        ("in_interface", "output", "in interface"),
        ("out_interface", "input", "out interface"),
        ("from_zone", "output", "zone that they come from"),
        ("to_zone", "input", "zone that they go to"),
        ("source_mac", "output", "hardware address of a sender"),
    ):
        if getattr(rule, field) is not None and rule.chain == chain:
            text = f"packets in the chain {chain} have no {what}: leave it out"
            yield error("wrong-chain", rule, field, text)
    for field, zone in (("in_interface", "from_zone"), ("out_interface", "to_zone")):
        if getattr(rule, field) is not None and getattr(rule, zone) is not None:
            yield error("interface-and-zone", rule, zone, "name an interface or a zone, not both")
    for values, name, other in (
        (rule.source, "source", rule.source_set),
        (rule.destination, "destination", rule.destination_set),
    ):
        if values and other is not None:
            yield error("prefixes-and-set", rule, name, "name prefixes or a set, not both")
    for name in _alien_prefixes(rule):
        yield error("family-mismatch", rule, name, f"none of these prefixes is an {rule.family} prefix")
    names_sets = any(
        getattr(rule, name) for name in ("source_set", "destination_set") if name not in rule.negated
    )
    if rule.action == "return" and (names_sets or rule.log):
        yield error(
            "return-too-much",
            rule,
            "action",
            "a rule with the action return cannot have an address set or a log",
        )


def _has_protocol(rule: FirewallRule, needed: When) -> bool:
    """Whether what it matches is of one of these protocols."""
    return rule.protocol in needed.values and "protocol" not in rule.negated


def raw_fits(view: View, rule: FirewallRule) -> Iterator[Finding]:
    """In raw/prerouting and the chains that it leads to, packets have no connection and no way out yet."""
    if rule.action == "notrack" and rule.chain in _reached(view, *_TRACKED):
        text = f"packets of the chain {rule.chain} have a connection already: notrack is for {RAW}"
        yield error("wrong-chain", rule, "action", text)
    if rule.chain not in _reached(view, RAW):
        return
    where = f"the chain {rule.chain}" + ("" if rule.chain == RAW else f", to which {RAW} leads,")
    if rule.action not in _IN_RAW:
        text = f"rules of {where} {', '.join(_IN_RAW[:-1])} or {_IN_RAW[-1]}, and do not {rule.action}"
        yield error("wrong-chain", rule, "action", text)
    nothing = FirewallRule(rule.id, rule.chain, rule.action)
    for field in ("out_interface", "to_zone", "ct_state", "ct_nat"):
        if getattr(rule, field) != getattr(nothing, field):
            text = f"{where} comes before connections and routes are looked up: leave it out"
            yield error("wrong-chain", rule, field, text)
    if rule.source_limit is not None and rule.source_limit.connections is not None:
        text = f"{where} comes before connections are looked up: limit the rate of packets"
        yield error("wrong-chain", rule, "source_limit.connections", text)


def interfaces_are_told(view: View, rule: FirewallRule) -> Iterator[Finding]:
    """In input and forward the kernel calls a packet's way in by the name of its VRF and, beside it, by that
    of the interface; in raw/prerouting and output it takes no rule that asks for the second."""
    named = (field for field in ("in_interface", "from_zone") if getattr(rule, field) is not None)
    field = next(named, None) or _by_set(view, rule)
    if not field or rule.chain in BUILT_IN or not _has_vrfs(view):
        return
    for one in (RAW, "output"):
        for other in ("input", "forward"):
            if rule.chain in _reached(view, one) & _reached(view, other):
                text = f"where VRFs are, no chain to which {one} and {other} lead tells interfaces: make two"
                yield error("wrong-chain", rule, field, text)
                return


def _by_set(view: View, rule: FirewallRule) -> str:
    """The field by which a rule names a set of interfaces, "" = none."""
    item = view.document.get("set", rule.source_set or "")
    return "source_set" if isinstance(item, Set) and item.type == "interface" else ""


def _has_vrfs(view: View) -> bool:
    def found() -> bool:
        return any(map(_is_vrf, view.document.interfaces()))

    return view.worked_out("whether there are VRFs", found)


def _reached(view: View, *first: str) -> set[str]:
    """These chains, and all to which their rules lead."""

    def found() -> set[str]:
        jumps, seen, waiting = _jumps(view), set(first), list(first)
        while waiting:
            new = jumps.get(waiting.pop(), set()) - seen
            seen |= new
            waiting += new
        return seen

    result: set[str] = view.worked_out(f"chains reached from {' '.join(first)}", found)
    return result


@caused_by(_KIND)
def _itself_and_own_chains(view: View, change: Change) -> Iterator[str]:
    yield change.id
    if _leads_otherwise(change) and view.once("raw-fits", change.kind):
        yield from _in_own_chains(view)


@caused_by(_KIND, "interface", "set")
def _own_chains_and_vrfs(view: View, change: Change) -> Iterator[str]:
    if change.kind == _KIND:
        yield change.id
        matters = _leads_otherwise(change)
    elif change.kind == "set":
        matters = differs(change, "type")
    else:
        matters = _is_vrf(change.old) != _is_vrf(change.new)
    if matters and view.once("interfaces-are-told", ""):
        yield from _in_own_chains(view)


def _leads_otherwise(change: Change) -> bool:
    """A jump that comes, goes or leads elsewhere matters to the rules of all chains of people's own."""
    leads = any(isinstance(item, FirewallRule) and item.jump_to for item in (change.old, change.new))
    return leads and differs(change, "chain", "action", "jump_to")


def _in_own_chains(view: View) -> Iterator[str]:
    return (rule.id for rule in view.document.every(FirewallRule) if rule.chain not in BUILT_IN)


def _is_vrf(item: object) -> bool:
    return isinstance(item, Interface) and item.vrf_table is not None


def _flags_make_sense(rule: FirewallRule) -> Iterator[Finding]:
    for field in ("tcp_flags", "tcp_flags_unset"):
        if getattr(rule, field) and not _has_protocol(rule, WITH_FLAGS):
            yield error("flags-without-tcp", rule, field, "TCP flags need the protocol tcp")
    if both := sorted({*rule.tcp_flags} & {*rule.tcp_flags_unset}):
        text = f"no packet can match: {', '.join(both)} cannot be set and not set"
        yield error("matches-nothing", rule, "tcp_flags_unset", text)


def matches_something(view: View, rule: FirewallRule) -> Iterator[Finding]:
    """A rule that no packet can match would be there and do nothing. That what it names is disabled is said
    of every reference."""
    if not families(rule) and not any(_alien_prefixes(rule)):
        text = "no packet can match: the prefixes and ICMP types belong to different address families"
        if any(whole(getattr(rule, side)) for side in ("source", "destination") if side in rule.negated):
            text = "no packet can match: there is no other address than those that are turned round"
        yield error("matches-nothing", rule, "family", text)
    item = view.document.get("set", rule.source_set or "")
    if isinstance(item, Set) and rule.chain == "output" and item.type in ("interface", "mac"):
        text = f"packets in the chain output have no incoming {item.type}: the set {item.id} cannot match"
        yield error("wrong-chain", rule, "source_set", text)


def _alien_prefixes(rule: FirewallRule) -> Iterator[str]:
    """The fields whose prefixes are all of another family than the rule: that is said of each."""
    for name, values in (("source", rule.source), ("destination", rule.destination)):
        if values and not any(family_fits(rule, parse_prefix(text).family) for text in values):
            yield name


def limit_fits(_view: View, rule: FirewallRule) -> Iterator[Finding]:
    """A source that cannot be counted is over its limits: no rule may let pass what is over them."""
    limit = rule.source_limit
    if limit is None:
        return
    if limit.connections is None and limit.rate is None:
        text = "a limit of each source needs a number of connections, or a rate of packets"
        yield error("limit-missing", rule, "source_limit.connections", text)
    if limit.match == OVER and rule.action == "accept":
        text = "it would let pass what is over the limits: accept what is within them, and drop the rest"
        yield error("limit-lets-pass", rule, "source_limit.match", text)
    if limit.match == WITHIN and rule.action in ("drop", "reject"):
        text = f"it would let pass what is over the limits: {rule.action} what is over them"
        yield error("limit-lets-pass", rule, "source_limit.match", text)
    if limit.match == OVER and rule.action == "return":
        text = "a rule with the action return can match what is within the limits of its source only"
        yield error("return-too-much", rule, "source_limit.match", text)
    if limit.connections is not None and rule.ct_state and "new" not in rule.ct_state:
        text = "connections are counted by their first packets, which are new: add this state, or name none"
        yield error("connections-not-new", rule, "ct_state", text)


def locks_out(_view: View, rule: FirewallRule) -> Iterator[Finding]:
    nothing = FirewallRule(rule.id, rule.chain, rule.action)
    if rule.disabled or rule.chain not in ("input", RAW) or rule.action not in ("drop", "reject"):
        return
    matched = replace(
        rule,
        position=0,
        comment="",
        log=False,
        log_prefix="",
        log_per_s=10,
        burst=nothing.burst,
        time=None,
    )
    if matched == nothing:
        when = "" if rule.time is None else f" at {window_text(rule.time)}"
        text = (
            f"nobody can reach the router{when}, not even to sign in, "
            "unless a rule above accepts the connection"
        )
        yield warning("locks-out", rule, "action", text)


_COUNT = 2**63 - 1

KIND = Declaration(
    FirewallRule,
    singular="firewall rule",
    plural="firewall rules",
    short="rule",
    about="Rules for packets to, through and from the router, in their order.",
    ids=replace(OBJECT_IDS, assigned="f"),
    columns=(
        "chain",
        "action",
        "packets",
        "from_zone",
        "to_zone",
        "source",
        "source_set",
        "destination",
        "destination_set",
        "protocol",
        "ports",
        "service",
        "negated",
        "time",
        "comment",
    ),
    argument="rule_id",
    area="Firewall",
    purpose="Rules say which packets pass. They come before the fixed rules of the firewall's policy; the "
    "first that accepts, drops or rejects decides.",
    state={
        "packets": Whole(0, _COUNT, help="That matched since the rule was made or the router started."),
        "bytes": Whole(0, _COUNT, help="Of these packets."),
        "sources": Whole(
            0, 2 * MAX_SET_ENTRIES, help="That are counted now for the limit of each; null without one."
        ),
    },
    rules=(
        Rule("chains-are-right", _KIND, chains_are_right, _itself_and_jumps, True),
        Rule("sets-fit", _KIND, sets_fit, all_after(_KIND, "set"), True),
        Rule("raw-fits", _KIND, raw_fits, _itself_and_own_chains, True),
        Rule("interfaces-are-told", _KIND, interfaces_are_told, _own_chains_and_vrfs, True),
        Rule("makes-sense", _KIND, makes_sense, own(_KIND), True),
        Rule("names-what-is-there", _KIND, names_what_is_there, own(_KIND), True),
        Rule("matches-something", _KIND, matches_something, all_after(_KIND, "set"), True),
        Rule("zones-have-interfaces", _KIND, zones_have_interfaces, all_after(_KIND, "interface"), False),
        Rule("macs-are-seen", _KIND, macs_are_seen, itself_and_where_macs_are, False),
        Rule("limit-fits", _KIND, limit_fits, own(_KIND), True),
        Rule("locks-out", _KIND, locks_out, own(_KIND), False),
    ),
)

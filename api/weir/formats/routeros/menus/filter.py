# SPDX-License-Identifier: Apache-2.0
"""/ip firewall filter and raw: firewall rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import product

from weir.formats.quantity import time_ms
from weir.formats.report import quoted
from weir.formats.routeros.menus import own_policy
from weir.formats.routeros.menus.convert import choice, mac, milliseconds, ports, text
from weir.formats.routeros.menus.lists import address_set, interface_set, set_of_others
from weir.formats.routeros.menus.matches import (
    MATCHES,
    NEGATED,
    NO_INTERFACE,
    QUIET,
    SIDES,
    address_matches,
    but,
    hours_of,
    interfaces_only_here,
    is_negated,
    keep_out_of_force,
    matches_nothing,
    named_interfaces,
    negate,
)
from weir.formats.routeros.menus.per_source import SOURCE_LIMITS, source_limit
from weir.formats.routeros.menus.router import Json, Router
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.kinds.firewall_rule import RAW, STATES, TCP_FLAGS
from weir.model.limits import MAX_SET_TIMEOUT_S

MAX_RULES = 16
"""Of one rule of the file, where several interfaces must be named one by one."""
_ACTIONS = {
    "accept": "accept",
    "drop": "drop",
    "tarpit": "drop",
    "reject": "reject",
    "jump": "jump",
    "return": "return",
    "add-src-to-address-list": "add-to-set",
}
_RAW_ACTIONS = {
    **{name: ours for name, ours in _ACTIONS.items() if name not in ("tarpit", "reject")},
    "notrack": "notrack",
}
_RAW_CHAINS = {"prerouting": RAW}
_NOT_TAKEN = {
    "fasttrack-connection": ("not-needed", "Weir's fast path takes known connections by itself."),
    "passthrough": ("counts-only", "It only counts packets."),
    "log": ("log-only", "It only writes a log; in Weir a rule that decides can log."),
    "add-dst-to-address-list": (
        "no-counterpart",
        "Weir's rules add the source to a set only.",
    ),
}
ICMP = {
    "/ip": {
        0: "echo-reply",
        3: "destination-unreachable",
        5: "redirect",
        8: "echo-request",
        11: "time-exceeded",
        12: "parameter-problem",
    },
    "/ipv6": {
        1: "destination-unreachable",
        2: "packet-too-big",
        3: "time-exceeded",
        4: "parameter-problem",
        128: "echo-request",
        129: "echo-reply",
        133: "nd-router-solicit",
        134: "nd-router-advert",
        135: "nd-neighbor-solicit",
        136: "nd-neighbor-advert",
    },
}
_ONE_CODE = ("echo-reply", "echo-request", "packet-too-big", "nd-router-solicit", "nd-router-advert")
_CODEPOINTS = 64
NAT_STATES = {
    "srcnat": "source",
    "dstnat": "destination",
    "srcnat,dstnat": "either",
    "!srcnat": "not-source",
    "!dstnat": "not-destination",
    "!srcnat,dstnat": "neither",
}
_RATE = re.compile(r"([0-9]{1,9})(?:/([0-9a-z:]{1,20}))?,([0-9]{1,9})(?::packet)?")
COUNTS = {"limit", *(said.field for said in SOURCE_LIMITS.values())}
"""What would hold for each of several rules, and not for all of them together."""
_NEGATED = {**NEGATED, "src-port": "source_ports", "src-mac-address": "source_mac", "dscp": "dscp"}
_ENDS = (("in-interface", "in_interface", "in_list"), ("out-interface", "out_interface", "out_list"))
_NEVER = ("none-dynamic", "none-static")
_LONGEST = f"Weir forgets after {MAX_SET_TIMEOUT_S // 86_400} days."


def _icmp(value: str, row: Row) -> list[str]:
    types = ICMP[row.menu.root]
    number, _, code = value.partition(":")
    found = types.get(int(number)) if number.isascii() and number.isdigit() and len(number) < 4 else None
    if found is None:
        raise ValueError("Weir does not know this type")
    if code not in ("", "0-255") and not (code in ("0", "0-0") and found in _ONE_CODE):
        raise ValueError("Weir matches all codes of a type")
    return [found]


def _states(value: str, _row: Row) -> list[str]:
    found = [item.strip() for item in value.removeprefix("!").split(",") if item.strip()]
    if not set(found) <= set(STATES):
        raise ValueError(f"the states are {', '.join(STATES)}")
    if value.startswith("!"):
        found = [item for item in STATES if item not in found]
    if not found:
        raise ValueError("it names no state")
    return found


def _flags(value: str, _row: Row) -> tuple[list[str], list[str]]:
    """Those that are set, and those that are not."""
    named = [item.strip() for item in value.split(",")]
    found = (
        [item for item in named if not item.startswith("!")],
        [item[1:] for item in named if item[:1] == "!"],
    )
    if not {*found[0], *found[1]} <= set(TCP_FLAGS):
        raise ValueError(f"the flags are {', '.join(TCP_FLAGS)}")
    return found


def _dscp(value: str, _row: Row) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 3 and int(value) < _CODEPOINTS):
        raise ValueError(f"Weir matches one codepoint, a number below {_CODEPOINTS}")
    return int(value)


def _limit(value: str, _row: Row) -> tuple[int, int]:
    match = _RATE.fullmatch(value)
    if match is None:
        raise ValueError("expected a number of packets in a time")
    count, span_ms, burst = int(match[1]), time_ms(match[2]) if match[2] else 1000, int(match[3])
    if span_ms < 1 or count * 1000 % span_ms or count * 1000 < span_ms or not 1 <= burst <= 100_000:
        raise ValueError("Weir's rates are whole packets per second, with a burst of at least one")
    return count * 1000 // span_ms, burst


def _timeout(value: str, row: Row) -> int:
    """In seconds. RouterOS never forgets where it is 0, however that is written, or not said."""
    wanted_ms = 0 if value in _NEVER else milliseconds(value, row)
    if wanted_ms == 0 or wanted_ms > MAX_SET_TIMEOUT_S * 1000:
        row.changed("timeout", _LONGEST)
        return MAX_SET_TIMEOUT_S
    if wanted_ms % 1000:
        row.changed("timeout", "Weir forgets after whole seconds, and after one at the earliest.")
    return max(wanted_ms // 1000, 1)


def _filter(router: Router, row: Row) -> None:
    if own_policy.rule(router, row):
        return
    _take(router, row, _ACTIONS, router.chain)


def _raw(router: Router, row: Row) -> None:
    if row.get("chain") == "output":
        row.leave_out("raw-output", "What the router itself sends meets no rules before tracking in Weir.")
        return
    if row.get("action") == "notrack":
        row.changed("ends-chain", "No rule of raw after it is asked about these packets.")
    _take(router, row, _RAW_ACTIONS, lambda name: _RAW_CHAINS.get(name) or router.chain(name, "raw"))


def _take(router: Router, row: Row, actions: Mapping[str, str], chain_of: Callable[[str], str]) -> None:
    action = row.get("action", "accept")
    if action in _NOT_TAKEN:
        row.leave_out(*_NOT_TAKEN[action])
        return
    if action not in actions:
        raise ValueError(f"Weir has no action {quoted(action)}.")
    if matches_nothing(row):
        return
    family = "ipv6" if row.menu.root == "/ipv6" else "ipv4"
    chain = chain_of(row.need("chain", "chain"))
    body: Json = {"chain": chain, "action": actions[action], "family": family}
    if chain == "output" and row.values.pop("source_mac", None):
        row.unfit.append("src-mac-address, which no packet in output has,")
    taken = ("source_mac", "protocol", "ports", "source_ports", "icmp_types", "ct_state", "ct_nat", "dscp")
    body.update(row.some(*taken, "log", "comment", "disabled"))
    if "flags" in row.values:
        body["tcp_flags"], body["tcp_flags_unset"] = row.values["flags"]
    if row.get("log_prefix"):
        body["log_prefix"] = row.values["log_prefix"][:32]
    if "limit" in row.values:
        body["rate_per_s"], body["burst"] = row.values["limit"]
    source_limit(row, body)
    if action == "jump":
        body["jump_to"] = chain_of(row.need("jump_to", "jump-target"))
    address_matches(row, body, SIDES)
    negate(row, body, _NEGATED)
    if action == "add-src-to-address-list":
        name = row.need("add_list", "address-list")
        if "address-list-timeout" not in row.given:
            row.values["timeout"] = _timeout(_NEVER[0], row)
        body["add_set"] = address_set(router, name, row.line, learns_s=row.get("timeout", MAX_SET_TIMEOUT_S))
    _what_it_does(row, action)
    _by_interfaces(router, row, body)


def _what_it_does(row: Row, action: str) -> None:
    if action == "tarpit":
        row.changed("tarpit", "Connections are dropped; Weir does not hold them.")
    with_answer = row.given.get("reject-with")
    if action == "reject" and with_answer not in (None, "icmp-network-unreachable"):
        row.changed("reject-with", "The sender is told in Weir's own way.")


def _by_interfaces(router: Router, row: Row, body: Json) -> None:
    """One rule, or several that follow one another, as a rule of Weir names one interface or a set."""
    incoming = _incoming(router, row, body)
    outgoing = _outgoing(router, row)
    pairs = list(product(incoming, outgoing))
    several = len(pairs) > 1
    if several and (len(pairs) > MAX_RULES or COUNTS & row.values.keys()):
        row.unfit.append("its interface lists, which would take many rules,")
        pairs = pairs[:1]
    keep_out_of_force(row, body)
    if several and len(pairs) > 1:
        row.changed("several-rules", f"It became {len(pairs)} rules, one for each interface.")
    for (come, leave), hours in product(pairs, hours_of(row)):
        rule = {**body, **hours}
        rule.update({"in_interface": come} if come else {})
        rule.update({"out_interface": leave} if leave else {})
        negate(row, rule, {key: field for key, field, lists in _ENDS if lists not in row.values})
        router.want_next("firewall-rule", row.line, rule, rule["chain"])
    if not pairs:
        row.leave_out(*NO_INTERFACE)


def _incoming(router: Router, row: Row, body: Json) -> list[str | None]:
    if "in_interface" in row.values or "in_list" not in row.values:
        return _one_of(router, row, row.get("in_list"), *_ENDS[0][:2])
    name = row.values["in_list"]
    inside = name.removeprefix("!")
    needs_names = any(item in body for item in ("source", "source_set")) or body["action"] == "return"
    if not needs_names and name == inside:
        body["source_set"] = interface_set(router, inside, row.line)
        return [None]
    if not needs_names and not interfaces_only_here(router):
        body["source_set"] = interface_set(router, inside, row.line)
        body["negated"] = [*body.get("negated", ()), "source_set"]
        return [None]
    if not needs_names:
        body["source_set"] = set_of_others(router, inside, row.line)
        row.changed("other-interfaces", f"“Not {inside}” is a set of the other interfaces of the file.")
        return [None]
    return named_interfaces(router, name)


def _outgoing(router: Router, row: Row) -> list[str | None]:
    name = row.get("out_list")
    if name is not None and name.startswith("!"):
        row.changed("other-interfaces", f"“Not {name[1:]}” are the other interfaces of the file.")
    return _one_of(router, row, name, *_ENDS[1][:2])


def _one_of(router: Router, row: Row, name: str | None, key: str, field: str) -> list[str | None]:
    """Of the interfaces of a list. A rule about all but one, and no list, turns that round."""
    but_one = name is not None and is_negated(row, key)
    return named_interfaces(router, name, row.get(field), but_one=but_one)


def _filter_menu(path: str) -> Menu:
    fields = {
        **MATCHES,
        "icmp-options": Property("icmp_types", _icmp),
        "connection-state": Property("ct_state", _states),
        "connection-nat-state": Property("ct_nat", choice(NAT_STATES)),
        "src-mac-address": Property("source_mac", but(mac)),
        "src-port": Property("source_ports", but(ports)),
        "tcp-flags": Property("flags", _flags),
        "dscp": Property("dscp", but(_dscp)),
        "limit": Property("limit", _limit),
        **SOURCE_LIMITS,
        "jump-target": Property("jump_to", text),
        "address-list": Property("add_list", text),
        "address-list-timeout": Property("timeout", _timeout),
        "log-prefix": Property("log_prefix", text),
    }
    return Menu(path, "a firewall rule", _filter, fields, {**QUIET, "reject-with": ANY}, must_fit=True)


_OF_CONNECTIONS = (
    "connection-state",
    "connection-nat-state",
    "connection-limit",
    "out-interface",
    "out-interface-list",
)
"""What is not known yet where raw looks."""


def _raw_menu(path: str) -> Menu:
    fields = {key: said for key, said in FILTER.fields.items() if key not in _OF_CONNECTIONS}
    return Menu(path, "a firewall rule", _raw, fields, QUIET, must_fit=True)


FILTER = _filter_menu("/ip firewall filter")
FILTER_6 = _filter_menu("/ipv6 firewall filter")
RAW_4 = _raw_menu("/ip firewall raw")
RAW_6 = _raw_menu("/ipv6 firewall raw")
OF_RULES = (FILTER, FILTER_6, RAW_4, RAW_6)
"""Whose lines become firewall rules."""

# SPDX-License-Identifier: Apache-2.0
"""A few rules of our table put in and taken out by netlink, and read back (uapi/linux/netfilter/nf_tables.h).

nft reads all counters and sets of a table before it adds a rule, and all rules of a chain before it shows
one: beside 2,000 rules that takes ten times what the kernel needs. What it would do is done here where it is
known how (nft_encoded.py), in one transaction; the chains that were changed are then read from the kernel,
rule by rule: those that stayed by their handles, as a rule is never changed in its place, and those that came
attribute by attribute (docs/adr/0251).
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from weir.adapters import nft_numbers as nf
from weir.adapters.netfilter import BEGIN, END, attribute, kept, message, messages
from weir.adapters.nft_canonical import canonical
from weir.adapters.nft_commands import MOST_EDITS, TABLE, Command, Rule, Table
from weir.adapters.nft_encoded import Encoded, encoded
from weir.adapters.nft_fields import AnonymousSet, Fields, NotKnown, be32, text, to_bytes

_UNNAMED = b"__set%d\0"
"""From which the kernel makes a name."""
_ANONYMOUS, _CONSTANT, _INTERVAL = 1, 2, 4
_MERGED = struct.pack("=BBI", 2, 4, 1)
"""How nft notes that touching intervals were made one."""


class NewRule(NamedTuple):
    """`rule` as it is compared, and the attributes that the kernel gets, and has of it."""

    rule: Rule
    userdata: bytes
    expressions: tuple[Encoded, ...]


@dataclass(slots=True)
class Edits:
    """What a transaction of a few rules says to the kernel, and what our table is then."""

    messages: list[bytes] = field(default_factory=list)
    chains: dict[str, list[int | NewRule]] = field(default_factory=dict)
    """Of each chain that changes its rules in their order: the handles of those that stay, and new ones."""
    counters: dict[str, bool] = field(default_factory=dict)
    """Those that come (true) or go."""
    gone_chains: set[str] = field(default_factory=set)
    flow_devices: tuple[str, ...] | None = None
    """Of the flow table that is made again."""
    sets: int = 0
    """So many that one rule alone looks at are made."""
    told: list[bytes] = field(default_factory=list)
    """Of each rule that came what the kernel told of it, in their order, when the transaction was done."""
    come: list[NewRule] = field(default_factory=list)
    """The new rules in the order of their messages."""

    @property
    def count(self) -> int:
        return len(self.messages)


def edits_of(steps: Sequence[Command], held: Table) -> Edits | None:
    """None where nft has to do it: another kind of step, too many, or a rule that is not known here."""
    if len(steps) > 2 * MOST_EDITS:
        return None
    found = Edits()
    try:
        for step in steps:
            ((verb, what),) = step.items()
            ((kind, said),) = what.items()
            _TAKERS[kind](found, held, verb, said)
    except (NotKnown, KeyError):
        return None
    return found


def _take_chain(found: Edits, held: Table, verb: str, said: dict[str, Any]) -> None:
    """One that rules jump to: those that hook in elsewhere are nft's."""
    name = str(said["name"])
    place = attribute(nf.TABLE, text(TABLE))
    if verb == "add" and "hook" not in said and name not in held.chains:
        found.chains[name] = []
        found.messages.append(
            _said(found, nf.NEW_CHAIN, nf.CREATE, place + attribute(nf.CHAIN_NAME, text(name)))
        )
    elif verb == "flush" and name in held.chains:
        found.chains[name] = []
        found.messages.append(_said(found, nf.DELETE_RULE, 0, place + attribute(nf.CHAIN, text(name))))
    elif verb == "delete" and not held.chains[name].hook:
        found.gone_chains.add(name)
        found.messages.append(_said(found, nf.DELETE_CHAIN, 0, place + attribute(nf.CHAIN_NAME, text(name))))
    else:
        raise NotKnown(verb)


def _take_flow_table(found: Edits, _held: Table, verb: str, said: dict[str, Any]) -> None:
    place = attribute(nf.TABLE, text(TABLE)) + attribute(nf.FLOW_NAME, text(str(said["name"])))
    if verb == "delete":
        found.flow_devices = ()
        found.messages.append(_said(found, nf.DELETE_FLOW_TABLE, 0, place))
        return
    found.flow_devices = tuple(said["dev"])
    devices = b"".join(attribute(nf.DEVICE, text(name)) for name in found.flow_devices)
    hook = attribute(nf.HOOK_NUMBER, be32(nf.INGRESS)) + attribute(nf.HOOK_PRIORITY, be32(int(said["prio"])))
    hook += attribute(nf.HOOK_DEVICES | nf.NESTED, devices)
    body = place + attribute(nf.FLOW_HOOK | nf.NESTED, hook)
    found.messages.append(_said(found, nf.NEW_FLOW_TABLE, nf.CREATE, body))


def _take_counter(found: Edits, _held: Table, verb: str, said: dict[str, Any]) -> None:
    name = str(said["name"])
    place = attribute(nf.TABLE, text(TABLE)) + attribute(nf.OBJECT_NAME, text(name))
    place += attribute(nf.OBJECT_TYPE, be32(nf.COUNTER))
    found.counters[name] = verb == "add"
    if verb == "add":
        body = place + attribute(nf.OBJECT_DATA | nf.NESTED, b"")
        found.messages.append(_said(found, nf.NEW_OBJECT, nf.CREATE, body))
    else:
        found.messages.append(_said(found, nf.DELETE_OBJECT, 0, place))


def _take_rule(found: Edits, held: Table, verb: str, said: dict[str, Any]) -> None:
    chain = str(said["chain"])
    if chain not in found.chains:
        found.chains[chain] = list(held.chains[chain].handles)
    rows = found.chains[chain]
    handle = int(said.get("handle", 0))
    place = attribute(nf.TABLE, text(TABLE)) + attribute(nf.CHAIN, text(chain))
    if handle and handle not in rows:
        raise NotKnown(f"rule {handle}")
    if verb == "delete":
        rows.remove(handle)
        place += attribute(nf.HANDLE, struct.pack("!Q", handle))
        found.messages.append(_said(found, nf.DELETE_RULE, 0, place))
        return
    made = _made(said)
    found.come.append(made)
    listed = b"".join(_listed(found, one) for one in made.expressions)
    place += attribute(nf.EXPRESSIONS | nf.NESTED, listed)
    if made.userdata:
        place += attribute(nf.USERDATA, made.userdata)
    if verb == "insert":
        rows.insert(rows.index(handle) if handle else 0, made)
        place += attribute(nf.POSITION, struct.pack("!Q", handle)) if handle else b""
        found.messages.append(_said(found, nf.NEW_RULE, nf.CREATE | nf.ECHO, place))
    else:
        rows.append(made)
        found.messages.append(_said(found, nf.NEW_RULE, nf.CREATE | nf.APPEND | nf.ECHO, place))


_TAKERS = {
    "rule": _take_rule,
    "counter": _take_counter,
    "chain": _take_chain,
    "flowtable": _take_flow_table,
}


def _said(found: Edits, kind: int, flags: int, body: bytes) -> bytes:
    return message(kind, nf.REQUEST | nf.ACK | flags, len(found.messages) + 1, body)


def _made(said: dict[str, Any]) -> NewRule:
    comment = str(said.get("comment", ""))
    words = text(comment)
    userdata = bytes((nf.COMMENT, len(words))) + words if comment else b""
    return NewRule((comment, tuple(map(canonical, said["expr"]))), userdata, encoded(said["expr"]))


def _listed(found: Edits, made: Encoded) -> bytes:
    fields = to_bytes(made.fields)
    for kind, value in made.fields.items():
        if isinstance(value, AnonymousSet):
            _take_set(found, value)
            fields += attribute(kind, _UNNAMED) + attribute(nf.LOOKUP_SET_ID, be32(found.sets))
    inner = attribute(nf.NAME, text(made.name)) + attribute(nf.DATA | nf.NESTED, fields)
    return attribute(nf.ELEMENT | nf.NESTED, inner)


def _take_set(found: Edits, made: AnonymousSet) -> None:
    """By a number of its own until the kernel has named it."""
    found.sets += 1
    number = be32(found.sets)
    order = struct.pack("=BBI", 0, 4, made.order)
    said: Fields = {
        nf.TABLE: text(TABLE),
        nf.SET_NAME: _UNNAMED,
        3: be32(_ANONYMOUS | _CONSTANT | (_INTERVAL if made.is_interval else 0)),
        4: be32(made.type),
        5: be32(made.key_bytes),
        9: {1: be32(len(made.elements))},
        10: number,
        13: order + (_MERGED if made.is_interval else b""),
    }
    found.messages.append(_said(found, nf.NEW_SET, nf.CREATE, to_bytes(said)))
    elements = b"".join(attribute(nf.ELEMENT | nf.NESTED, to_bytes(element)) for element in made.elements)
    body = attribute(nf.TABLE, text(TABLE)) + attribute(nf.SET_NAME, _UNNAMED)
    body += attribute(nf.SET_ELEMENTS | nf.NESTED, elements) + attribute(nf.SET_ID, number)
    found.messages.append(_said(found, nf.NEW_ELEMENTS, nf.CREATE, body))


def send(edits: Edits, generation: int) -> bool:
    """Do all of it, unless nftables is not at this generation any more. False = nothing was done."""
    known = attribute(nf.GENERATION, struct.pack("!I", generation))
    begin = message(BEGIN, nf.REQUEST, 0, known, nf.SUBSYSTEM)
    end = message(END, nf.REQUEST, len(edits.messages) + 1, b"", nf.SUBSYSTEM)
    try:
        with kept() as link:
            link.send(b"".join([begin, *edits.messages, end]))
            _take_answers(link, edits)
    except _Refused:
        return False
    return True


class _Refused(Exception):
    """Nothing was done."""


def _take_answers(link: socket.socket, edits: Edits) -> None:
    """What the kernel tells of the rules that came, and its answer to each message, 0 = it is done. The first
    that is not ends it: where it begins nothing, that is its only answer. (Before 6.10 it says nothing of a
    begin or end that it took.) Raises `_Refused`."""
    count = len(edits.messages)
    while count:
        for kind, _, payload in messages(link.recv(nf.RECEIVE_BYTES)):
            if kind == nf.NEW_RULE:
                edits.told.append(payload)
            elif kind == nf.ERROR:
                count -= 1
                if struct.unpack_from("=i", payload)[0]:
                    raise _Refused

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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from weir.adapters.netfilter import BEGIN, END, attribute, attributes, message, messages, opened
from weir.adapters.nft_canonical import canonical
from weir.adapters.nft_commands import FLOW_TABLE, MOST_EDITS, TABLE, Chain, Command, Rule, Table
from weir.adapters.nft_encoded import Encoded, encoded
from weir.adapters.nft_fields import AnonymousSet, Fields, NotKnown, be32, key_of, text, to_bytes

_SUBSYSTEM = 10
_NEW_RULE, _GET_RULE, _DELETE_RULE, _NEW_OBJECT, _GET_OBJECT, _DELETE_OBJECT = (
    _SUBSYSTEM << 8 | number for number in (6, 7, 8, 18, 19, 20)
)
_REQUEST, _ACK, _DUMP, _CREATE, _APPEND = 0x1, 0x4, 0x300, 0x400, 0x800
_ERROR, _DONE = 2, 3
_NESTED = 0x8000
_RECEIVE_BYTES = 1 << 20
_GENERATION = 1
_TABLE, _CHAIN, _HANDLE, _EXPRESSIONS, _POSITION, _USERDATA = 1, 2, 3, 4, 6, 7
_ELEMENT, _NAME, _DATA = 1, 1, 2
_OBJECT_NAME, _OBJECT_TYPE, _OBJECT_DATA, _COUNTER = 2, 3, 4, 1
_COMMENT = 0
_NEW_CHAIN, _GET_CHAIN, _DELETE_CHAIN = (_SUBSYSTEM << 8 | number for number in (3, 4, 5))
_CHAIN_NAME = 3
_NEW_FLOW_TABLE, _GET_FLOW_TABLE, _DELETE_FLOW_TABLE = (_SUBSYSTEM << 8 | number for number in (22, 23, 24))
_FLOW_NAME, _FLOW_HOOK = 2, 3
_HOOK_NUMBER, _HOOK_PRIORITY, _HOOK_DEVICES, _DEVICE, _INGRESS = 1, 2, 3, 1, 0
_NEW_SET, _NEW_ELEMENTS, _GET_ELEMENTS = (_SUBSYSTEM << 8 | number for number in (9, 12, 13))
_SET_NAME, _SET_ELEMENTS, _SET_ID, _LOOKUP_SET_ID = 2, 3, 4, 4
_UNNAMED = b"__set%d\0"
"""From which the kernel makes a name."""
_ANONYMOUS, _CONSTANT, _INTERVAL = 1, 2, 4
_MERGED = struct.pack("=BBI", 2, 4, 1)
"""How nft notes that touching intervals were made one."""


class _Rule(NamedTuple):
    """`rule` as it is compared, and the attributes that the kernel gets, and has of it."""

    rule: Rule
    userdata: bytes
    expressions: tuple[Encoded, ...]


@dataclass(slots=True)
class Edits:
    """What a transaction of a few rules says to the kernel, and what our table is then."""

    messages: list[bytes] = field(default_factory=list)
    chains: dict[str, list[int | _Rule]] = field(default_factory=dict)
    """Of each chain that changes its rules in their order: the handles of those that stay, and new ones."""
    counters: dict[str, bool] = field(default_factory=dict)
    """Those that come (true) or go."""
    gone_chains: set[str] = field(default_factory=set)
    flow_devices: tuple[str, ...] | None = None
    """Of the flow table that is made again."""
    sets: int = 0
    """So many that one rule alone looks at are made."""

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
    place = attribute(_TABLE, text(TABLE))
    if verb == "add" and "hook" not in said and name not in held.chains:
        found.chains[name] = []
        found.messages.append(_said(found, _NEW_CHAIN, _CREATE, place + attribute(_CHAIN_NAME, text(name))))
    elif verb == "flush" and name in held.chains:
        found.chains[name] = []
        found.messages.append(_said(found, _DELETE_RULE, 0, place + attribute(_CHAIN, text(name))))
    elif verb == "delete" and not held.chains[name].hook:
        found.gone_chains.add(name)
        found.messages.append(_said(found, _DELETE_CHAIN, 0, place + attribute(_CHAIN_NAME, text(name))))
    else:
        raise NotKnown(verb)


def _take_flow_table(found: Edits, _held: Table, verb: str, said: dict[str, Any]) -> None:
    place = attribute(_TABLE, text(TABLE)) + attribute(_FLOW_NAME, text(str(said["name"])))
    if verb == "delete":
        found.flow_devices = ()
        found.messages.append(_said(found, _DELETE_FLOW_TABLE, 0, place))
        return
    found.flow_devices = tuple(said["dev"])
    devices = b"".join(attribute(_DEVICE, text(name)) for name in found.flow_devices)
    hook = attribute(_HOOK_NUMBER, be32(_INGRESS)) + attribute(_HOOK_PRIORITY, be32(int(said["prio"])))
    hook += attribute(_HOOK_DEVICES | _NESTED, devices)
    body = place + attribute(_FLOW_HOOK | _NESTED, hook)
    found.messages.append(_said(found, _NEW_FLOW_TABLE, _CREATE, body))


def _take_counter(found: Edits, _held: Table, verb: str, said: dict[str, Any]) -> None:
    name = str(said["name"])
    place = attribute(_TABLE, text(TABLE)) + attribute(_OBJECT_NAME, text(name))
    place += attribute(_OBJECT_TYPE, be32(_COUNTER))
    found.counters[name] = verb == "add"
    if verb == "add":
        body = place + attribute(_OBJECT_DATA | _NESTED, b"")
        found.messages.append(_said(found, _NEW_OBJECT, _CREATE, body))
    else:
        found.messages.append(_said(found, _DELETE_OBJECT, 0, place))


def _take_rule(found: Edits, held: Table, verb: str, said: dict[str, Any]) -> None:
    chain = str(said["chain"])
    if chain not in found.chains:
        found.chains[chain] = list(held.chains[chain].handles)
    rows = found.chains[chain]
    handle = int(said.get("handle", 0))
    place = attribute(_TABLE, text(TABLE)) + attribute(_CHAIN, text(chain))
    if handle and handle not in rows:
        raise NotKnown(f"rule {handle}")
    if verb == "delete":
        rows.remove(handle)
        place += attribute(_HANDLE, struct.pack("!Q", handle))
        found.messages.append(_said(found, _DELETE_RULE, 0, place))
        return
    made = _made(said)
    listed = b"".join(_listed(found, one) for one in made.expressions)
    place += attribute(_EXPRESSIONS | _NESTED, listed)
    if made.userdata:
        place += attribute(_USERDATA, made.userdata)
    if verb == "insert":
        rows.insert(rows.index(handle) if handle else 0, made)
        place += attribute(_POSITION, struct.pack("!Q", handle)) if handle else b""
        found.messages.append(_said(found, _NEW_RULE, _CREATE, place))
    else:
        rows.append(made)
        found.messages.append(_said(found, _NEW_RULE, _CREATE | _APPEND, place))


_TAKERS = {
    "rule": _take_rule,
    "counter": _take_counter,
    "chain": _take_chain,
    "flowtable": _take_flow_table,
}


def _said(found: Edits, kind: int, flags: int, body: bytes) -> bytes:
    return message(kind, _REQUEST | _ACK | flags, len(found.messages) + 1, body)


def _made(said: dict[str, Any]) -> _Rule:
    comment = str(said.get("comment", ""))
    words = text(comment)
    userdata = bytes((_COMMENT, len(words))) + words if comment else b""
    return _Rule((comment, tuple(map(canonical, said["expr"]))), userdata, encoded(said["expr"]))


def _listed(found: Edits, made: Encoded) -> bytes:
    fields = to_bytes(made.fields)
    for kind, value in made.fields.items():
        if isinstance(value, AnonymousSet):
            _take_set(found, value)
            fields += attribute(kind, _UNNAMED) + attribute(_LOOKUP_SET_ID, be32(found.sets))
    inner = attribute(_NAME, text(made.name)) + attribute(_DATA | _NESTED, fields)
    return attribute(_ELEMENT | _NESTED, inner)


def _take_set(found: Edits, made: AnonymousSet) -> None:
    """By a number of its own until the kernel has named it."""
    found.sets += 1
    number = be32(found.sets)
    order = struct.pack("=BBI", 0, 4, made.order)
    said: Fields = {
        _TABLE: text(TABLE),
        _SET_NAME: _UNNAMED,
        3: be32(_ANONYMOUS | _CONSTANT | (_INTERVAL if made.is_interval else 0)),
        4: be32(made.type),
        5: be32(made.key_bytes),
        9: {1: be32(len(made.elements))},
        10: number,
        13: order + (_MERGED if made.is_interval else b""),
    }
    found.messages.append(_said(found, _NEW_SET, _CREATE, to_bytes(said)))
    elements = b"".join(attribute(_ELEMENT | _NESTED, to_bytes(element)) for element in made.elements)
    body = attribute(_TABLE, text(TABLE)) + attribute(_SET_NAME, _UNNAMED)
    body += attribute(_SET_ELEMENTS | _NESTED, elements) + attribute(_SET_ID, number)
    found.messages.append(_said(found, _NEW_ELEMENTS, _CREATE, body))


def send(edits: Edits, generation: int) -> bool:
    """Do all of it, unless nftables is not at this generation any more. False = nothing was done."""
    known = attribute(_GENERATION, struct.pack("!I", generation))
    begin = message(BEGIN, _REQUEST, 0, known, _SUBSYSTEM)
    end = message(END, _REQUEST, len(edits.messages) + 1, b"", _SUBSYSTEM)
    with opened() as link:
        link.send(b"".join([begin, *edits.messages, end]))
        return not any(_codes(link, len(edits.messages)))


def _codes(link: socket.socket, count: int) -> Iterator[int]:
    """What the kernel answers to so many messages, 0 = it is done. The first that is not ends it: where it
    begins nothing, that is its only answer. (Before 6.10 it says nothing of a begin or end that it took.)"""
    while count:
        for kind, _, payload in messages(link.recv(_RECEIVE_BYTES)):
            if kind == _ERROR:
                count -= 1
                yield int(struct.unpack_from("=i", payload)[0])


def read_back(edits: Edits, held: Table) -> Table | None:
    """Our table as the kernel has it now, which was `held` before; None where that is not what was said."""
    chains = {name: chain for name, chain in held.chains.items() if name not in edits.gone_chains}
    with opened() as link:
        for name in edits.chains.keys() - edits.gone_chains:
            chain = _chain(link, name, edits.chains[name], held.chains.get(name))
            if chain is None:
                return None
            chains[name] = chain
        if any(_is_there(link, _GET_CHAIN, _CHAIN_NAME, name) for name in edits.gone_chains):
            return None
        counter = attribute(_OBJECT_TYPE, be32(_COUNTER))
        for name, there in edits.counters.items():
            if _is_there(link, _GET_OBJECT, _OBJECT_NAME, name, counter) != there:
                return None
        devices = held.flow_devices if edits.flow_devices is None else _flow_devices(link)
        if edits.flow_devices is not None and devices != tuple(sorted(edits.flow_devices)):
            return None
    come = {name for name, there in edits.counters.items() if there}
    return Table(chains, devices, (held.counters - edits.counters.keys()) | come, held.sets)


def _chain(link: socket.socket, name: str, rows: Sequence[int | _Rule], held: Chain | None) -> Chain | None:
    """As the kernel has it; None where its rules are not these."""
    if held is None and not _is_there(link, _GET_CHAIN, _CHAIN_NAME, name):
        return None
    handles = _handles(link, name, rows)
    if handles is None:
        return None
    before = held or Chain(name, "", "", 0, "", ())
    texts = dict(zip(before.handles, before.rules, strict=True))
    rules = tuple(row.rule if isinstance(row, _Rule) else texts[row] for row in rows)
    return replace(before, rules=rules, handles=handles)


def _handles(link: socket.socket, chain: str, rows: Sequence[int | _Rule]) -> tuple[int, ...] | None:
    """Those of a chain's rules; None where they are not these."""
    place = attribute(_TABLE, text(TABLE)) + attribute(_CHAIN, text(chain))
    link.send(message(_GET_RULE, _REQUEST | _DUMP, 1, place))
    found = list(_dumped(link))
    if len(found) != len(rows):
        return None
    at = 4 + len(place) + 4
    """The handle comes behind nfnetlink's header, table and chain."""
    handles = tuple(int(struct.unpack_from("!Q", payload, at)[0]) for payload in found)
    for row, handle, payload in zip(rows, handles, found, strict=True):
        if row != handle and not (isinstance(row, _Rule) and _is_of(link, payload, row)):
            return None
    return handles


def _dumped(link: socket.socket) -> Iterator[bytes]:
    while True:
        for kind, _, payload in messages(link.recv(_RECEIVE_BYTES)):
            if kind in (_DONE, _ERROR):
                return
            yield payload


def _is_of(link: socket.socket, payload: bytes, row: _Rule) -> bool:
    held = dict(attributes(payload, 4))
    if held.get(_USERDATA, b"") != row.userdata:
        return False
    expressions = [dict(attributes(found)) for _, found in attributes(held.get(_EXPRESSIONS, b""))]
    return len(expressions) == len(row.expressions) and all(
        found.get(_NAME) == text(made.name) and _agree(link, found.get(_DATA, b""), made.fields)
        for found, made in zip(expressions, row.expressions, strict=True)
    )


def _agree(link: socket.socket, data: bytes, fields: Fields) -> bool:
    """Whether the kernel has exactly these attributes."""
    found = dict(attributes(data))
    if found.keys() != fields.keys():
        return False
    for kind, value in fields.items():
        if isinstance(value, AnonymousSet):
            agrees = _holds(link, found[kind], value)
        elif isinstance(value, bytes):
            agrees = found[kind] == value
        else:
            agrees = _agree(link, found[kind], value)
        if not agrees:
            return False
    return True


def _holds(link: socket.socket, name: bytes, asked: AnonymousSet) -> bool:
    """Whether a set that belongs to a rule has these elements, and no others."""
    link.send(
        message(
            _GET_ELEMENTS, _REQUEST | _DUMP, 1, attribute(_TABLE, text(TABLE)) + attribute(_SET_NAME, name)
        )
    )
    found = [
        element
        for payload in _dumped(link)
        for kind, listed in attributes(payload, 4)
        if kind == _SET_ELEMENTS
        for _, element in attributes(listed)
    ]
    wanted = sorted(asked.elements, key=key_of)
    found.sort(key=lambda element: next(value for kind, value in attributes(element) if kind == 1))
    return len(found) == len(wanted) and all(map(partial(_agree, link), found, wanted))


def _is_there(link: socket.socket, kind: int, number: int, name: str, more: bytes = b"") -> bool:
    """Whether our table has something of this name."""
    return _asked(link, kind, number, name, more) is not None


def _asked(link: socket.socket, kind: int, number: int, name: str, more: bytes = b"") -> bytes | None:
    place = attribute(_TABLE, text(TABLE)) + attribute(number, text(name))
    link.send(message(kind, _REQUEST, 1, place + more))
    return next((payload for told, _, payload in messages(link.recv(_RECEIVE_BYTES)) if told != _ERROR), None)


def _flow_devices(link: socket.socket) -> tuple[str, ...]:
    """Sorted; none where there is no flow table."""
    payload = _asked(link, _GET_FLOW_TABLE, _FLOW_NAME, FLOW_TABLE)
    hook = dict(attributes(payload or b"", 4)).get(_FLOW_HOOK, b"")
    devices = attributes(dict(attributes(hook)).get(_HOOK_DEVICES, b""))
    return tuple(sorted(name.rstrip(b"\0").decode() for _, name in devices))

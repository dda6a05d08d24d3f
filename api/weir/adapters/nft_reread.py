# SPDX-License-Identifier: Apache-2.0
"""What the kernel has of our table after a transaction by netlink (nft_edits.py), read by netlink.

A rule is never changed in its place, so one that stayed is known by its handle. One that came is asked for
attribute by attribute; where it stands is told by the kernel with the transaction, or found by reading its
whole chain (docs/adr/0251).
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from weir.adapters import nft_numbers as nf
from weir.adapters.netfilter import attribute, attributes, kept, message, messages
from weir.adapters.nft_commands import FLOW_TABLE, TABLE, Chain, Table
from weir.adapters.nft_edits import Edits, NewRule
from weir.adapters.nft_fields import AnonymousSet, Fields, be32, key_of, text


def read_back(edits: Edits, held: Table) -> Table | None:
    """Our table as the kernel has it now, which was `held` before; None where that is not what was said."""
    chains = {name: chain for name, chain in held.chains.items() if name not in edits.gone_chains}
    told = _told(edits)
    with kept() as link:
        for name in edits.chains.keys() - edits.gone_chains:
            chain = _chain(link, name, edits.chains[name], held.chains.get(name), told)
            if chain is None:
                return None
            chains[name] = chain
        if any(_is_there(link, nf.GET_CHAIN, nf.CHAIN_NAME, name) for name in edits.gone_chains):
            return None
        counter = attribute(nf.OBJECT_TYPE, be32(nf.COUNTER))
        for name, there in edits.counters.items():
            if _is_there(link, nf.GET_OBJECT, nf.OBJECT_NAME, name, counter) != there:
                return None
        devices = held.flow_devices if edits.flow_devices is None else _flow_devices(link)
        if edits.flow_devices is not None and devices != tuple(sorted(edits.flow_devices)):
            return None
    come = {name for name, there in edits.counters.items() if there}
    return Table(chains, devices, (held.counters - edits.counters.keys()) | come, held.sets, held.helpers)


class _Told(NamedTuple):
    """Where a rule came to be: behind which one, 0 = the kernel does not say that of the first and last."""

    chain: bytes
    handle: int
    behind: int


def _told(edits: Edits) -> dict[int, _Told]:
    """Of new rules, by their `id`; nothing where the kernel did not tell of each."""
    if len(edits.told) != len(edits.come):
        return {}
    found = {}
    for made, payload in zip(edits.come, edits.told, strict=True):
        said = dict(attributes(payload, 4))
        handle, behind = (int.from_bytes(said.get(kind, b""), "big") for kind in (nf.HANDLE, nf.POSITION))
        found[id(made)] = _Told(said.get(nf.CHAIN, b""), handle, behind)
    return found


def _chain(
    link: socket.socket,
    name: str,
    rows: Sequence[int | NewRule],
    held: Chain | None,
    told: Mapping[int, _Told],
) -> Chain | None:
    """As the kernel has it; None where its rules are not these."""
    if held is None and not _is_there(link, nf.GET_CHAIN, nf.CHAIN_NAME, name):
        return None
    handles = _placed(link, name, rows, told) or _handles(link, name, rows)
    if handles is None:
        return None
    before = held or Chain(name, "", "", 0, "", ())
    texts = dict(zip(before.handles, before.rules, strict=True))
    rules = tuple(row.rule if isinstance(row, NewRule) else texts[row] for row in rows)
    return replace(before, rules=rules, handles=handles)


def _placed(
    link: socket.socket, chain: str, rows: Sequence[int | NewRule], told: Mapping[int, _Told]
) -> tuple[int, ...] | None:
    """As `_handles`, without those that stayed: what our transaction did not name is as it was (the count of
    generations says that there was no other). New ones came where the kernel told, and are asked for by their
    handles. None where that does not say it all."""
    come = [(at, row) for at, row in enumerate(rows) if isinstance(row, NewRule)]
    if not told or (come and not 0 < come[0][0] <= come[-1][0] < len(rows) - 1):
        return None
    handles = [row if isinstance(row, int) else told[id(row)].handle for row in rows]
    place = attribute(nf.TABLE, text(TABLE)) + attribute(nf.CHAIN, text(chain))
    for at, row in come:
        said = told[id(row)]
        if said.chain != text(chain) or said.behind != handles[at - 1]:
            return None
        asked = place + attribute(nf.HANDLE, struct.pack("!Q", said.handle))
        link.send(message(nf.GET_RULE, nf.REQUEST, 1, asked))
        kind, _, payload = next(messages(link.recv(nf.RECEIVE_BYTES)))
        if kind != nf.NEW_RULE or not _is_of(link, payload, row):
            return None
    return tuple(handles)


def _handles(link: socket.socket, chain: str, rows: Sequence[int | NewRule]) -> tuple[int, ...] | None:
    """Those of a chain's rules; None where they are not these."""
    place = attribute(nf.TABLE, text(TABLE)) + attribute(nf.CHAIN, text(chain))
    link.send(message(nf.GET_RULE, nf.REQUEST | nf.DUMP, 1, place))
    found = list(_dumped(link))
    if len(found) != len(rows):
        return None
    at = 4 + len(place) + 4
    """The handle comes behind nfnetlink's header, table and chain."""
    handles = tuple(int(struct.unpack_from("!Q", payload, at)[0]) for payload in found)
    for row, handle, payload in zip(rows, handles, found, strict=True):
        if row != handle and not (isinstance(row, NewRule) and _is_of(link, payload, row)):
            return None
    return handles


def _dumped(link: socket.socket) -> Iterator[bytes]:
    while True:
        for kind, _, payload in messages(link.recv(nf.RECEIVE_BYTES)):
            if kind in (nf.DONE, nf.ERROR):
                return
            yield payload


def _is_of(link: socket.socket, payload: bytes, row: NewRule) -> bool:
    held = dict(attributes(payload, 4))
    if held.get(nf.USERDATA, b"") != row.userdata:
        return False
    expressions = [dict(attributes(found)) for _, found in attributes(held.get(nf.EXPRESSIONS, b""))]
    return len(expressions) == len(row.expressions) and all(
        found.get(nf.NAME) == text(made.name) and _agree(link, found.get(nf.DATA, b""), made.fields)
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
    place = attribute(nf.TABLE, text(TABLE)) + attribute(nf.SET_NAME, name)
    link.send(message(nf.GET_ELEMENTS, nf.REQUEST | nf.DUMP, 1, place))
    found = [
        element
        for payload in _dumped(link)
        for kind, listed in attributes(payload, 4)
        if kind == nf.SET_ELEMENTS
        for _, element in attributes(listed)
    ]
    wanted = sorted(asked.elements, key=key_of)
    found.sort(key=lambda element: next(value for kind, value in attributes(element) if kind == 1))
    return len(found) == len(wanted) and all(map(partial(_agree, link), found, wanted))


def _is_there(link: socket.socket, kind: int, number: int, name: str, more: bytes = b"") -> bool:
    """Whether our table has something of this name."""
    return _asked(link, kind, number, name, more) is not None


def _asked(link: socket.socket, kind: int, number: int, name: str, more: bytes = b"") -> bytes | None:
    place = attribute(nf.TABLE, text(TABLE)) + attribute(number, text(name))
    link.send(message(kind, nf.REQUEST, 1, place + more))
    answers = messages(link.recv(nf.RECEIVE_BYTES))
    return next((payload for told, _, payload in answers if told != nf.ERROR), None)


def _flow_devices(link: socket.socket) -> tuple[str, ...]:
    """Sorted; none where there is no flow table."""
    payload = _asked(link, nf.GET_FLOW_TABLE, nf.FLOW_NAME, FLOW_TABLE)
    hook = dict(attributes(payload or b"", 4)).get(nf.FLOW_HOOK, b"")
    devices = attributes(dict(attributes(hook)).get(nf.HOOK_DEVICES, b""))
    return tuple(sorted(name.rstrip(b"\0").decode() for _, name in devices))

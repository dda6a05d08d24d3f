# SPDX-License-Identifier: Apache-2.0
"""What a search text finds among the stored objects of a kind, as conditions of SQL (ADR 162).

A text finds the objects that contain it in their id, name or what people write about them. An address or
prefix finds those with a field that covers it, and is a text for kinds without addresses. Queues have an
index for that (`weir.store.prefixes`). Of other kinds the bodies are looked through, which are canonical
JSON: a network that covers the address is one of 33 or 129 texts. A kind whose name is its only address,
as sets with many thousands of entries have it, is asked by the index of names instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from weir.fields import Address, Endpoint, Field, Group, Host, Many, Rows, SetMember
from weir.fields import Prefix as PrefixField
from weir.kinds import DECLARED
from weir.kinds.declaration import Declaration
from weir.model.objects import Kind
from weir.model.prefix import WIDTH, Prefix

SEARCH = """SELECT serial FROM object_version INDEXED BY object_now_search
WHERE kind = ? AND to_revision IS NULL AND instr(search, ?)"""
_NAMED = """SELECT serial FROM object_version INDEXED BY object_now_name
WHERE kind = ? AND to_revision IS NULL AND name IN ({})"""
_INSIDE = """SELECT serial FROM object_version INDEXED BY object_now
WHERE kind = ? AND to_revision IS NULL AND ({})"""
_ADDRESSES = (Address, Endpoint, Host, PrefixField, SetMember)

Query = tuple[str, list[str]]
"""A SELECT of serial numbers and its values."""


def query_for(kind: Kind, text: str, address: Prefix | None) -> Query:
    """What finds the objects of a kind; `address` is the text where it is one."""
    if address is None or not _has_addresses(kind):
        return SEARCH, [kind, text.casefold()]
    if _is_named_by_its_address(kind):
        names = _texts(address)
        return _NAMED.format(",".join("?" * len(names))), [kind, *names]
    pieces = _pieces(address)
    return _INSIDE.format(" OR ".join(["instr(body, ?)"] * len(pieces))), [kind, *pieces]


def _texts(address: Prefix) -> list[str]:
    """Every network that covers it, and itself, as fields have them."""
    width = WIDTH[address.family]
    covering = (
        Prefix(address.family, address.value >> (width - length) << (width - length), length)
        for length in range(address.length + 1)
    )
    texts = dict.fromkeys(network.text for network in covering)
    if address.length == width:
        alone = _alone(address)
        texts |= dict.fromkeys((alone, f"{alone}/{width}"))
    return list(texts)


def _pieces(address: Prefix) -> list[str]:
    """Pieces of JSON: the texts, and an address with any length or port behind it."""
    pieces = [f'"{text}"' for text in _texts(address)]
    if address.length == WIDTH[address.family]:
        alone = _alone(address)
        pieces += [f'"{alone}/', f'"[{alone}]:' if address.family == 6 else f'"{alone}:']
    return pieces


def _alone(address: Prefix) -> str:
    return address.text.partition("/")[0]


@cache
def _has_addresses(kind: Kind) -> bool:
    return any(True for _ in _addresses(DECLARED[kind]))


@cache
def _is_named_by_its_address(kind: Kind) -> bool:
    return list(_addresses(DECLARED[kind])) == [DECLARED[kind].named_by]


def _addresses(declaration: Declaration) -> Iterator[str]:
    """The fields that are or have addresses, by the name of the outermost."""
    return (member.name for member in declaration.members if _is_or_has(member.field))


def _is_or_has(field: Field) -> bool:
    if isinstance(field, Many):
        return isinstance(field.item, _ADDRESSES)
    if isinstance(field, Rows):
        return _is_or_has(field.group)
    if isinstance(field, Group):
        return any(_is_or_has(member.field) for member in field.members)
    return isinstance(field, _ADDRESSES)

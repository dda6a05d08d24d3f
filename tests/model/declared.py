# SPDX-License-Identifier: Apache-2.0
"""Objects of any kind for property tests, made from its declaration: few values, so that they collide.

An object is one draw, of two bytes for each of its fields: a draw for each value took nine tenths of the
tests' time. Zeros are the first of a field's values, so that a failing example shrinks towards them.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import singledispatch
from itertools import cycle, islice, product
from math import prod
from random import Random
from typing import Any

from hypothesis import strategies as st

from weir import fields
from weir.fields.members import Member
from weir.kinds.declaration import Declaration
from weir.model.pair import Pair
from weir.model.schedule import TimeWindow

INTERFACES = ("lan0", "wan0", "wan1", "gone0")
IDS = ("a", "b", "gone")
MOST = 500
"""So many of a group's combinations are tried where it has more; the same ones each time."""

Values = Sequence[Any]


def objects_of(declaration: Declaration) -> st.SearchStrategy[Any]:
    """Each field by itself is as it may be; what they are together is what rules are for."""
    ids = (declaration.kind,) if declaration.is_single else IDS[:2]
    return drawn(declaration.of, {"id": ids, **_members(declaration.members)})


def drawn(of: Any, values: Mapping[str, Values]) -> st.SearchStrategy[Any]:
    """What `of` makes of one of the values for each name."""

    def made(data: bytes) -> Any:
        numbers = (data[at] << 8 | data[at + 1] for at in range(0, size, 2))
        return of(**{name: some[n % len(some)] for (name, some), n in zip(chosen, numbers, strict=True)})

    chosen = list(values.items())
    size = 2 * len(chosen)
    return st.binary(min_size=size, max_size=size).map(made)


def _members(members: tuple[Member, ...]) -> dict[str, Values]:
    return {member.name: _member(member) for member in members}


def _member(member: Member) -> Values:
    found = values_of(member.field)
    if found is None:
        assert not member.required, f"{member.name}: which values has a {type(member.field).__name__}?"
        return (member.default,)
    return found if member.required else (*[member.default] * len(found), *found)


def combined(*parts: Values) -> list[tuple[Any, ...]]:
    """One of each: all combinations, or `MOST` of them."""
    if prod(map(len, parts)) <= MOST:
        return list(product(*parts))
    random = Random(0)
    return [tuple(map(random.choice, parts)) for _ in range(MOST)]


def up_to_two(values: Values) -> Values:
    """Lists of none, one or two that differ; each length as often as the others."""
    one = [(value,) for value in values]
    two = [pair for pair in combined(values, values) if pair[0] != pair[1]]
    most = max(len(one), len(two))
    return [item for some in ([()], one, two) for item in islice(cycle(some), most)]


@singledispatch
def values_of(_field: object) -> Values | None:
    """A few values of a field; None: it has its default, as no rule asks for it."""
    return None


@values_of.register
def _(field: fields.Text) -> Values | None:
    if field.min_chars:
        return ("a", "b")
    return (field.example,) if field.example else None


@values_of.register
def _(_field: fields.Label) -> Values:
    return ("acme", "bob")


@values_of.register
def _(_field: fields.Flag) -> Values:
    return (False, True)


@values_of.register
def _(field: fields.Whole) -> Values:
    return (field.low, min(field.low + 1, field.high), field.high)


@values_of.register
def _(_field: fields.Position) -> Values:
    return (0, 1, 2)


@values_of.register
def _(field: fields.Choice) -> Values:
    return tuple(field.choices)


@values_of.register
def _(field: fields.Word) -> Values:
    return tuple(field.choices)


@values_of.register
def _(field: fields.Ref) -> Values:
    return INTERFACES if field.kind == "interface" else (*IDS, *field.also)


@values_of.register
def _(_field: fields.Host) -> Values:
    return ("192.0.2.1", "192.0.2.2", "2001:db8::1", "fe80::1")


@values_of.register
def _(_field: fields.HostPart) -> Values:
    return ("::1", "::7", "::1000", "1::")


@values_of.register
def _(_field: fields.HostName) -> Values:
    return ("time.example.net", "192.0.2.1")


@values_of.register
def _(_field: fields.DnsName) -> Values:
    return ("mail.example.net", "www.example.net")


@values_of.register
def _(_field: fields.SshPublicKey) -> Values:
    kind = b"ssh-ed25519"
    blobs = (struct.pack(">I11sI32s", len(kind), kind, 32, bytes([number]) * 32) for number in (1, 2))
    return tuple(f"{kind.decode()} {b64encode(blob).decode()}" for blob in blobs)


@values_of.register
def _(_field: fields.Endpoint) -> Values:
    return ("vpn.example.net:51820", "198.51.100.7:51820")


@values_of.register
def _(_field: fields.Mailbox) -> Values:
    return ("noc@example.net", "boss@example.net")


@values_of.register
def _(_field: fields.Url) -> Values:
    return ("https://chat.example.net/hook", "http://192.0.2.1:8080/")


@values_of.register
def _(_field: fields.PublicKey) -> Values:
    return ("A" * 43 + "=", "B" * 42 + "A=")


@values_of.register
def _(_field: fields.Prefix) -> Values:
    return ("198.51.100.0/24", "198.51.100.0/25", "2001:db8::/32")


@values_of.register
def _(_field: fields.Address) -> Values:
    return ("192.0.2.1/24", "2001:db8::1/64")


@values_of.register
def _(_field: fields.Port) -> Values:
    return (53, 80)


@values_of.register
def _(_field: fields.Ports) -> Values:
    return ("80", "1000-2000")


@values_of.register
def _(_field: fields.AddressRange) -> Values:
    return ("192.0.2.10", "198.51.100.7-198.51.100.9")


@values_of.register
def _(_field: fields.Mac) -> Values:
    return ("02:00:5e:10:00:01", "02:00:5e:10:00:02")


@values_of.register
def _(_field: fields.Vlans) -> Values:
    return ("1", "7", "7-9")


@values_of.register
def _(_field: fields.SetMember) -> Values:
    return ("192.0.2.1", "198.51.100.0/24", "2001:db8::1", "80")


@values_of.register
def _(_field: fields.Target) -> Values:
    return ("192.0.2.1/32", "198.51.100.0/24@2", "lan0")


@values_of.register
def _(_field: fields.End) -> Values:
    return ("203.0.113.0/24", "wan0")


@values_of.register
def _(field: fields.EachWay) -> Values:
    inner = values_of(field.item)
    assert inner is not None
    return [Pair(*both) for both in combined(inner, inner)]


@values_of.register
def _(_field: fields.Hours) -> Values:
    return (None, TimeWindow(480, 1080, ("mon", "sun")))


@values_of.register
def _(field: fields.Many) -> Values:
    inner = values_of(field.item)
    assert inner is not None
    return up_to_two(inner)


@values_of.register
def _(field: fields.Group) -> Values:
    members = _members(field.members)
    return [field.of(**dict(zip(members, some, strict=True))) for some in combined(*members.values())]


@values_of.register
def _(field: fields.Rows) -> Values:
    inner = values_of(field.group)
    assert inner is not None
    some = up_to_two(inner)
    return [rows for rows in some if len({getattr(row, field.by) for row in rows}) == len(rows)]

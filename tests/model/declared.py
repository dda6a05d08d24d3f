# SPDX-License-Identifier: Apache-2.0
"""Objects of any kind for property tests, made from its declaration: few values, so that they collide."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from hypothesis import strategies as st

from weir import fields
from weir.fields.members import Member
from weir.kinds.declaration import Declaration
from weir.model.pair import Pair
from weir.model.schedule import TimeWindow

INTERFACES = ("lan0", "wan0", "wan1", "gone0")
IDS = ("a", "b", "gone")


def objects_of(declaration: Declaration) -> st.SearchStrategy[Any]:
    """Each field by itself is as it may be; what they are together is what rules are for."""
    kind = declaration.of
    ids = st.just(declaration.kind) if declaration.is_single else st.sampled_from(IDS[:2])
    return st.builds(kind, id=ids, **_members(declaration.members))


def _members(members: tuple[Member, ...]) -> dict[str, st.SearchStrategy[Any]]:
    return {member.name: _member(member) for member in members}


def _member(member: Member) -> st.SearchStrategy[Any]:
    found = values_of(member.field)
    if found is None:
        assert not member.required, f"{member.name}: which values has a {type(member.field).__name__}?"
        return st.just(member.default)
    return found if member.required else st.one_of(st.just(member.default), found)


@singledispatch
def values_of(_field: object) -> st.SearchStrategy[Any] | None:
    """A few values of a field; None: it has its default, as no rule asks for it."""
    return None


def _several(*values: object) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


@values_of.register
def _(field: fields.Text) -> st.SearchStrategy[Any] | None:
    if field.min_chars:
        return _several("a", "b")
    return _several(field.example) if field.example else None


@values_of.register
def _(_field: fields.Label) -> st.SearchStrategy[Any]:
    return _several("acme", "bob")


@values_of.register
def _(_field: fields.Flag) -> st.SearchStrategy[Any]:
    return st.booleans()


@values_of.register
def _(field: fields.Whole) -> st.SearchStrategy[Any]:
    return _several(field.low, min(field.low + 1, field.high), field.high)


@values_of.register
def _(_field: fields.Position) -> st.SearchStrategy[Any]:
    return st.integers(0, 2)


@values_of.register
def _(field: fields.Choice) -> st.SearchStrategy[Any]:
    return _several(*field.choices)


@values_of.register
def _(field: fields.Word) -> st.SearchStrategy[Any]:
    return _several(*field.choices)


@values_of.register
def _(field: fields.Ref) -> st.SearchStrategy[Any]:
    return _several(*(INTERFACES if field.kind == "interface" else (*IDS, *field.also)))


@values_of.register
def _(_field: fields.Host) -> st.SearchStrategy[Any]:
    return _several("192.0.2.1", "192.0.2.2", "2001:db8::1", "fe80::1")


@values_of.register
def _(_field: fields.HostName) -> st.SearchStrategy[Any]:
    return _several("time.example.net", "192.0.2.1")


@values_of.register
def _(_field: fields.Endpoint) -> st.SearchStrategy[Any]:
    return _several("vpn.example.net:51820", "198.51.100.7:51820")


@values_of.register
def _(_field: fields.Mailbox) -> st.SearchStrategy[Any]:
    return _several("noc@example.net", "boss@example.net")


@values_of.register
def _(_field: fields.Url) -> st.SearchStrategy[Any]:
    return _several("https://chat.example.net/hook", "http://192.0.2.1:8080/")


@values_of.register
def _(_field: fields.PublicKey) -> st.SearchStrategy[Any]:
    return _several("A" * 43 + "=", "B" * 42 + "A=")


@values_of.register
def _(_field: fields.Prefix) -> st.SearchStrategy[Any]:
    return _several("198.51.100.0/24", "198.51.100.0/25", "2001:db8::/32")


@values_of.register
def _(_field: fields.Address) -> st.SearchStrategy[Any]:
    return _several("192.0.2.1/24", "2001:db8::1/64")


@values_of.register
def _(_field: fields.Port) -> st.SearchStrategy[Any]:
    return _several(53, 80)


@values_of.register
def _(_field: fields.Ports) -> st.SearchStrategy[Any]:
    return _several("80", "1000-2000")


@values_of.register
def _(_field: fields.AddressRange) -> st.SearchStrategy[Any]:
    return _several("192.0.2.10", "198.51.100.7-198.51.100.9")


@values_of.register
def _(_field: fields.Mac) -> st.SearchStrategy[Any]:
    return _several("02:00:5e:10:00:01", "02:00:5e:10:00:02")


@values_of.register
def _(_field: fields.Vlans) -> st.SearchStrategy[Any]:
    return _several("1", "7", "7-9")


@values_of.register
def _(_field: fields.SetMember) -> st.SearchStrategy[Any]:
    return _several("192.0.2.1", "198.51.100.0/24", "2001:db8::1", "80")


@values_of.register
def _(_field: fields.Target) -> st.SearchStrategy[Any]:
    return _several("192.0.2.1/32", "198.51.100.0/24@2", "lan0")


@values_of.register
def _(_field: fields.End) -> st.SearchStrategy[Any]:
    return _several("203.0.113.0/24", "wan0")


@values_of.register
def _(field: fields.EachWay) -> st.SearchStrategy[Any]:
    inner = values_of(field.item)
    assert inner is not None
    return st.builds(Pair, inner, inner)


@values_of.register
def _(_field: fields.Hours) -> st.SearchStrategy[Any]:
    return _several(None, TimeWindow(480, 1080, ("mon", "sun")))


@values_of.register
def _(field: fields.Many) -> st.SearchStrategy[Any]:
    inner = values_of(field.item)
    assert inner is not None
    return st.lists(inner, max_size=2, unique=True).map(tuple)


@values_of.register
def _(field: fields.Group) -> st.SearchStrategy[Any]:
    return st.builds(field.of, **_members(field.members))


@values_of.register
def _(field: fields.Rows) -> st.SearchStrategy[Any]:
    inner = values_of(field.group)
    assert inner is not None
    return st.lists(inner, max_size=2, unique_by=lambda item: getattr(item, field.by)).map(tuple)

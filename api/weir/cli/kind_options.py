# SPDX-License-Identifier: Apache-2.0
"""Options of commands for declared fields, what may be given to them, and the body that they describe."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from weir.cli.quantities import WINDOW, PairType, RateType
from weir.fields import Choice, EachWay, Field, Flag, Hours, Many, OneOf, Pem, Rows, Secret, Table, Whole
from weir.fields import Group as GroupField
from weir.fields.members import Member
from weir.kinds.words import unit_of

Json = dict[str, Any]


def parameters_of(members: Iterable[Member]) -> list[click.Parameter]:
    """Arguments for the members that must be given, options for the others."""
    members = tuple(members)
    needed = [click.Argument([item.name], type=type_of(item.field)) for item in members if item.required]
    return [*needed, *options_of(item for item in members if not item.required)]


def options_of(members: Iterable[Member], within: str = "") -> list[click.Parameter]:
    found: list[click.Parameter] = []
    for member in members:
        if isinstance(member.field, GroupField):
            found += options_of(member.field.members, f"{within}{member.name}{_INSIDE}")
        else:
            found.append(_option(member, within))
    return found


_INSIDE = "__"
"""Joins the name of a group and that of a field in it, in the name of a parameter."""


def _option(member: Member, within: str) -> click.Option:
    """One option per field; those that are not given change nothing."""
    field, name = member.field, within + member.name
    word = name.replace(_INSIDE, "-").replace("_", "-")
    names = [f"--{word}", *([f"--{field.option}"] if field.option else [])]
    if isinstance(field, Flag):
        off = [" /--enabled"] if member.name == "disabled" else []
        return click.Option([f"--{word}/--no-{word}", *off, name], default=None, help=field.help or None)
    if isinstance(field, EachWay):
        said = f"{field.help} One value counts for both.".strip()
        return click.Option([*names, name], type=PairType(field.item, unit_of(member.name)), help=said)
    if isinstance(field, Hours):
        return click.Option([*names, name], type=WINDOW, help=field.help or None)
    if isinstance(field, Table):
        pairs = "NAME=VALUE; replaces all; may be repeated."
        return click.Option([*names, name], multiple=True, type=PAIR, help=pairs)
    if isinstance(field, Rows):
        row = RowType(field)
        said = f"{field.help} Each as {row.form}; replaces all; may be repeated.".strip()
        return click.Option([*names, name], multiple=True, type=row, help=said)
    if isinstance(field, Many):
        said = f"{field.help} Replaces all; may be repeated.".strip()
        return click.Option([*names, name], multiple=True, type=type_of(field.item), help=said)
    return click.Option([*names, name], type=type_of(field, unit_of(member.name)), help=field.help or None)


def choice_of(one_of: OneOf) -> click.Option:
    said = f"{one_of.help} It follows from the other options where it is left out."
    name = one_of.discriminator
    return click.Option([f"--{name}", name], type=click.Choice(one_of.names), help=said)


def type_of(field: Field, unit: str = "") -> click.ParamType:
    if isinstance(field, Whole) and unit == "bps":
        return RateType(field)
    if isinstance(field, Whole):
        return click.IntRange(field.low, field.high)
    if isinstance(field, Secret):
        return SECRET_LINES if field.lines else SECRET
    if isinstance(field, Pem):
        return PEM_FILE
    return click.Choice(field.choices) if isinstance(field, Choice) else click.STRING


class _SecretFile(click.ParamType):
    """The text in a file, or what is typed or piped in: an argument would be in the list of processes."""

    name = "FILE|-"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value == "-" and sys.stdin.isatty():
            return str(click.prompt("Secret", hide_input=True, err=True))
        try:
            text = self._piped() if value == "-" else Path(value).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError, ValueError):
            self.fail(f"{value!r} cannot be read: give a file, or - to be asked", param, ctx)
        return text.removesuffix("\n")

    def _piped(self) -> str:
        return sys.stdin.readline()


class _SecretLines(_SecretFile):
    """A key in PEM, which nobody types: `-` takes all that is piped in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value == "-" and sys.stdin.isatty():
            self.fail("a key has several lines: give its file, or pipe it in", param, ctx)
        return super().convert(value, param, ctx)

    def _piped(self) -> str:
        return sys.stdin.read()


class _PemFile(click.ParamType):
    """Certificates in a file; "" is none."""

    name = "FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return Path(value).read_text(encoding="ascii") if value else ""
        except (OSError, ValueError):
            self.fail(f"{value!r} cannot be read as certificates in PEM", param, ctx)


SECRET, SECRET_LINES, PEM_FILE = _SecretFile(), _SecretLines(), _PemFile()


class _Pair(click.ParamType):
    name = "NAME=VALUE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        name, sign, text = str(value).partition("=")
        if not sign:
            self.fail(f"{value!r} is not NAME=VALUE", param, ctx)
        return name, text


PAIR = _Pair()


class RowType(click.ParamType):
    """One of several groups: the value in which they differ, and the others by name; `+` is between several
    values of one."""

    def __init__(self, field: Rows) -> None:
        self._members = {item.name: item.field for item in field.group.members}
        self._by = field.by
        others = "".join(
            f"[,{name}=...{'+...' if isinstance(field, Many) else ''}]"
            for name, field in self._members.items()
            if name != self._by
        )
        self.form = self.name = f"{self._by.upper()}{others}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Json:
        first, *others = str(value).split(",")
        row = {self._by: first}
        for text in others:
            name, sign, said = text.partition("=")
            if not sign or name not in self._members:
                self.fail(f"{text!r} in {value!r} is not one of {self.form}", param, ctx)
            row[name] = said
        return {name: self._value(name, said, param, ctx) for name, said in row.items()}

    def _value(self, name: str, said: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        field = self._members[name]
        if isinstance(field, Many):
            return [type_of(field.item).convert(item, param, ctx) for item in said.split("+") if item]
        return (click.BOOL if isinstance(field, Flag) else type_of(field)).convert(said, param, ctx)


def given_body(values: Json) -> Json:
    """The body that options describe; those of a group are together in it."""
    body: Json = {}
    for name, value in values.items():
        if value not in (None, ()):
            *groups, last = name.split(_INSIDE)
            place = body
            for group in groups:
                place = place.setdefault(group, {})
            place[last] = _body_value(value)
    return body


def _body_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return dict(value) if isinstance(value[0], tuple) else list(value)
    return value

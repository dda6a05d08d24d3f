# SPDX-License-Identifier: Apache-2.0
"""What a menu of RouterOS becomes: which property is which field, and what is said of all others.

A menu is a table. `take` puts what was read into the router that is being made; most menus need no more than
a few lines of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from weir.formats.report import LineDraft, quoted
from weir.formats.routeros.secrets import may_be_secret
from weir.model.problem import Invalid

if TYPE_CHECKING:
    from weir.formats.routeros.menus.router import Router

ANY: tuple[str, ...] = ()
"""Of `usual`: whatever the value is, Weir has nothing to say about it."""


Reader = Callable[[str, "Row"], object]


@dataclass(frozen=True, slots=True)
class Property:
    """`read` makes the value of `field` out of the text; it raises `ValueError` or `Invalid`."""

    field: str
    read: Reader


@dataclass(frozen=True, slots=True)
class Menu:
    """`usual` names properties that may be left off without a word, with the values of which that is true.

    With `must_fit` every property narrows what is meant: one that cannot be expressed is kept in `Row.unfit`,
    and the object must not be in force without it. Of one that `is_opaque` no property is read or shown.
    One that `makes_interface` says what an interface is called. `after` follows when all commands were read.
    `lose` is told of every command that was left out, also of one that could not be read: its verb, and the
    properties that are known.
    """

    path: str
    becomes: str
    take: Callable[[Router, Row], None]
    fields: Mapping[str, Property] = field(default_factory=dict)
    usual: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    verbs: tuple[str, ...] = ("add",)
    must_fit: bool = False
    is_opaque: bool = False
    makes_interface: bool = False
    after: Callable[[Router], None] | None = None
    lose: Callable[[Router, str, Mapping[str, str]], None] | None = None

    @property
    def root(self) -> str:
        """`/ip` or `/ipv6`, of menus that there are for both."""
        return self.path.partition(" ")[0]

    @property
    def words(self) -> tuple[str, ...]:
        """The path as commands have it."""
        return tuple(self.path.strip("/").split(" "))


class Row:
    """One command of a menu, `place` is its number there. `values` are by field, `unfit` what narrows it and
    cannot be expressed."""

    __slots__ = ("given", "line", "menu", "place", "router", "unfit", "values", "verb")

    def __init__(
        self, menu: Menu, router: Router, verb: str, given: Mapping[str, str], line: LineDraft, place: int
    ) -> None:
        self.menu, self.router, self.verb, self.given, self.line = menu, router, verb, given, line
        self.place = place
        self.values: dict[str, Any] = {}
        self.unfit: list[str] = []

    def read(self) -> None:
        """Fill in `values`. Raises `ValueError` with the sentence for the report."""
        if self.menu.is_opaque:
            return
        not_taken: list[str] = []
        for key, text in self.given.items():
            known = self.menu.fields.get(key)
            if self._is_usual(key, text):
                continue
            if known is not None:
                self._take(key, known, text)
            else:
                not_taken.append(self.shown(key))
        if not_taken and self.menu.must_fit:
            self.unfit += not_taken
        elif not_taken:
            self.warn("not-taken", f"Not taken: {', '.join(not_taken)}.")

    def _take(self, key: str, known: Property, text: str) -> None:
        try:
            self.values[known.field] = known.read(text, self)
        except (ValueError, Invalid) as problem:
            why = problem.message if isinstance(problem, Invalid) else str(problem)
            if not self.menu.must_fit:
                raise ValueError(f"{self.shown(key)}: {why.rstrip('.')}.") from problem
            self.unfit.append(f"{self.shown(key)} ({why.rstrip('.')})")

    def _is_usual(self, key: str, text: str) -> bool:
        usual = self.menu.usual.get(key)
        return usual is not None and (usual == ANY or text in usual)

    def shown(self, key: str) -> str:
        """A property inside a sentence."""
        return key if may_be_secret(key) else f"{key}={quoted(self.given[key])}"

    @property
    def is_disabled(self) -> bool:
        """Also of one that was not read, or could not be."""
        return self.given.get("disabled", "").lower() in ("yes", "true")

    def get(self, name: str, default: Any = None) -> Any:
        return self.values.get(name, default)

    def need(self, name: str, key: str) -> Any:
        """Raises `ValueError` where the command does not say it."""
        if self.values.get(name) in (None, ""):
            raise ValueError(f"It has no {key}.")
        return self.values[name]

    def some(self, *names: str) -> dict[str, Any]:
        """Those of these fields that the command says."""
        return {name: self.values[name] for name in names if name in self.values}

    def changed(self, code: str, text: str) -> None:
        self.line.note("changed", code, text)

    def warn(self, code: str, text: str) -> None:
        self.line.note("warning", code, text)

    def leave_out(self, code: str, text: str) -> None:
        self.line.note("left-out", code, text)

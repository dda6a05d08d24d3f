# SPDX-License-Identifier: Apache-2.0
"""A kind is declared once; what is wrong with a declaration is said when it is imported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, make_dataclass, replace
from typing import Annotated, ClassVar

import pytest

from weir.fields import INTERFACE_NAMES, Flag, Ref, Text, Whole
from weir.fields.members import members_of
from weir.kinds.declaration import Declaration
from weir.kinds.references import reference_rule, still_named
from weir.model.document import Change, Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding
from weir.model.reader import Reader
from weir.model.rule import View
from weir.store import bodies


@dataclass(frozen=True, slots=True)
class Lamp(ConfigObject):
    """A light beside an interface."""

    kind: ClassVar[Kind] = "lamp"
    id: str
    colour: Annotated[str, Text(8, example="green")]
    beside: Annotated[str | None, Ref("interface", INTERFACE_NAMES)] = None
    level: Annotated[int, Whole(0, 9)] = 5
    disabled: Annotated[bool, Flag()] = False


LAMP = Declaration(Lamp, singular="lamp", plural="lamps", short="lamp", about="Lights.")
ETH0 = Interface("eth0")


def read(body: dict[str, object]) -> tuple[ConfigObject, list[str]]:
    findings: list[Finding] = []
    item = LAMP.read(Reader(body, "lamp", "l1", findings))
    return item, [f"{found.code} {found.path} {found.message}" for found in findings]


def test_what_is_left_out_takes_its_default() -> None:
    item, findings = read({"colour": "red"})
    assert (item, findings) == (Lamp("l1", "red"), [])
    assert LAMP.to_json(item) == {
        "id": "l1",
        "colour": "red",
        "beside": None,
        "level": 5,
        "disabled": False,
    }
    assert LAMP.to_stored_json(item) == {"id": "l1", "colour": "red"}


def test_null_is_a_value_only_where_a_field_may_be_none() -> None:
    assert read({"colour": "red", "beside": None}) == (Lamp("l1", "red"), [])
    assert read({"colour": None, "level": None})[1] == [
        "missing lamp/l1/colour colour must be given, for example green",
        "bad-number lamp/l1/level level must be a whole number from 0 to 9, not None",
    ]


def test_every_wrong_field_is_named_at_once() -> None:
    _, findings = read({"state": "on", "colour": 7, "level": 10, "disabled": 0})
    assert [found.split()[1] for found in findings] == [
        "lamp/l1/state",
        "lamp/l1/colour",
        "lamp/l1/level",
        "lamp/l1/disabled",
    ]


def said(*items: ConfigObject) -> Iterator[str]:
    document = Document(items)
    for item in document.every(Lamp):
        for found in reference_rule(LAMP).check(View(document), item):
            yield f"{found.severity} {found.code} {found.path}"


def test_a_reference_names_something_that_is_there_and_enabled() -> None:
    lamp = Lamp("l1", "red", "eth0")
    assert list(said(lamp, ETH0)) == []
    assert list(said(lamp)) == ["error unknown-interface lamp/l1/beside"]
    assert list(said(lamp, Interface("eth0", disabled=True))) == ["warning interface-disabled lamp/l1/beside"]
    assert list(said(Lamp("l1", "red", "eth0", disabled=True))) == []


def test_a_change_is_looked_at_by_those_that_name_it() -> None:
    lamps = [Lamp(f"l{n}", "red", f"eth{n}") for n in range(9)]
    view = View(Document([*lamps, ETH0]))
    rule = reference_rule(LAMP)

    def reached(old: ConfigObject | None, new: ConfigObject | None) -> list[str]:
        item = old or new
        assert item is not None
        return list(rule.reach(view, Change(item.kind, item.id, old, new)))

    assert reached(None, ETH0) == reached(ETH0, None) == ["l0"]
    assert reached(ETH0, replace(ETH0, disabled=True)) == ["l0"]
    assert reached(ETH0, replace(ETH0, description="x")) == []
    assert reached(lamps[3], replace(lamps[3], level=1)) == ["l3"]


def test_what_is_named_is_not_deleted() -> None:
    removal = Change("interface", "eth0", ETH0, None)
    lamps = [Lamp(f"l{n}", "red", "eth0", disabled=True) for n in range(5)]
    (found,) = still_named(LAMP, Document(lamps), removal)
    assert found.message == "interface 'eth0' is still named by lamp l0, lamp l1, lamp l2 and 2 more"
    assert list(still_named(LAMP, Document([Lamp("l1", "red", "eth1")]), removal)) == []


@pytest.mark.parametrize(
    ("hint", "default", "message"),
    [
        (int, 1, "needs one field type"),
        (Annotated[int, "a note"], 1, "needs one field type"),
        (Annotated[int, Whole(1, 2), Flag()], 1, "needs one field type"),
        (Annotated[int | None, Whole(1, 2)], 1, "None must be its default"),
    ],
)
def test_a_declaration_that_says_too_little_is_refused(hint: object, default: object, message: str) -> None:
    wrong = make_dataclass("Wrong", [("id", str), ("size", hint, default)], bases=(ConfigObject,))
    with pytest.raises(TypeError, match=f"Wrong.size .*{message}"):
        members_of(wrong, without="id")


class Note(ConfigObject):
    kind: ClassVar[Kind] = "note"


def test_a_name_that_may_be_none_is_refused() -> None:
    hint = Annotated[str | None, Text(20)]
    wrong = make_dataclass("Wrong", [("id", str), ("name", hint, None)], bases=(Note,))
    with pytest.raises(TypeError, match=r"Wrong.name is .* never None"):
        Declaration(wrong, singular="note", plural="notes", short="note", about="x")


def test_a_text_that_is_none_is_nothing_to_search_for(monkeypatch: pytest.MonkeyPatch) -> None:
    hint = Annotated[str | None, Text(20)]
    of = make_dataclass("Said", [("id", str), ("says", hint, None)], bases=(Note,), frozen=True)
    declared = Declaration(of, singular="note", plural="notes", short="note", about="x")
    monkeypatch.setattr(bodies, "DECLARED", {"note": declared})
    assert bodies.columns(of("n1"))[-1].split() == ["n1", "n1"]
    assert bodies.columns(of("n1", "Hello"))[-1].split() == ["n1", "n1", "hello"]


def test_a_name_of_a_field_is_not_that_of_what_is_learnt() -> None:
    wrong = make_dataclass("Wrong", [("id", str), ("size", Annotated[int, Whole(1, 2)], 1)], bases=(Note,))
    said = {"singular": "note", "plural": "notes", "short": "note", "about": "x"}
    with pytest.raises(TypeError, match="Wrong: size is both configured and learnt"):
        Declaration(wrong, **said, state={"size": Whole(1, 2)})

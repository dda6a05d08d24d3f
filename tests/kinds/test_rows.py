# SPDX-License-Identifier: Apache-2.0
"""A list of rows: each is a group, they differ in one field, and a default list holds while none is given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest

from tests.kinds.toys import Toy, declared, toy
from weir.fields import Flag, Host, Moment, Position, Rows, Whole
from weir.http.forms import described
from weir.http.reference import table
from weir.kinds.declaration import Declaration
from weir.model.codec import from_json, to_json, to_stored_json
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Invalid


@dataclass(frozen=True, slots=True)
class Perch:
    """A place to sit."""

    at: Annotated[str, Host(help="Where.")]
    height_ms: Annotated[int, Whole(0, 9000, help="How long a fall takes.")] = 500
    shady: Annotated[bool, Flag()] = False


@dataclass(frozen=True, slots=True)
class Cage(ConfigObject):
    """Birds live there."""

    kind: ClassVar[Kind] = "cage"
    id: str
    perches: Annotated[tuple[Perch, ...], Rows(Perch, 3, by="at", option="perch")] = (Perch("192.0.2.1"),)
    position: Annotated[int, Position()] = 0


CAGE = Declaration(
    Cage,
    singular="cage",
    plural="cages",
    short="cage",
    about="Cages.",
    columns=("fed_at",),
    state={"fed_at": Moment(help="Last fed."), "birds": Rows(Perch, 9, by="at")},
)


def refusals(body: dict[str, Any]) -> list[str]:
    with declared(CAGE), pytest.raises(Invalid) as refused:
        from_json("cage", body, "x")
    return [f"{found.code} {found.field}" for found in refused.value.findings]


def test_it_is_read_and_given_back_as_a_list_of_objects() -> None:
    with declared(CAGE):
        item = from_json("cage", {"perches": [{"at": "192.0.2.7", "shady": True}]}, "x")
        assert to_json(item)["perches"] == [{"at": "192.0.2.7", "height_ms": 500, "shady": True}]
        assert from_json("cage", to_stored_json(item), "x") == item


@pytest.mark.parametrize("body", [{}, {"perches": None}])
def test_the_default_is_what_holds_when_it_is_left_out_and_no_row_is_a_value(body: dict[str, Any]) -> None:
    with declared(CAGE):
        item = from_json("cage", body, "x")
        assert isinstance(item, Cage) and item.perches == (Perch("192.0.2.1"),)
        assert "perches" not in to_stored_json(item)
        none = from_json("cage", {"perches": []}, "x")
        assert from_json("cage", to_stored_json(none), "x") == none != item


@pytest.mark.parametrize(
    ("perches", "said"),
    [
        ("x", ["bad-list perches"]),
        ([{"at": "1.1.1.1"}] * 4, ["too-many perches"]),
        ([None], ["bad-object perches[0]"]),
        ([{"at": "1.1.1.1"}, 7], ["bad-object perches[1]"]),
        ([{}], ["missing perches[0].at"]),
        ([{"at": "1.1.1.1", "height_ms": -1}], ["bad-number perches[0].height_ms"]),
        ([{"at": "1.1.1.1", "soft": 1}], ["unknown-field perches[0].soft"]),
        ([{"at": "1.1.1.1"}, {"at": "1.1.1.1"}], ["repeated perches[1].at"]),
    ],
)
def test_what_is_wrong_is_named_by_its_place(perches: Any, said: list[str]) -> None:
    assert refusals({"perches": perches}) == said


@pytest.fixture
def zoo(tmp_path: Path) -> Iterator[Toy]:
    with toy(tmp_path, CAGE) as found:
        yield found


def test_the_command_line_takes_a_row_and_shows_state_in_a_list(zoo: Toy) -> None:
    zoo.weir("cage", "add", "a", "--perch", "192.0.2.3,height_ms=700,shady=yes", "--perch", "192.0.2.4")
    assert zoo.weir_json("cage", "show", "a")["perches"] == [
        {"at": "192.0.2.3", "height_ms": 700, "shady": True},
        {"at": "192.0.2.4", "height_ms": 500, "shady": False},
    ]
    assert "AT[,height_ms=...][,shady=...]" in zoo.weir("cage", "add", "b", "--perch", "1.1.1.1,soft", code=2)
    zoo.world.agent.learnt["cage"] = {"a": {"fed_at": "2026-01-01T00:00:00Z", "birds": [{"at": "192.0.2.9"}]}}
    assert "2026-01-01T00:00:00Z" in zoo.weir("cage", "list")
    assert "at 192.0.2.9" in zoo.weir("cage", "state", "a")


def test_the_browser_is_told_of_rows_state_and_order() -> None:
    with declared(CAGE):
        told = described()["cage"]
    fields = {field["name"]: field for field in told["fields"]}
    assert (fields["perches"]["type"], fields["perches"]["most"]) == ("rows", 3)
    at, height, _ = fields["perches"]["fields"]
    assert (at["required"], height["default"], height["unit"]) == (True, 500, "ms")
    assert fields["position"]["type"] == "position" and told["order"] == []
    assert [(item["name"], item["type"]) for item in told["state"]] == [
        ("fed_at", "moment"),
        ("birds", "rows"),
    ]
    assert "| `perches[].at` | an address; required | Where. |" in table(CAGE)

# SPDX-License-Identifier: Apache-2.0
"""A kind that is declared in a few lines has REST, a command line and its table in the reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import click
import pytest
from flask import Flask
from flask_smorest import Api

from weir.cli.kinds import group_of
from weir.fields import OBJECT_IDS, Choice, Flag, Host, Many, Table, Text, Whole
from weir.http.describing import described
from weir.http.reference import table
from weir.http.resources.kinds import resource_of
from weir.http.schemas.kinds import schemas_of
from weir.kinds import DECLARED
from weir.kinds.declaration import Declaration
from weir.model.objects import ConfigObject, Kind


@dataclass(frozen=True, slots=True)
class Bell(ConfigObject):
    """Something that rings."""

    kind: ClassVar[Kind] = "bell"
    id: str
    tone: Annotated[str, Choice("high", "low", help="How it sounds.")]
    strokes: Annotated[int, Whole(1, 9)] = 2
    silent: Annotated[bool, Flag()] = False
    tower: Annotated[str | None, Host()] = None
    hears: Annotated[tuple[str, ...], Many(Host(), 3)] = ()
    marks: Annotated[tuple[tuple[str, str], ...], Table(Text(10), 2)] = ()


BELL = Declaration(
    Bell,
    singular="church bell",
    plural="church bells",
    short="bell",
    about="Bells.",
    columns=("tone",),
    ids=replace(OBJECT_IDS, assigned="b"),
)


@pytest.fixture
def document(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, object]]:
    """The OpenAPI document of an application that has bells only."""
    monkeypatch.setitem(DECLARED, "bell", BELL)
    app = Flask("bells")
    app.config.update(API_TITLE="Bells", API_VERSION="v1", OPENAPI_VERSION="3.1.0")
    api = Api(app)
    api.register_blueprint(described(resource_of("bell", schemas_of("bell"))))
    return dict(api.spec.to_dict())


def test_it_has_all_operations(document: dict[str, dict[str, object]]) -> None:
    one, all_ = "/api/v1/church-bells/{bell_id}", "/api/v1/church-bells"
    assert document["paths"].keys() == {one, all_, f"{all_}/bulk", f"{one}/explain"}
    names = {
        (path, method): operation["operationId"]
        for path, found in document["paths"].items()
        for method, operation in found.items()  # type: ignore[attr-defined]
        if method != "parameters"
    }
    assert names == {
        (all_, "get"): "list_church_bells",
        (all_, "post"): "create_bell",
        (f"{all_}/bulk", "post"): "bulk_church_bells",
        (one, "get"): "get_bell",
        (one, "put"): "put_bell",
        (one, "patch"): "patch_bell",
        (one, "delete"): "delete_bell",
        (f"{one}/explain", "get"): "explain_bell",
    }


def test_its_schemas_say_what_is_accepted(document: dict[str, dict[str, object]]) -> None:
    schemas = document["components"]["schemas"]
    bell = schemas["BellInput"]["properties"]  # type: ignore[index]
    assert schemas["BellInput"]["required"] == ["tone"]  # type: ignore[index]
    assert bell["tone"] == {"type": "string", "enum": ["high", "low"], "description": "How it sounds."}
    assert bell["strokes"] == {"type": "integer", "default": 2, "minimum": 1, "maximum": 9}
    assert bell["tower"]["type"] == ["string", "null"] and bell["hears"]["maxItems"] == 3
    assert "required" not in schemas["BellPatch"]  # type: ignore[operator]


def test_it_has_a_command_line() -> None:
    group = group_of(BELL)
    assert sorted(group.commands) == ["add", "explain", "list", "rm", "set", "show"]
    options = {name for item in group.commands["set"].params for name in item.opts}
    assert options >= {"--tone", "--strokes", "--silent", "--tower", "--hears", "--marks", "--unset"}
    tone = next(item for item in group.commands["add"].params if item.name == "tone")
    assert isinstance(tone, click.Argument) and isinstance(tone.type, click.Choice)


def test_it_has_a_table_in_the_reference() -> None:
    rows = table(BELL).splitlines()
    assert rows[2] == "| `tone` | `high`, `low`; required | How it sounds. |"
    assert rows[3].startswith("| `strokes` | 1 to 9; 2 |")
    assert rows[5].startswith("| `tower` | an address, or null; null |")

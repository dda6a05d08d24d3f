# SPDX-License-Identifier: Apache-2.0
"""A kind declared in about 20 lines has everything: REST, command line, documents, history and backup."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

import pytest

from tests.kinds.toys import Toy, toy
from weir.fields import INTERFACE_NAMES, OBJECT_IDS, Choice, Flag, Many, Port, Ref, Text, Whole
from weir.http import forms
from weir.http.reference import table
from weir.kinds.declaration import Declaration
from weir.model.objects import ConfigObject, Kind


@dataclass(frozen=True, slots=True)
class Buoy(ConfigObject):
    """Something that floats."""

    kind: ClassVar[Kind] = "buoy"
    id: str
    colour: Annotated[str, Choice("red", "green", help="Which side of the channel it marks.")]
    anchor: Annotated[str | None, Ref("interface", INTERFACE_NAMES, help="What holds it.")] = None
    depth_m: Annotated[int, Whole(1, 99, help="Depth of the water.")] = 5
    ports: Annotated[tuple[int, ...], Many(Port(), 4, help="Where it listens.")] = ()
    comment: Annotated[str, Text(50, help="For people.")] = ""
    disabled: Annotated[bool, Flag(help="Kept, and not in force.")] = False


BUOY = Declaration(
    Buoy,
    singular="buoy",
    plural="buoys",
    short="buoy",
    about="Buoys.",
    ids=replace(OBJECT_IDS, assigned="b"),
    columns=("colour",),
)
FULL = {
    "id": "b1",
    "colour": "red",
    "anchor": None,
    "depth_m": 5,
    "ports": [],
    "comment": "",
    "disabled": False,
}


@pytest.fixture
def harbour(tmp_path: Path) -> Iterator[Toy]:
    with toy(tmp_path, BUOY) as found:
        yield found


def test_rest_creates_shows_replaces_patches_and_deletes(harbour: Toy) -> None:
    api = harbour.api
    made = api("POST", "/buoys", {"colour": "red"})
    assert (made.status_code, made.headers["Location"]) == (201, "/api/v1/buoys/b1")
    etag = made.json["etag"]
    assert api("GET", "/buoys/b1").json == {**FULL, "etag": etag, "warnings": []}
    assert api("PATCH", "/buoys/b1", {"depth_m": 7}).status_code == 428
    patched = api("PATCH", "/buoys/b1", {"depth_m": 7}, etag=etag)
    assert patched.json["depth_m"] == 7
    assert api("PUT", "/buoys/b1", {"colour": "green"}, etag=etag).status_code == 412
    replaced = api("PUT", "/buoys/b1", {"colour": "green"}, etag=patched.json["etag"])
    assert (replaced.json["colour"], replaced.json["depth_m"]) == ("green", 5)
    assert api("DELETE", "/buoys/b1", etag=replaced.json["etag"]).status_code == 204
    assert api("GET", "/buoys/b1").status_code == 404


def test_rest_pages_and_changes_many_at_once(harbour: Toy) -> None:
    api = harbour.api
    body = {"upsert": [{"colour": "red"} for _ in range(5)] + [{"id": "own", "colour": "green"}]}
    answer = api("POST", "/buoys/bulk", body)
    assert (answer.status_code, answer.json["revision"]) == (200, 1)
    assert answer.json["upserted"] == ["b1", "b2", "b3", "b4", "b5", "own"]
    first = api("GET", "/buoys?limit=4").json
    second = api("GET", f"/buoys?limit=4&cursor={first['next_cursor']}").json
    assert [item["id"] for item in first["items"] + second["items"]] == answer.json["upserted"]
    assert (first["total"], second["next_cursor"]) == (6, None)
    gone = api("POST", "/buoys/bulk", {"delete": ["b1", "own"], "upsert": [{"id": "b2", "colour": "green"}]})
    assert gone.json["deleted"] == ["b1", "own"]
    refused = api("POST", "/buoys/bulk", {"upsert": [{"colour": "red"}, {"colour": "pink", "depth_m": 0}]})
    assert [item["field"] for item in refused.json["findings"]] == ["upsert[1].colour", "upsert[1].depth_m"]
    stale = {"upsert": [{"id": "b2", "colour": "red", "etag": "r1"}]}
    assert api("POST", "/buoys/bulk", stale).status_code == 412


def test_changes_are_staged_shown_and_committed(harbour: Toy) -> None:
    api = harbour.api
    api("POST", "/buoys", {"colour": "red"})
    staged = api("PATCH", "/buoys/b1?candidate=1", {"depth_m": 9}, etag="r1")
    assert (staged.status_code, staged.json["kind"], staged.json["ids"]) == (202, "buoy", ["b1"])
    new = {"kind": "buoy", "id": None, "new": {"colour": "red"}}
    assert api("PUT", "/candidate/changes", {"changes": [new]}).status_code == 200
    (change, added) = api("GET", "/candidate/diff").json["changes"]
    assert change["fields"] == [{"field": "depth_m", "old": 5, "new": 9}]
    assert (added["action"], added["new"]["colour"]) == ("add", "red")
    assert api("GET", "/buoys/b1").json["depth_m"] == 5
    assert api("POST", "/candidate/commit", {}).status_code == 200
    assert api("GET", "/buoys/b1").json["depth_m"] == 9
    assert harbour.world.agent.kernel["buoy", "b1"].depth_m == 9


def test_what_it_names_must_be_there(harbour: Toy) -> None:
    refused = harbour.api("POST", "/buoys", {"colour": "red", "anchor": "eth9"})
    assert refused.json["findings"][0]["code"] == "unknown-interface"
    harbour.api("PUT", "/interfaces/eth9", {})
    assert harbour.api("POST", "/buoys", {"colour": "red", "anchor": "eth9"}).status_code == 201
    etag = harbour.api("GET", "/interfaces/eth9").json["etag"]
    gone = harbour.api("DELETE", "/interfaces/eth9", etag=etag)
    assert gone.json["findings"][0]["code"] == "still-referenced"


def test_it_has_a_command_line(harbour: Toy) -> None:
    harbour.weir("buoy", "add", "red", "--ports", "80", "--ports", "443")
    harbour.weir("buoy", "set", "b1", "--depth-m", "8", "--comment", "north")
    assert harbour.weir_json("buoy", "show", "b1") | {"etag": "", "warnings": []} == {
        **FULL,
        "depth_m": 8,
        "ports": [80, 443],
        "comment": "north",
        "etag": "",
        "warnings": [],
    }
    assert "red" in harbour.weir("buoy", "list")
    harbour.weir("buoy", "set", "b1", "--unset", "depth_m")
    assert harbour.weir_json("buoy", "show", "b1")["depth_m"] == 5
    assert "red, green" in harbour.weir("buoy", "add", "pink", code=2).replace("'", "")
    harbour.weir("buoy", "rm", "b1")
    assert harbour.weir_json("buoy", "list")["items"] == []


def test_it_says_what_the_system_has_of_an_object(harbour: Toy) -> None:
    api = harbour.api
    assert api("GET", "/buoys/b1/explain").status_code == 404
    api("POST", "/buoys", {"colour": "red"})
    found = api("GET", "/buoys/b1/explain").json
    assert (found["id"], found["agrees"], found["revision"]) == ("b1", True, 1)
    assert found["lines"][0] == {
        "part": "toys", "field": "id", "asked": "b1", "compiled": "b1", "system": "it is so", "agrees": True
    }  # fmt: skip
    assert found["drift"][0]["what"] == "add toy"
    said = harbour.weir("buoy", "explain", "b1")
    assert "it is so" in said and "The system agrees." in said and "Repaired in toys: add toy" in said
    harbour.world.agent.lost = "nobody answers"
    assert api("GET", "/buoys/b1/explain").json["agrees"] is None
    said = harbour.weir("buoy", "explain", "b1")
    assert "cannot be read: nobody answers" in said and "is not known" in said
    harbour.world.agent.__exit__(None, None, None)
    away = api("GET", "/buoys/b1/explain")
    harbour.world.agent.__enter__()
    assert away.status_code == 503 and away.json["code"]


def test_it_is_in_every_document(harbour: Toy) -> None:
    document = harbour.api("GET", "/openapi.json").json
    assert {"/api/v1/buoys", "/api/v1/buoys/{buoy_id}", "/api/v1/buoys/bulk"} <= document["paths"].keys()
    assert "buoy" in document["components"]["schemas"]["ChangeInput"]["discriminator"]["mapping"]
    fields = {item["name"]: item for item in json.loads(forms.files()["forms.json"])["buoy"]["fields"]}
    assert fields["colour"]["help"] == "Which side of the channel it marks."
    assert fields["depth_m"]["high"] == 99
    assert "| `depth_m` | 1 to 99; 5 | Depth of the water. |" in table(BUOY)


def test_it_has_a_history_and_is_in_the_backup(harbour: Toy) -> None:
    api = harbour.api
    api("POST", "/buoys", {"colour": "red"})
    api("PATCH", "/buoys/b1", {"colour": "green"}, etag="r1")
    saved = api("GET", "/backup").data
    (change,) = api("GET", "/revisions/1/diff/2").json["changes"]
    assert change["fields"] == [{"field": "colour", "old": "red", "new": "green"}]
    api("DELETE", "/buoys/b1", etag="r2")
    sent = api("POST", "/backup/restore", data=saved, content_type="application/octet-stream")
    assert sent.status_code == 200, sent.text
    assert api("GET", "/buoys/b1").json["colour"] == "green"
    api("POST", "/revisions/1/restore", {})
    assert api("GET", "/buoys/b1").json["colour"] == "red"

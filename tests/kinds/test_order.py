# SPDX-License-Identifier: Apache-2.0
"""Objects of an ordered kind have places among each other; a move changes one of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

import pytest

from tests.kinds.toys import Toy, toy
from weir.fields import OBJECT_IDS, Choice, Position, Text
from weir.fields.position import MAX_POSITION
from weir.kinds.declaration import Declaration
from weir.kinds.ordering import changes_to_move, in_order
from weir.model.document import Document
from weir.model.objects import ConfigObject, Kind


@dataclass(frozen=True, slots=True)
class Guest(ConfigObject):
    """Somebody in a queue at a door."""

    kind: ClassVar[Kind] = "guest"
    id: str
    door: Annotated[str, Choice("front", "back")] = "front"
    position: Annotated[int, Position("door", help="Who comes first.")] = 0
    comment: Annotated[str, Text(20)] = ""


GUEST = Declaration(
    Guest,
    singular="guest",
    plural="guests",
    short="guest",
    about="Guests.",
    ids=replace(OBJECT_IDS, assigned="g"),
    columns=("door",),
)


@pytest.fixture
def party(tmp_path: Path) -> Iterator[Toy]:
    with toy(tmp_path, GUEST) as found:
        for _ in range(3):
            assert found.api("POST", "/guests", {}).status_code == 201
        assert found.api("POST", "/guests", {"door": "back"}).status_code == 201
        yield found


def order(party: Toy, door: str = "front") -> list[str]:
    items = party.api("GET", "/guests?limit=1000").json["items"]
    return [item["id"] for item in items if item["door"] == door]


def test_what_is_new_comes_last_and_what_is_replaced_stays(party: Toy) -> None:
    api = party.api
    assert order(party) == ["g1", "g2", "g3"]
    shown = api("GET", "/guests/g1").json
    assert api("PUT", "/guests/g1", {"comment": "again"}, etag=shown["etag"]).status_code == 200
    assert order(party) == ["g1", "g2", "g3"]
    last = api("PATCH", "/guests/g1", {"position": None}, etag=api("GET", "/guests/g1").json["etag"])
    assert last.status_code == 200 and order(party) == ["g2", "g3", "g1"]
    api("POST", "/guests/bulk", {"upsert": [{"id": "x"}, {"id": "g2", "comment": "b"}, {"id": "a"}]})
    assert order(party) == ["g2", "g3", "g1", "x", "a"]
    new = [{"kind": "guest", "id": name, "new": {}} for name in ("z", "b", "g3")]
    assert api("PUT", "/candidate/changes", {"changes": new}).status_code == 200
    api("POST", "/candidate/commit", {})
    assert order(party) == ["g2", "g3", "g1", "x", "a", "z", "b"]


def test_a_move_is_one_change(party: Toy) -> None:
    for where, after in (
        ({"before": "g1"}, ["g3", "g1", "g2"]),
        ({"after": "g1"}, ["g1", "g3", "g2"]),
        ({}, ["g1", "g2", "g3"]),
        ({"after": "g2"}, ["g1", "g2", "g3"]),
    ):
        moved = party.api("POST", "/guests/g3/move", where)
        assert (moved.status_code, order(party)) == (200, after), where
    moves = [item["change_count"] for item in party.api("GET", "/revisions").json["items"][:3]]
    assert moves == [1, 1, 1]
    assert order(party, "back") == ["g4"]


@pytest.mark.parametrize(
    ("where", "code"),
    [
        ({"before": "g4"}, "not-a-sibling"),
        ({"after": "nobody"}, "not-a-sibling"),
        ({"before": "g1", "after": "g2"}, "invalid-request"),
        ({"before": 7}, "invalid-request"),
        ({"near": "g1"}, "invalid-request"),
    ],
)
def test_a_move_that_cannot_be_is_refused(party: Toy, where: dict[str, object], code: str) -> None:
    refused = party.api("POST", "/guests/g3/move", where)
    assert (refused.status_code, refused.json["code"]) == (422, code)
    assert party.api("POST", "/guests/nobody/move", {}).status_code == 404


def test_moves_are_staged_on_one_another(party: Toy) -> None:
    api = party.api
    assert api("POST", "/guests/g3/move?candidate=1", {"before": "g1"}).status_code == 202
    assert api("POST", "/guests/g2/move?candidate=1", {"before": "g1"}).status_code == 202
    changes = api("GET", "/candidate/diff").json["changes"]
    assert [(item["id"], item["fields"][0]["field"]) for item in changes] == [
        ("g3", "position"),
        ("g2", "position"),
    ]
    assert order(party) == ["g1", "g2", "g3"]
    api("POST", "/candidate/commit", {})
    assert order(party) == ["g3", "g2", "g1"]


def test_the_command_moves(party: Toy) -> None:
    party.weir("guest", "move", "g3", "--before", "g2")
    assert order(party) == ["g1", "g3", "g2"]
    party.weir("guest", "move", "g1", "--after", "g3")
    party.weir("guest", "move", "g3")
    assert order(party) == ["g1", "g2", "g3"]
    assert "not both" in party.weir("guest", "move", "g1", "--after", "g3", "--before", "g2", code=2)


def moved(document: Document, names: list[str], name: str, at: int) -> int:
    """Move as told, in the document and in a list, and say how many objects changed."""
    names.remove(name)
    before = names[at] if at < len(names) else None
    changes = changes_to_move(document, GUEST, name, before, None)
    names.insert(at, name)
    document.apply(changes)
    return len(changes)


def test_ten_thousand_random_moves_keep_a_total_order() -> None:
    chance = random.Random(16)
    names = [f"g{number}" for number in range(40)]
    document = Document([Guest(name, position=(at + 1) << 32) for at, name in enumerate(names)])
    counts = [moved(document, names, chance.choice(names), chance.randrange(40)) for _ in range(10_000)]
    assert [item.id for item in in_order(document, GUEST, ("front",))] == names
    positions = [item.position for item in in_order(document, GUEST, ("front",))]
    assert len(set(positions)) == 40 and max(positions) <= MAX_POSITION
    assert sum(count > 1 for count in counts) < 100, "about every move is one row"


def test_moves_to_one_place_find_room_by_spreading_few() -> None:
    names = [f"g{number}" for number in range(1000)]
    document = Document([Guest(name, position=(at + 1) << 32) for at, name in enumerate(names)])
    counts = [moved(document, names, names[-1], 500) for _ in range(2000)]
    assert [item.id for item in in_order(document, GUEST, ("front",))] == names
    assert max(counts) < 200 and sum(counts) < 2 * len(counts)


def test_equal_positions_are_in_order_of_their_ids_and_can_be_parted() -> None:
    names = ["a", "b", "c", "d"]
    document = Document([Guest(name) for name in names])
    assert [item.id for item in in_order(document, GUEST, ("front",))] == names
    moved(document, names, "d", 1)
    assert [item.id for item in in_order(document, GUEST, ("front",))] == ["a", "d", "b", "c"]

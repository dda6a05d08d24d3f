# SPDX-License-Identifier: Apache-2.0
"""What the router learns about an object is shown beside it, with its age, and written by nobody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import pytest

from tests.kinds.toys import Toy, toy
from weir.fields import Host, Text, Whole
from weir.kinds.declaration import Declaration
from weir.model.objects import ConfigObject, Kind


@dataclass(frozen=True, slots=True)
class Pigeon(ConfigObject):
    """It carries messages."""

    kind: ClassVar[Kind] = "pigeon"
    id: str
    comment: Annotated[str, Text(50)] = ""


PIGEON = Declaration(
    Pigeon,
    singular="pigeon",
    plural="pigeons",
    short="pigeon",
    about="Pigeons.",
    state={"seen_at": Host(help="Where it was seen."), "messages": Whole(0, 2**53 - 1, help="Carried.")},
)


@pytest.fixture
def loft(tmp_path: Path) -> Iterator[Toy]:
    with toy(tmp_path, PIGEON) as found:
        for name in ("anna", "bert"):
            assert found.api("PUT", f"/pigeons/{name}", {}).status_code == 201
        found.world.agent.learnt["pigeon"] = {"anna": {"seen_at": "192.0.2.1", "messages": 7, "secret": 1}}
        yield found


def test_it_is_asked_for_beside_the_configuration(loft: Toy) -> None:
    told = loft.api("GET", "/pigeons/anna/state").json
    assert told["fields"] == {"seen_at": "192.0.2.1", "messages": 7}
    assert told["at"] is not None and (told["stale_since"], told["stale_reason"]) == (None, None)
    assert loft.api("GET", "/pigeons/anna").json.keys() == {"id", "comment", "etag", "warnings"}
    page = loft.api("GET", "/pigeons?with=state").json
    assert [item["id"] for item in page["states"]] == [item["id"] for item in page["items"]]
    assert page["states"][0]["fields"]["messages"] == 7
    assert loft.api("GET", "/pigeons").json["states"] is None
    assert loft.api("GET", "/pigeons/nobody/state").status_code == 404


def test_what_nobody_knows_is_null_and_not_zero(loft: Toy) -> None:
    assert loft.api("GET", "/pigeons/bert/state").json["fields"] == {"seen_at": None, "messages": None}
    loft.world.agent.learnt["pigeon"]["anna"] = {"messages": None}
    assert loft.api("GET", "/pigeons/anna/state").json["fields"] == {"seen_at": None, "messages": None}


def test_while_the_agent_is_away_it_says_since_when(loft: Toy) -> None:
    known = loft.api("GET", "/pigeons/anna/state").json
    loft.world.agent.__exit__(None, None, None)
    stale = loft.api("GET", "/pigeons/anna/state").json
    assert (stale["fields"], stale["at"], stale["stale_since"]) == (known["fields"], known["at"], known["at"])
    assert stale["stale_reason"]
    never = loft.api("GET", "/pigeons/bert/state").json
    assert (never["at"], never["fields"]) == (None, {"seen_at": None, "messages": None})
    assert never["stale_reason"]
    assert "192.0.2.1" in loft.weir("pigeon", "state", "anna")
    assert loft.api("GET", "/pigeons?with=state").status_code == 200
    loft.world.agent.__enter__()


def test_the_agent_that_learns_nothing_about_a_kind_says_so(loft: Toy) -> None:
    del loft.world.agent.learnt["pigeon"]
    told = loft.api("GET", "/pigeons/anna/state").json
    assert (
        told["fields"] == {"seen_at": None, "messages": None} and "nothing is learnt" in told["stale_reason"]
    )


@pytest.mark.parametrize("name", ["state", "seen_at", "messages"])
def test_a_body_that_has_it_is_refused(loft: Toy, name: str) -> None:
    etag = loft.api("GET", "/pigeons/anna").json["etag"]
    for method, path in (("PUT", "/pigeons/anna"), ("PATCH", "/pigeons/anna"), ("PUT", "/pigeons/new")):
        refused = loft.api(method, path, {name: {}}, etag=None if path.endswith("new") else etag)
        assert refused.status_code == 422
        (finding,) = refused.json["findings"]
        assert (finding["code"], finding["field"]) == ("read-only", name)
    new = {"changes": [{"kind": "pigeon", "id": "x", "new": {name: 1}}]}
    assert loft.api("PUT", "/candidate/changes", new).json["code"] == "read-only"


def test_it_is_documented(loft: Toy) -> None:
    document = loft.api("GET", "/openapi.json").json
    assert "/api/v1/pigeons/{pigeon_id}/state" in document["paths"]
    fields = document["components"]["schemas"]["PigeonStateFields"]["properties"]
    assert fields["messages"] == {"type": ["integer", "null"], "description": "Carried."}

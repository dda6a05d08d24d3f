# SPDX-License-Identifier: Apache-2.0
"""One search over all kinds, and the search of each list."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.world import Client


@pytest.fixture
def filled(api: Client) -> Client:
    made: list[tuple[str, str, dict[str, Any]]] = [
        ("queue", "acme", {"name": "Acme", "target": ["192.0.2.0/25"]}),
        ("static-route", "acme-net", {"destination": "192.0.2.0/24", "blackhole": True, "comment": "Acme's"}),
        ("set", "blocked", {}),
        *(
            ("set-entry", f"b{n}", {"set": "blocked", "value": f"192.0.2.{n}", "comment": "acme"})
            for n in range(1, 31)
        ),
    ]
    changes = [{"kind": kind, "id": key, "new": new} for kind, key, new in made]
    assert api("PUT", "/candidate/changes", {"changes": changes}).status_code == 200
    assert api("POST", "/candidate/commit", {"message": "x"}).status_code == 200
    return api


def groups(api: Client, **query: str) -> dict[str, Any]:
    answer = api("GET", "/search", query_string=query)
    assert answer.status_code == 200, answer.json
    return {group["kind"]: group for group in answer.json["groups"]}


def test_a_search_finds_objects_of_every_kind_by_name_comment_and_address(filled: Client) -> None:
    found = groups(filled, q="acme")
    assert {kind: group["total"] for kind, group in found.items()} == {
        "queue": 1,
        "static-route": 1,
        "set-entry": 30,
    }
    assert found["queue"]["items"] == [{"id": "acme", "name": "Acme", "detail": "192.0.2.0/25"}]
    covering = groups(filled, q="192.0.2.7")
    assert {kind: [item["id"] for item in group["items"]] for kind, group in covering.items()} == {
        "queue": ["acme"],
        "static-route": ["acme-net"],
        "set-entry": ["b7"],
    }
    assert groups(filled, q="nothing-like-this") == {}


def test_what_is_found_of_one_kind_is_paged(filled: Client) -> None:
    first = groups(filled, q="acme", limit="20")["set-entry"]
    rest = groups(filled, q="acme", limit="20", kind="set-entry", cursor=first["next_cursor"])["set-entry"]
    ids = [item["id"] for item in (*first["items"], *rest["items"])]
    assert (len(first["items"]), len(set(ids)), rest["next_cursor"]) == (20, 30, None)


@pytest.mark.parametrize(
    "query", [{}, {"q": ""}, {"q": "x", "kind": "cat"}, {"q": "x", "cursor": "y"}, {"q": "x", "limit": "101"}]
)
def test_a_search_that_cannot_be_is_refused(api: Client, query: dict[str, str]) -> None:
    assert api("GET", "/search", query_string=query).status_code in (400, 404, 422)


def test_each_list_is_searched_on_the_router(filled: Client) -> None:
    def ids(path: str, text: str) -> list[str]:
        answer = filled("GET", f"/{path}", query_string={"q": text})
        assert answer.status_code == 200 and answer.json["total"] == len(answer.json["items"])
        return [item["id"] for item in answer.json["items"]]

    assert ids("set-entries", "192.0.2.30") == ["b30"]
    assert ids("static-routes", "acme") == ["acme-net"]
    assert ids("queue-types", "pcq-down") == ["pcq-download-default"]
    assert ids("interfaces", "nothing-like-this") == []

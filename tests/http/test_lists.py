# SPDX-License-Identifier: Apache-2.0
"""Fetching the list of a set by REST and by the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kinds.toys import Toy, toy
from weir.model.problem import Conflict


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Toy]:
    with toy(tmp_path) as found:
        body = {"source": "url", "url": "https://lists.example.net/drop.txt"}
        assert found.api("PUT", "/sets/drop", body).status_code == 201
        yield found


def test_a_list_is_fetched_when_somebody_asks(router: Toy) -> None:
    lists = router.world.agent.lists
    answer = router.api("POST", "/sets/drop/refresh")
    assert answer.json == {"fetched": True, "answer": "it was taken", "entries": 3, "took_ms": 12}
    assert router.weir("set", "refresh", "drop") == "Done in 12 ms, 3 entries: it was taken\n"
    assert lists.asked == ["drop", "drop"]


def test_what_went_wrong_is_said(router: Toy) -> None:
    lists = router.world.agent.lists
    lists.answer = {"fetched": False, "answer": "it answered 404 Not Found", "entries": 3, "took_ms": 9}
    assert router.api("POST", "/sets/drop/refresh").json["fetched"] is False
    lists.answer = Conflict("set drop is being fetched: try again in a moment", code="refresh-busy")
    refused = router.api("POST", "/sets/drop/refresh")
    assert (refused.status_code, refused.json["code"]) == (409, "refresh-busy")
    assert router.api("POST", "/sets/nothing/refresh").status_code == 404

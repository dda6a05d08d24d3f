# SPDX-License-Identifier: Apache-2.0
"""Queues by REST: create, read, replace, patch, delete, bulk, move, with preconditions."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from tests.http.world import Client, World
from weir.http.schemas import paging
from weir.store import listing

ACME = {
    "name": "acme",
    "target": ["10.64.1.7/32", "2001:db8:64:7::/64"],
    "max_limit_bps": {"upload": 10_000_000, "download": 50_000_000},
}


def add(api: Client, name: str, **fields: Any) -> dict[str, Any]:
    answer = api("POST", "/queues", {"name": name, **fields})
    assert answer.status_code == 201, answer.json
    return dict(answer.json)


def names(api: Client, query: str = "") -> list[str]:
    answer = api("GET", f"/queues{query}")
    assert answer.status_code == 200, answer.json
    return [item["name"] for item in answer.json["items"]]


def test_a_queue_is_created_read_changed_and_deleted(api: Client) -> None:
    created = api("POST", "/queues", ACME)
    assert created.status_code == 201, created.json
    queue_id, etag = created.json["id"], created.json["etag"]
    assert created.headers["Location"].endswith(f"/api/v1/queues/{queue_id}")
    assert created.headers["ETag"] == f'"{etag}"'

    read = api("GET", f"/queues/{queue_id}")
    assert read.json == created.json

    patched = api("PATCH", f"/queues/{queue_id}", {"max_limit_bps": {"upload": 5}}, etag=etag)
    assert patched.status_code == 200, patched.json
    assert patched.json["max_limit_bps"] == {"upload": 5, "download": 50_000_000}

    gone = api("DELETE", f"/queues/{queue_id}", etag=patched.json["etag"])
    assert gone.status_code == 204
    assert gone.data == b""
    assert api("GET", f"/queues/{queue_id}").status_code == 404


def test_what_was_read_can_be_put_back(api: Client) -> None:
    made = add(api, "acme", target=["10.0.0.1"])
    made["comment"] = "edited"
    answer = api("PUT", f"/queues/{made['id']}", made, etag=made["etag"])
    assert answer.status_code == 200, answer.json
    assert answer.json["comment"] == "edited"
    assert answer.json["position"] == made["position"]


def test_put_creates_with_a_chosen_id(api: Client) -> None:
    assert api("PUT", "/queues/acme-1", ACME).status_code == 201
    assert api("GET", "/queues/acme-1").json["name"] == "acme"


def test_a_patch_with_null_resets_to_the_default(api: Client) -> None:
    made = add(api, "acme", comment="x", priority={"upload": 1, "download": 1})
    answer = api("PATCH", f"/queues/{made['id']}", {"comment": None, "priority": None}, etag=made["etag"])
    assert answer.json["comment"] == ""
    assert answer.json["priority"] == {"upload": 8, "download": 8}
    other = add(api, "other")
    last = api("PATCH", f"/queues/{made['id']}", {"position": None}, etag=answer.json["etag"])
    assert last.json["position"] > other["position"]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_changing_blindly_is_refused(api: Client, method: str) -> None:
    made = add(api, "acme")
    body = None if method == "DELETE" else {"name": "other"}
    blind = api(method, f"/queues/{made['id']}", body)
    assert (blind.status_code, blind.json["code"]) == (428, "precondition-required")
    stale = api(method, f"/queues/{made['id']}", body, etag="r999")
    assert (stale.status_code, stale.json["code"]) == (412, "precondition-failed")
    weak = api(method, f"/queues/{made['id']}", body, headers={"If-Match": f'W/"{made["etag"]}"'})
    assert weak.status_code == 412
    assert names(api) == ["acme"]


def test_of_two_writers_with_the_same_etag_one_is_refused(api: Client) -> None:
    made = add(api, "acme")
    assert api("PATCH", f"/queues/{made['id']}", {"comment": "1"}, etag=made["etag"]).status_code == 200
    assert api("PATCH", f"/queues/{made['id']}", {"comment": "2"}, etag=made["etag"]).status_code == 412
    assert api("GET", f"/queues/{made['id']}").json["comment"] == "1"


def test_if_none_match_protects_what_exists(api: Client) -> None:
    made = add(api, "acme")
    answer = api("PUT", f"/queues/{made['id']}", ACME, headers={"If-None-Match": "*"})
    assert answer.status_code == 412


def test_every_wrong_field_is_named_at_once(api: Client) -> None:
    body = {"name": "", "target": ["10.0.0.999"], "max_limit_bps": {"upload": -1, "download": "x"}, "foo": 1}
    answer = api("POST", "/queues", body)
    assert answer.status_code == 422
    assert answer.mimetype == "application/problem+json"
    fields = {finding["field"] for finding in answer.json["findings"]}
    assert {"name", "target[0]", "max_limit_bps.upload", "max_limit_bps.download", "foo"} <= fields


def test_an_unknown_parent_is_named(api: Client) -> None:
    answer = api("POST", "/queues", {**ACME, "parent": "nobody"})
    assert answer.status_code == 422
    assert "nobody" in answer.json["detail"]


def test_an_error_is_first_said_of_what_was_sent(api: Client) -> None:
    assert api("PUT", "/queues/b", {"name": "acme"}).status_code == 201
    for queue_id in ("a", "c"):
        refused = api("PUT", f"/queues/{queue_id}", {"name": "acme"})
        assert refused.json["path"] == f"queue/{queue_id}/name"
        assert refused.json["detail"] == "queue b has the same name, 'acme' (and 1 more error)"


def test_a_queue_shows_its_path_children_and_warnings(api: Client) -> None:
    tower = add(api, "tower", max_limit_bps={"upload": 10**6, "download": 10**6})
    add(api, "acme", parent=tower["id"], max_limit_bps={"upload": 10**7, "download": 10**7})
    child = api("GET", "/queues?q=acme").json["items"][0]
    assert child["path"] == [{"id": tower["id"], "name": "tower"}]
    assert "child-above-parent" in {finding["code"] for finding in child["warnings"]}
    assert api("GET", f"/queues/{tower['id']}").json["child_count"] == 1
    assert names(api, "?warnings=1") == ["acme"]


def test_lists_are_filtered_sorted_and_paged(api: Client) -> None:
    tower = add(api, "tower")
    for index in range(5):
        rate = (index + 1) * 10**6
        add(
            api,
            f"c{index}",
            parent=tower["id"],
            target=[f"10.0.{index}.0/24"],
            max_limit_bps={"upload": rate, "download": rate},
            disabled=index == 0,
        )
    assert names(api, "?parent=none") == ["tower"]
    assert names(api, f"?parent={tower['id']}&sort=-max_limit_download") == ["c4", "c3", "c2", "c1", "c0"]
    assert names(api, "?q=10.0.3.77") == ["c3"]
    assert names(api, "?disabled=1") == ["c0"]
    assert names(api, "?sort=name&offset=2&limit=2") == ["c2", "c3"]
    first = api("GET", "/queues?sort=name&limit=4").json
    rest = api("GET", f"/queues?sort=name&limit=4&cursor={first['next_cursor']}").json
    assert [item["name"] for item in first["items"] + rest["items"]] == [
        "c0",
        "c1",
        "c2",
        "c3",
        "c4",
        "tower",
    ]
    assert first["total"] == rest["total"] == 6
    assert rest["next_cursor"] is None
    ids = ",".join(item["id"] for item in first["items"][:2])
    assert names(api, f"?ids={ids}") == ["c0", "c1"]


@pytest.mark.parametrize(
    "query",
    [
        "?limit=0",
        "?limit=1001",
        "?limit=x",
        "?sort=shoe",
        "?cursor=!!!",
        "?offset=-1",
        "?cursor=a&offset=1",
        "?disabled=maybe",
        "?unknown=1",
        "?limit=1&limit=2",
        "?q=" + "x" * 300,
    ],
)
def test_a_bad_query_is_named(shared_api: Client, query: str) -> None:
    answer = shared_api("GET", f"/queues{query}")
    assert answer.status_code == 422
    assert answer.json["findings"] or answer.json["path"]


def test_a_page_sorted_by_live_rate_reads_its_own_rows_only(
    api: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 2,000 busy queues every one was read for each page, and the idle ones were counted each time."""
    ids = [add(api, f"customer {n}")["id"] for n in range(30)]
    stats = world.parts.stats
    stats.stop()
    stats.tick()
    for n, queue_id in enumerate(ids[:25]):
        world.agent.maps.count(queue_id, 1, bytes=1000 * (n + 1), packets=1)
    stats.tick()
    api("GET", "/queues?sort=-rate_download&limit=3")
    read: list[object] = []
    counted: list[object] = []
    to_stored, count = listing.to_stored, listing.Totals.count
    monkeypatch.setattr(listing, "to_stored", lambda *row: read.append(row) or to_stored(*row))

    def noted(totals: listing.Totals, connection: Any, query: str, values: Any) -> int:
        counted.append(values)
        return count(totals, connection, query, values)

    monkeypatch.setattr(listing.Totals, "count", noted)
    assert names(api, "?sort=-rate_download&limit=3") == ["customer 24", "customer 23", "customer 22"]
    assert len(read) <= 3 + 1, "the rows of the page, and one where all are counted"
    assert not [values for values in counted if "customer 24" in str(values) or len(str(values)) > 200]
    read.clear()
    assert names(api, "?sort=-rate_download&limit=3&offset=24") == [
        "customer 0",
        "customer 25",
        "customer 26",
    ]
    assert len(read) <= 3 + 2


def test_queues_are_sorted_by_what_passes_now(api: Client, world: World) -> None:
    ids = {name: add(api, name)["id"] for name in ("a", "b", "c", "d")}
    stats = world.parts.stats
    stats.stop()
    stats.tick()
    for name, rate in (("b", 10_000), ("d", 99_000)):
        world.agent.maps.count(ids[name], 1, bytes=rate, packets=1)
    stats.tick()
    assert names(api, "?sort=-rate_download") == ["d", "b", "a", "c"]
    assert names(api, "?sort=rate_download") == ["a", "c", "b", "d"]
    first = api("GET", "/queues?sort=-rate_download&limit=3").json
    assert first["total"] == 4
    assert names(api, f"?sort=-rate_download&limit=3&cursor={first['next_cursor']}") == ["c"]
    assert names(api, "?sort=-rate_download&q=b") == ["b"]
    assert names(api, "?sort=-drops&offset=1&limit=2") == ["b", "c"]


def test_bulk_is_one_revision_or_nothing(api: Client, world: World) -> None:
    keep, drop = add(api, "keep"), add(api, "drop")
    body = {
        "upsert": [
            {"name": "new1"},
            {"name": "new2"},
            {"id": keep["id"], "name": "kept", "etag": keep["etag"]},
        ],
        "delete": [drop["id"]],
    }
    answer = api("POST", "/queues/bulk", body)
    assert answer.status_code == 200, answer.json
    assert sorted(names(api)) == ["kept", "new1", "new2"]
    assert answer.json["revision"] == 3
    assert len(set(answer.json["upserted"])) == 3

    bad = api("POST", "/queues/bulk", {"upsert": [{"name": "ok"}, {"name": 5}, 7], "delete": ["No!"]})
    assert bad.status_code == 422
    fields = {finding["field"] for finding in bad.json["findings"]}
    assert fields == {"upsert[1].name", "upsert[2]", "delete[0]"}
    stale = api("POST", "/queues/bulk", {"upsert": [{"id": keep["id"], "name": "x", "etag": keep["etag"]}]})
    assert stale.status_code == 412
    assert len(names(api)) == 3


def test_queues_move_among_their_siblings(api: Client) -> None:
    ids = {name: add(api, name)["id"] for name in ("a", "b", "c")}
    answer = api("POST", f"/queues/{ids['c']}/move", {"before": ids["a"]})
    assert answer.status_code == 200, answer.json
    assert names(api) == ["c", "a", "b"]
    api("POST", f"/queues/{ids['c']}/move", {"before": None})
    assert names(api) == ["a", "b", "c"]
    assert api("POST", f"/queues/{ids['a']}/move", {"before": "nobody"}).status_code in (404, 422)


def test_the_history_of_a_queue_tells_who_changed_what(api: Client) -> None:
    made = add(api, "acme")
    api("PATCH", f"/queues/{made['id']}", {"comment": "x"}, etag=made["etag"])
    items = api("GET", f"/queues/{made['id']}/history").json["items"]
    assert [item["action"] for item in items] == ["change", "add"]
    assert items[0]["fields"] == [{"field": "comment", "old": "", "new": "x"}]
    assert items[0]["revision"]["author"] == "admin"


def test_explain_asks_the_agent(api: Client) -> None:
    made = add(api, "acme")
    assert api("GET", f"/queues/{made['id']}/explain").json["agrees"] is True
    assert api("GET", "/queues/nobody/explain").status_code == 404


def test_the_details_of_a_queue_are_the_agents(api: Client) -> None:
    made = add(api, "acme")
    found = api("GET", f"/stats/queues/{made['id']}/details").json
    assert found["id"] == made["id"]
    assert (found["subqueues"]["bound"], found["subqueues"]["upload"]) == (65_536, None)
    assert found["subqueues"]["download"]["evicted"] == 12
    assert [item["address"] for item in found["subqueues"]["download"]["busiest"]] == ["10.64.0.7/32", None]
    assert (found["round_trips"]["upload"], found["round_trips"]["download"]["median_us"]) == (None, 24_000)
    below = found["round_trips"]["below"]
    assert (below["upload"], below["download"]["queues"]) == (None, 14)
    assert api("GET", "/stats/queues/nobody/details").status_code == 404


def test_without_the_agent_nothing_is_written_and_the_answer_says_so(world: World, api: Client) -> None:
    world.agent.refuse = "the kernel said no"
    refused = api("POST", "/queues", ACME)
    assert (refused.status_code, refused.json["code"]) == (502, "apply-failed")
    world.agent.__exit__(None, None, None)
    answer = api("POST", "/queues", ACME)
    assert (answer.status_code, answer.json["code"]) == (503, "agent-down")
    assert names(api) == []


def test_a_prefix_finds_the_queues_inside_it_and_around_it(api: Client) -> None:
    """10.64.0.0/16 found none of the queues inside."""
    targets = {
        "host": "10.64.0.1", "net": "10.64.8.0/24", "last": "10.64.255.255", "same": "10.64.0.0/16",
        "around": "10.0.0.0/8", "before": "10.63.255.255", "after": "10.65.0.0", "six": "2001:db8::1",
    }  # fmt: skip
    body = {"upsert": [{"name": name, "target": [target]} for name, target in targets.items()]}
    assert api("POST", "/queues/bulk", body).status_code == 200

    def found(text: str) -> set[str]:
        answer = api("GET", "/queues", query_string={"q": text}).json
        assert answer["total"] == len(answer["items"])
        return {item["name"] for item in answer["items"]}

    assert found("10.64.0.0/16") == {"host", "net", "last", "same", "around"}
    assert found("10.64.0.1") == {"host", "same", "around"}
    assert found("2001:db8::/32") == {"six"}
    assert found("0.0.0.0/0") == targets.keys() - {"six"}


def test_what_reads_a_query_is_made_once(shared_api: Client) -> None:
    """It was made for each request, 45 objects that only a collection frees."""
    gc.disable()
    try:
        before = made(paging.QueueQuery)
        for _ in range(5):
            assert shared_api("GET", "/queues?limit=1").status_code == 200
        assert made(paging.QueueQuery) <= before + 1
    finally:
        gc.enable()


def made(schema: type) -> int:
    return sum(type(item) is schema for item in gc.get_objects())

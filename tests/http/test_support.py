# SPDX-License-Identifier: Apache-2.0
"""The scope `support`: who looks after customers changes their limits and state, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.test_queues import add
from tests.http.test_security import ROUTES
from tests.http.world import Client, World
from weir.http.security import permits

QUEUE = {"target": ["10.64.1.7/32"], "max_limit_bps": {"upload": 10_000_000, "download": 50_000_000}}
MORE = {"max_limit_bps": {"upload": 20_000_000, "download": 80_000_000}}
ROUTE = {"destination": "192.0.2.0/24", "gateway": "203.0.113.1"}


@pytest.fixture
def desk(world: World) -> Client:
    return world.client("support")


@pytest.fixture
def made(api: Client) -> dict[str, Any]:
    return add(api, "acme", **QUEUE)


def changed_by(made: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": made["id"], "name": "acme", **QUEUE, "position": made["position"], **fields}


def patched(client: Client, made: dict[str, Any], body: dict[str, Any], query: str = "") -> Any:
    path = f"/queues/{made['id']}"
    return client("PATCH", path + query, body, etag=client("GET", path).json["etag"])


def test_these_operations_change_something_for_support_and_no_others() -> None:
    found = {
        f"{method} {path.removeprefix('/api/v1')}"
        for method, path, scope in ROUTES
        if method != "GET" and permits(scope, "support") and not permits(scope, "read")
    }
    assert found == {
        *("PUT /queues/1", "PATCH /queues/1", "POST /queues/bulk"),
        *("POST /queues/1/raise", "DELETE /queues/1/raise"),
        *("POST /candidate", "DELETE /candidate", "PUT /candidate/changes", "DELETE /candidate/changes/1/1"),
        *("POST /candidate/unstage", "POST /candidate/resolve", "POST /candidate/commit"),
        *("POST /config/confirm", "POST /config/revert"),
        *("POST /tools/arping", "POST /tools/blink", "POST /tools/drop-reasons", "POST /tools/lock-waits"),
        *("POST /tools/lookup", "POST /tools/iperf", "POST /tools/meter", "POST /tools/mtr"),
        *("POST /tools/ping", "POST /tools/softirqs", "POST /tools/torch"),
        *("POST /tools/speed", "POST /tools/speed/1/upload"),
        *("DELETE /tools/runs/1", "POST /diagnosis/path/prove"),
    }


def test_limits_state_and_comment_of_a_customer_are_changed_at_once(
    desk: Client, made: dict[str, Any]
) -> None:
    for body in (MORE, {"disabled": True}, {"disabled": False}, {"comment": "asked for more"}):
        answer = patched(desk, made, body)
        assert answer.status_code == 200, answer.json
    raised = {"max_limit_bps": {"upload": 30_000_000, "download": 90_000_000}, "for_s": 3600}
    assert desk("POST", f"/queues/{made['id']}/raise", raised).status_code == 200
    assert desk("DELETE", f"/queues/{made['id']}/raise").status_code == 200


def test_a_plan_is_staged_and_committed(desk: Client, made: dict[str, Any]) -> None:
    answer = patched(desk, made, MORE, "?candidate=true")
    assert answer.status_code == 202, answer.json
    committed = desk("POST", "/candidate/commit", {"message": "more for acme"})
    assert committed.status_code == 200, committed.json
    assert desk("GET", f"/queues/{made['id']}").json["max_limit_bps"] == MORE["max_limit_bps"]


@pytest.mark.parametrize("query", ["", "?candidate=true"])
@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"upsert": [{"target": ["0.0.0.0/0"]}], "delete": []}, "target of queue"),
        ({"upsert": [{"name": "another", "parent": None, "dst": "192.0.2.1/32"}], "delete": []}, "name, dst"),
        ({"upsert": [], "delete": ["made"]}, "would be deleted"),
    ],
)
def test_what_is_not_of_a_plan_is_refused_and_named(
    desk: Client, made: dict[str, Any], query: str, body: dict[str, Any], why: str
) -> None:
    upsert = [changed_by(made, **each) for each in body["upsert"]]
    answer = desk(
        "POST", f"/queues/bulk{query}", {"upsert": upsert, "delete": [made["id"]] * len(body["delete"])}
    )
    assert (answer.status_code, answer.json["code"]) == (403, "plans-only"), answer.json
    assert why in answer.json["detail"]
    assert "'support'" in answer.json["detail"]
    assert desk("GET", f"/queues/{made['id']}").json["name"] == "acme"
    assert desk("GET", "/candidate").json["candidate"] is None


def test_other_kinds_and_new_queues_are_refused_at_each_way_in(desk: Client, made: dict[str, Any]) -> None:
    route = {"kind": "static-route", "id": None, "new": ROUTE, "base": None}
    new = {"kind": "queue", "id": "q999", "new": {"name": "new", **QUEUE}, "base": None}
    for changes, code in (
        ([route], "forbidden"),
        ([new], "plans-only"),
        ([{**route, "id": "r9"}], "plans-only"),
    ):
        answer = desk("PUT", "/candidate/changes", {"changes": changes})
        assert (answer.status_code, answer.json["code"]) == (403, code), answer.json
    for method, path, body in (
        ("POST", "/queues", {"name": "new", **QUEUE}),
        ("DELETE", f"/queues/{made['id']}", None),
        ("POST", f"/queues/{made['id']}/move", {"before": None}),
        ("POST", "/static-routes", ROUTE),
        ("PATCH", "/identity", {"login_banner": "hello"}),
    ):
        answer = desk(method, path, body)
        assert (answer.status_code, answer.json["code"]) == (403, "forbidden"), (method, path, answer.json)


def test_an_account_that_was_there_before_the_scope_gets_it(api: Client) -> None:
    created = api("POST", "/users", {"username": "desk", "scope": "read"})
    assert created.status_code == 201, created.json
    answer = api("PATCH", "/users/desk", {"scope": "support"})
    assert answer.json["scope"] == "support", answer.json

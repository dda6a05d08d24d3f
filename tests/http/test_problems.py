# SPDX-License-Identifier: Apache-2.0
"""Every error is a problem document, no matter where it was raised, and none tells internals."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from flask import Flask

from tests.http.world import Client, World
from weir.http import problems
from weir.model import problem as model

MEMBERS = {"type", "title", "status", "detail", "code", "path", "findings"}


def check(answer: Any, status: int, code: str | None = None) -> None:
    assert answer.status_code == status, answer.text
    assert answer.mimetype == "application/problem+json"
    assert answer.json.keys() == MEMBERS
    assert answer.json["status"] == status
    if code is not None:
        assert answer.json["code"] == code


def test_errors_of_the_framework(shared_api: Client) -> None:
    check(shared_api("GET", "/nothing"), 404, "not-found")
    long_name = shared_api("PUT", "/interfaces/a-name-of-seventeen", {})
    assert "/api/v1/interfaces/a-name-of-seventeen" in long_name.json["detail"]
    check(shared_api("GET", "/api/v2/queues"), 404)
    missing = shared_api("DELETE", "/queues")
    check(missing, 405, "method-not-allowed")
    assert "GET" in missing.headers["Allow"]
    check(shared_api("POST", "/queues", data="x=1", content_type="application/x-www-form-urlencoded"), 415)
    check(shared_api("POST", "/queues", data="{}"), 415)
    large = shared_api("POST", "/queues", data=b" " * (2 << 20), content_type="application/json")
    check(large, 413)


def test_a_name_that_is_given_twice_after_many_others_is_found_soon(shared_api: Client) -> None:
    names = [str(index) for index in range(80_000)]
    body = json.dumps(dict.fromkeys(names, 0))[:-1] + f', "{names[-1]}": 1}}'
    begun_s = time.process_time()
    refused = shared_api("POST", "/queues", data=body, content_type="application/json")
    assert time.process_time() - begun_s < 5, "to compare each with each takes over a minute of a processor"
    check(refused, 400, "bad-json")
    assert "'79999' twice" in refused.json["detail"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"name": NaN}',
        b'{"name": "\xff"}',
        b"[" * 100_000,
        b'{"position": ' + b"9" * 5000 + b"}",
        b"null",
        b"[]",
        b'"text"',
        b"\xef\xbb\xbf{}",
        b'{"name": "a", "name": "b"}',
        b'{"name": "a", "max_limit_bps": {"upload": 1, "upload": 2}}',
    ],
)
@pytest.mark.parametrize("path", ["/queues", "/queues/bulk", "/auth/sign-in", "/candidate/commit"])
def test_bodies_that_are_no_json_object(shared_api: Client, path: str, body: bytes) -> None:
    answer = shared_api("POST", path, data=body, content_type="application/json")
    assert answer.status_code in (400, 413, 422, 404), answer.text
    assert answer.mimetype == "application/problem+json"


@pytest.mark.parametrize("name", ["\ud800", "a\x00b", "x" * 200, "\x1b[2J", 5, None, [], {}, True])
def test_names_that_cannot_be(shared_api: Client, name: Any) -> None:
    body = json.dumps({"name": name})
    check(shared_api("POST", "/queues", data=body, content_type="application/json"), 422)
    sign_in = json.dumps({"username": name, "password": name})
    answer = shared_api("POST", "/auth/sign-in", data=sign_in, content_type="application/json")
    assert answer.status_code in (401, 422)


@pytest.mark.parametrize(
    "queue_id", ["%00", "%2e%2e", "a%2Fb", "%ED%A0%80", "A", "x" * 200, "%FF", "q 1", "'"]
)
@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_ids_that_cannot_be(shared_api: Client, method: str, queue_id: str) -> None:
    body = {"name": "x"} if method in ("PUT", "PATCH") else None
    answer = shared_api(method, f"/queues/{queue_id}", body)
    assert answer.status_code in (404, 422)
    assert answer.mimetype == "application/problem+json"


def test_a_field_error_of_a_parsed_body_is_a_finding(api: Client) -> None:
    answer = api("PUT", "/candidate/changes", {"changes": [{"kind": "shoe", "id": "x", "new": None}]})
    check(answer, 422, "invalid-request")
    assert answer.json["findings"][0]["field"] == "changes.0.kind"


@pytest.mark.parametrize(
    ("raised", "status"),
    [
        (model.NotFound("x"), 404),
        (model.Conflict("x"), 409),
        (model.PreconditionFailed("x"), 412),
        (model.PreconditionRequired("x"), 428),
        (model.Unauthenticated("x"), 401),
        (model.Forbidden("x"), 403),
        (model.Throttled("x", retry_after_s=7), 429),
        (model.Unavailable("x"), 503),
        (model.ApplyFailed("x"), 502),
        (model.Unsupported("x"), 422),
        (model.Invalid("x"), 422),
    ],
)
def test_every_problem_of_the_model_has_a_status(raised: model.Problem, status: int) -> None:
    with Flask("weir").test_request_context():
        check(problems.render(raised), status, raised.code)


def test_every_class_of_problem_is_mapped() -> None:
    classes = {
        kind for kind in vars(model).values() if isinstance(kind, type) and issubclass(kind, model.Problem)
    }
    for kind in classes - {model.Problem, model.Throttled}:
        assert problems.status_of(kind("x")) != 500, kind


def test_a_defect_is_answered_without_internals(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object) -> None:
        raise RuntimeError("secret path /var/lib/weir")

    monkeypatch.setattr(world.parts.service.config, "page", explode)
    answer = world.client()("GET", "/queues")
    check(answer, 500, "internal-error")
    assert "secret" not in answer.text

# SPDX-License-Identifier: Apache-2.0
"""The committed OpenAPI document is current, and the API keeps to it whatever it is sent (schemathesis)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import checks

from tests.http.world import World, app_of
from weir.http import docspage, openapi
from weir.http.app import describe

COMMITTED = Path(__file__).parents[2] / "docs" / "api" / "openapi.json"
EXISTING = {
    "queue_id": "q1",
    "type_id": "seeded",
    "name": "wan0",
    "route_id": "r1",
    "number": 1,
    "from_number": 0,
    "to_number": 2,
    "username": "ops",
}
CHECKS = (
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
)
BOUNDED = settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)

schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", app_of(None))
LARGE = ["bulk_queues", "stage_changes"]
"""Their boundary cases have 10,001 items; those of smaller bodies are enough."""
schema.config.checks.negative_data_rejection.expected_statuses = [
    "400",
    "401",
    "403",
    "404",
    "405",
    "409",
    "412",
    "415",
    "422",
    "428",
]


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("contract")) as found:
        api = found.client()
        for method, path, body in (
            ("POST", "/queues", {"name": "acme", "target": ["10.0.0.1"]}),
            ("PUT", "/queue-types/seeded", {"type": "pfifo"}),
            ("PUT", "/interfaces/wan0", {"role": "wan"}),
            ("POST", "/static-routes", {"destination": "10.0.0.0/8", "blackhole": True}),
            ("POST", "/users", {"username": "ops", "scope": "read"}),
        ):
            assert api(method, path, body).status_code == 201
        yield found


def test_the_committed_document_is_current() -> None:
    assert COMMITTED.read_text(encoding="utf-8") == openapi.text(), "run: make openapi"


def test_every_operation_is_documented() -> None:
    document = describe()
    ids = []
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method == "parameters":
                continue
            ids.append(operation["operationId"])
            assert operation["summary"], (method, path)
            assert "default" in operation["responses"], (method, path)
            assert operation.get("x-scope") or operation["security"] == [], (method, path)
    assert len(ids) == len(set(ids))


def test_no_list_is_without_a_limit() -> None:
    document = describe()
    for path, item in document["paths"].items():
        found = item.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        reference = found.get("application/json", {}).get("schema", {}).get("$ref", "")
        name = reference.rsplit("/", 1)[-1]
        if name.endswith("Page"):
            parameters = {parameter["name"] for parameter in item["get"]["parameters"]}
            assert {"limit", "cursor"} <= parameters, path


def test_the_page_for_people_shows_every_operation_and_loads_nothing() -> None:
    document = describe()
    page = docspage.render(document)
    for path in document["paths"]:
        assert path in page
    assert "<script" not in page
    assert "style=" not in page
    assert "://" not in page.replace("http://www.w3.org", "")


def _aimed(case: Any) -> Any:
    """Half of the cases go to objects that exist, so that more than 404 is seen."""
    text = json.dumps(case.path_parameters, default=str) + json.dumps(case.body, default=str)
    if case.meta and case.meta.generation.mode.is_positive and case.path_parameters and len(text) % 2:
        for name in case.path_parameters:
            if name in EXISTING:
                case.path_parameters[name] = EXISTING[name]
    return case


def _keep(case: Any, seeded: World) -> None:
    seeded.app.extensions["weir"] = seeded.parts
    headers = {"Authorization": f"Bearer {seeded.token()}"}
    _aimed(case).call_and_validate(headers=headers, checks=CHECKS)


@schema.exclude(operation_id=["stream_stats", *LARGE]).parametrize()
@settings(BOUNDED, phases=(Phase.explicit, Phase.generate))
def test_the_api_keeps_to_its_document(case: Any, seeded: World) -> None:
    _keep(case, seeded)


@schema.include(operation_id=LARGE).parametrize()
@settings(BOUNDED, phases=(Phase.generate,))
def test_large_bodies_keep_to_the_document(case: Any, seeded: World) -> None:
    _keep(case, seeded)

# SPDX-License-Identifier: Apache-2.0
"""The committed OpenAPI document is current, and the API keeps to it whatever it is sent (schemathesis)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import checks

from tests.http.world import World, app_of
from tests.polling import until
from weir.http import docspage, openapi
from weir.http.app import attach, describe
from weir.http.schemas.unions import schema_name
from weir.kinds import DECLARED
from weir.model.problem import Invalid
from weir.tools import EVERY

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
STATE = {401, 403, 404, 409, 412, 428, 429, 503}
"""A valid request is refused with these for what there is, not for what it says."""
REFERENCE = (Path(__file__).parents[2] / "docs" / "reference" / "model.md").read_text(encoding="utf-8")
FINDINGS = {
    code
    for codes in re.findall(r"^\| (`[a-z0-9-`, ]+`) \| (?:error|warning|notice)", REFERENCE, re.MULTILINE)
    for code in re.findall(r"[a-z0-9-]+", codes)
}
"""What the model's rules say of objects beside others; each is explained in the reference."""
EXPLAINED = {
    "bad-prefix": "an address is a grammar of its own; the document gives its length and an example",
    "bad-ports": "a range of ports is a grammar of its own",
    "bad-vlans": "so is a range of VLAN ids",
    "bad-mac": "the hardware address of one interface is no group's and not all zeros",
    "bad-endpoint": "a host with its port is a grammar of its own",
    "bad-host": "so is a DNS name",
    "bad-mailbox": "so is a mail address",
    "bad-url": "so is an address in the web",
    "bad-certificate": "so are certificates in PEM",
    "key-in-chain": "a private key is refused among them",
    "bad-range": "so is a range of addresses",
    "repeated": "JSON Schema cannot say that rows differ in one of their fields",
    "bad-key": "32 bytes in base64: the document gives the length",
    "bad-ssh-key": "a public key of SSH is a grammar of its own, and its length is in it",
    "bad-member": "what a set holds is a grammar of its own",
    "bad-id": "the keys of a queue type's options have the form of ids",
    "bad-cursor": "a cursor is opaque: only one that the API gave is good",
    "unknown-kind": "a kind in a path is looked up, as an id is",
    "unknown-time-zone": "the router's own list",
    "bad-secret": "a secret's own grammar, such as ASCII without spaces",
    "secret-not-set": "whether there is one to keep is state",
    "weak-password": "a list of passwords and the user's name (weir.accounts.passwords)",
    "not-a-sibling": "the place in a list of another object",
    "not-raised": "whether a limit is more is told by the one that the queue has",
    "no-setup": "only a router without an account has a first setup",
    "no-file": "a form or body that is empty is no file",
    "backup-unknown": "a binary file that is no backup",
    "bad-number": "1.0 is an integer to JSON Schema, and not to those who read the answer",
    "bad-text": "no pattern says it alike in all engines",
    "not-text": "a file's first bytes",
    "no-header": "the first line of a table",
    "no-source": "the log's sources are services of the router",
    "invalid-request": {
        "Control characters and broken Unicode are not allowed.": "no pattern says it alike in all engines",
        "control character or half of a Unicode pair": "no pattern says it alike in all engines",
        "Not a valid integer.": "1.0 is an integer to JSON Schema, and not to those who read the answer",
        "must be a whole number": "1.0 is an integer to JSON Schema, and not to those who read the answer",
        "A candidate is confirmed when it is committed.": "parameters exclude each other",
        "give a queue or an address, and not both": "parameters exclude each other",
        "is no time as 2026-01-31T08:00:00Z": "a leap second, or a year before the first",
        "Too many; at most": "how many are named in a text; no pattern counts them",
        "Give a cursor or an offset, not both.": "parameters exclude each other; OpenAPI cannot say it",
    },
}
"""Why a request that keeps to the document may be refused, by the problem's code."""


def valid_data_is_accepted_or_the_refusal_explained(_context: Any, response: Any, case: Any) -> None:
    """positive_data_acceptance, but for what depends on the state or no schema can say."""
    refused = 400 <= response.status_code < 500 and response.status_code not in STATE
    if not refused or not (case.meta and case.meta.generation.mode.is_positive):
        return
    problem = response.json()
    why = EXPLAINED.get(problem["code"])
    if isinstance(why, dict):
        why = next((reason for text, reason in why.items() if text in problem["detail"]), None)
    items = {item["code"] for item in problem.get("findings", ())}  # a bulk request refuses its items by them
    why = why or (items and all(isinstance(EXPLAINED.get(code), str) or code in FINDINGS for code in items))
    assert why or problem["code"] in FINDINGS, f"valid by the document, and refused: {problem}"


CHECKS = (
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
    valid_data_is_accepted_or_the_refusal_explained,
)
BOUNDED = settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)

schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", app_of(None))
LARGE = [
    operation["operationId"]
    for item in json.loads(describe())["paths"].values()
    for operation in item.values()
    if "operationId" in operation and operation["operationId"].startswith(("bulk_", "stage_changes"))
]
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
        found.parts.service.failed_commits.append("A commit failed.")
        until("its incident is recorded", lambda: bool(api("GET", "/diagnosis/incidents").json["items"]))
        yield found


def test_the_committed_document_is_current() -> None:
    assert COMMITTED.read_text(encoding="utf-8") == openapi.text(), "run: make openapi"


@pytest.mark.parametrize("general", ["ChangeInput", "Change", "StagedChange"])
def test_the_fields_of_a_change_are_those_of_its_kind(general: str) -> None:
    schemas = json.loads(describe())["components"]["schemas"]
    mapping = schemas[general]["discriminator"]["mapping"]
    assert tuple(mapping) == tuple(DECLARED)
    assert schemas[general]["oneOf"] == [{"$ref": place} for place in mapping.values()]
    for kind, place in mapping.items():
        found = schemas[place.rpartition("/")[2]]
        assert found["properties"]["kind"]["enum"] == [kind]
        shape = "Input" if general == "ChangeInput" else "Object"
        new = {"$ref": f"#/components/schemas/{schema_name(kind)}{shape}"}
        assert found["properties"]["new"]["anyOf"] == [new, {"type": "null"}]


@pytest.mark.parametrize("kind", DECLARED)
def test_a_change_without_an_id_is_for_kinds_whose_ids_are_assigned(kind: str, seeded: World) -> None:
    change = json.loads(describe())["components"]["schemas"][f"{schema_name(kind)}ChangeInput"]
    answer = seeded.client()(
        "PUT", "/candidate/changes", {"changes": [{"kind": kind, "id": None, "new": {}}]}
    )
    if "id" in change["required"]:
        assert (answer.status_code, answer.json["code"]) == (422, "bad-id")
    else:
        assert answer.json["code"] == "missing"


def test_every_operation_is_documented() -> None:
    document = json.loads(describe())
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
    document = json.loads(describe())
    for path, item in document["paths"].items():
        found = item.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        reference = found.get("application/json", {}).get("schema", {}).get("$ref", "")
        name = reference.rsplit("/", 1)[-1]
        if name.endswith("Page"):
            parameters = {parameter["name"] for parameter in item["get"]["parameters"]}
            assert {"limit", "cursor"} <= parameters, path


def test_the_page_for_people_shows_every_operation_and_loads_nothing() -> None:
    document = json.loads(describe())
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
    attach(seeded.app, seeded.settings, seeded.parts)
    headers = {"Authorization": f"Bearer {seeded.token()}"}
    _aimed(case).call_and_validate(headers=headers, checks=CHECKS)


RUNS = [tool.operation for tool in EVERY.values()]
"""Each goes on for seconds; only what it is asked is compared with the document."""


@schema.exclude(operation_id=["stream_stats", *RUNS, *LARGE]).parametrize()
@settings(BOUNDED, phases=(Phase.explicit, Phase.generate))
def test_the_api_keeps_to_its_document(case: Any, seeded: World) -> None:
    _keep(case, seeded)


@schema.include(operation_id=LARGE).parametrize()
@settings(BOUNDED, phases=(Phase.generate,))
def test_large_bodies_keep_to_the_document(case: Any, seeded: World) -> None:
    _keep(case, seeded)


@schema.include(operation_id=RUNS).parametrize()
@settings(BOUNDED, phases=(Phase.generate,))
def test_the_arguments_of_tools_keep_to_the_document(case: Any) -> None:
    if not (case.meta.generation.mode.is_positive and isinstance(case.body, dict)):
        return
    try:
        EVERY[case.path.rpartition("/")[2]].read(case.body)
    except Invalid as problem:
        beside = {"family-mismatch", "no-ports", "bad-address", "needs-one"}
        assert {item.code for item in problem.findings} <= EXPLAINED.keys() | beside, problem.message

# SPDX-License-Identifier: Apache-2.0
"""Queues by REST: create, read, replace, patch, delete, bulk, move, with preconditions."""

from __future__ import annotations

from tests.http.world import Client

ACME = {
    "name": "acme",
    "target": ["10.64.1.7/32", "2001:db8:64:7::/64"],
    "max_limit_bps": {"upload": 10_000_000, "download": 50_000_000},
}


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
    assert api("GET", f"/queues/{queue_id}").status_code == 404

# SPDX-License-Identifier: Apache-2.0
"""How operations are done that need more than one request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.http.test_backup import saved, send
from tests.http.world import Client
from tests.polling import until

SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPHXDCSQ9kVhfKRHOnwQYpcIB9v4rLrbjyvhd3CW7"
"""All but the last letters of keys."""


def etag(api: Client, path: str) -> str:
    return str(api("GET", path).json["etag"])


def unstage_several(api: Client) -> Any:
    stage(api)
    return api("POST", "/candidate/unstage", {"changes": [{"kind": "queue", "id": "staged"}]})


def stage(api: Client, name: str = "staged") -> Any:
    change = {"kind": "queue", "id": name, "new": {"name": name}}
    return api("PUT", "/candidate/changes", {"changes": [change]})


def conflicting(api: Client) -> None:
    """A candidate whose change somebody else has made meanwhile."""
    stage(api, "q1")
    api("PATCH", "/queues/q1", {"comment": "theirs"}, etag=etag(api, "/queues/q1"))


def report(api: Client) -> str:
    read = api("POST", "/import/csv", data=b"name,target\nnew,10.7.0.1\n", content_type="text/csv")
    assert read.status_code == 201, read.text
    return str(read.json["id"])


def pending(api: Client, name: str) -> dict[str, Any]:
    stage(api, name)
    done = api("POST", "/candidate/commit", {"confirm_within_s": 60})
    assert done.status_code == 200, done.text
    return dict(done.json)


def confirm(api: Client) -> Any:
    armed = pending(api, "confirmed")
    body = {"revision": armed["revision"], "token": armed["pending"]["token"]}
    return api("POST", "/config/confirm", body)


def revert(api: Client) -> Any:
    pending(api, "reverted")
    return api("POST", "/config/revert")


def put(path: str, body: Any) -> Callable[[Client], Any]:
    return lambda api: api("PUT", path, body, etag=etag(api, path))


def patch(path: str, body: Any) -> Callable[[Client], Any]:
    return lambda api: api("PATCH", path, body, etag=etag(api, path))


def delete(path: str) -> Callable[[Client], Any]:
    return lambda api: api("DELETE", path, etag=etag(api, path))


def post(path: str, body: Any = None) -> Callable[[Client], Any]:
    return lambda api: api("POST", path, body)


def raise_limit(api: Client) -> Any:
    patch("/queues/q1", {"max_limit_bps": {"upload": 1_000_000, "download": 1_000_000}})(api)
    wanted = {"upload": 2_000_000, "download": 2_000_000}
    return api("POST", "/queues/q1/raise", {"max_limit_bps": wanted, "for_s": 3600})


def unstage(api: Client) -> Any:
    stage(api)
    return api("DELETE", "/candidate/changes/queue/staged")


def resolve(api: Client) -> Any:
    conflicting(api)
    return api("POST", "/candidate/resolve", {"keep": "theirs"})


def commit(api: Client) -> Any:
    stage(api)
    return api("POST", "/candidate/commit", {})


def restore(api: Client) -> Any:
    data = saved(api)
    api("POST", "/queues", {"name": "after the backup"})
    return send(api, "/backup/restore", data)


def revoke(api: Client) -> Any:
    made = api("POST", "/tokens", {"name": "t", "scope": "read"}).json["id"]
    return api("DELETE", f"/tokens/{made}")


def stop_tool(api: Client) -> Any:
    until("the run before has ended", lambda: ran(api, "ping") is None)
    started = api("POST", "/tools/ping", {"target": "192.0.2.1", "count": 100})
    assert started.status_code == 200, started.text
    return api("DELETE", f"/tools/runs/{ran(api, 'ping')['id']}")


def run_speed(api: Client) -> Any:
    """The answer is the run, which ends when it is closed."""
    answer = api("POST", "/tools/speed", {}, buffered=False)
    answer.close()
    return answer


def ran(api: Client, name: str) -> Any:
    return next(item["running"] for item in api("GET", "/tools").json["items"] if item["name"] == name)


def install(api: Client) -> Any:
    bundle = b"1.2.3" * 10
    return api("POST", "/system/update", data=bundle, content_type="application/octet-stream")


def route(api: Client) -> str:
    body = {"destination": "10.8.0.0/16", "blackhole": True}
    return f"/static-routes/{api('POST', '/static-routes', body).json['id']}"


def peer(api: Client) -> Any:
    api("PUT", "/interfaces/wg0", {"type": "wireguard"})
    return api("POST", "/wireguard-peers", {"id": "p1", "interface": "wg0"})

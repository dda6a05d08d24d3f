# SPDX-License-Identifier: Apache-2.0
"""The speed test by REST: one run, which ends alone, and requests that it bounds."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest

from tests.http.world import Client, World
from tests.polling import until
from weir.http.speed import block
from weir.tools.speed import STREAMS

BINARY = {"content_type": "application/octet-stream"}


def begin(api: Client, **body: Any) -> tuple[Any, dict[str, Any]]:
    """The answer that holds a run, and what the run is."""
    answer = api("POST", "/tools/speed", body, buffered=False)
    assert answer.status_code == 200, answer.text
    first = next(answer.iter_encoded()).decode()
    assert first.startswith("event: run\n")
    return answer, json.loads(first.splitlines()[1].removeprefix("data: "))


def running(api: Client) -> dict[str, Any] | None:
    items = api("GET", "/tools").json["items"]
    found: dict[str, Any] | None = next(item["running"] for item in items if item["name"] == "speed")
    return found


def upload(api: Client, run: dict[str, Any], data: bytes) -> Any:
    return api("POST", f"/tools/speed/{run['id']}/upload", data=data, **BINARY)


def test_a_run_counts_what_it_sent_and_what_came(api: Client) -> None:
    answer, run = begin(api, seconds=3)
    assert run["lasts_s"] == 14.0
    assert api("GET", f"/tools/speed/{run['id']}/echo").status_code == 204
    assert upload(api, run, b"x" * 200_000).json == {"received_bytes": 200_000}
    download = api("GET", f"/tools/speed/{run['id']}/download", buffered=False)
    assert download.headers["X-Accel-Buffering"] == "no", "nginx must not collect it on the disk"
    assert next(download.iter_encoded()) == block()
    download.close()
    counted = next(answer.iter_encoded()).decode()
    assert f'"sent_bytes":{len(block())},"received_bytes":200000' in counted
    answer.close()


def test_the_bytes_cannot_be_compressed() -> None:
    assert len(zlib.compress(block() * 4, 9)) > len(block()) * 4


def test_a_run_ends_with_its_reader_and_what_it_had_ends_with_it(api: Client) -> None:
    answer, run = begin(api)
    download = api("GET", f"/tools/speed/{run['id']}/download", buffered=False)
    blocks = download.iter_encoded()
    assert next(blocks)
    answer.close()
    assert running(api) is None
    assert list(blocks) == []
    for method, path in (("GET", "download"), ("GET", "echo")):
        assert api(method, f"/tools/speed/{run['id']}/{path}").status_code == 404
    assert upload(api, run, b"x").status_code == 404


def test_a_run_that_nobody_ends_ends_by_itself(world: World, api: Client) -> None:
    """Also where its reader is gone and nobody has noticed."""
    answer, run = begin(api)
    held = world.parts.service.speed.of(
        world.parts.service.auth.authenticate_token(world.token(), "x"), run["id"]
    )
    held.lasts_s = 0.1
    rest = answer.get_data(as_text=True)
    assert rest.endswith('event: end\ndata: {"reason":"done","message":null}\n\n')
    assert running(api) is None


def test_one_runs_at_a_time_and_the_second_is_told_whose_it_is(world: World, api: Client) -> None:
    answer, run = begin(api)
    found = running(api)
    assert found is not None
    assert (found["id"], found["subject"]) == (run["id"], "speed test with 127.0.0.1")
    second = world.client("write")("POST", "/tools/speed", {})
    assert (second.status_code, second.json["code"]) == (409, "tool-busy")
    assert "test-admin" in second.json["detail"] or found["by"] in second.json["detail"]
    entry = api("GET", "/system/audit?limit=1").json["items"][0]
    assert (entry["action"], entry["outcome"]) == ("tool.run", "tool-busy")
    answer.close()
    begin(world.client("write"))[0].close()


def test_a_run_is_of_who_began_it_and_needs_the_scope(world: World, api: Client) -> None:
    answer, run = begin(api)
    assert world.client("read")("POST", "/tools/speed", {}).status_code == 403
    assert world.client("read")("GET", f"/tools/speed/{run['id']}/download").status_code == 403
    other = world.client("write")("GET", f"/tools/speed/{run['id']}/download")
    assert (other.status_code, other.json["code"]) == (404, "no-such-run")
    answer.close()


def test_somebody_who_may_stops_it_and_the_run_says_so(world: World, api: Client) -> None:
    answer, run = begin(api)
    assert world.client("read")("DELETE", f"/tools/runs/{run['id']}").status_code == 403
    assert world.client("write")("DELETE", f"/tools/runs/{run['id']}").json["id"] == run["id"]
    assert answer.get_data(as_text=True).endswith('{"reason":"stopped","message":null}\n\n')
    entry = api("GET", "/system/audit?limit=1").json["items"][0]
    assert entry["action"] == "tool.stop"
    assert api("DELETE", f"/tools/runs/{run['id']}").status_code == 404


def test_so_many_transfer_at_once_and_no_more(api: Client) -> None:
    answer, run = begin(api)
    held = [api("GET", f"/tools/speed/{run['id']}/download", buffered=False) for _ in range(STREAMS)]
    more = api("GET", f"/tools/speed/{run['id']}/download")
    assert (more.status_code, more.json["code"]) == (409, "tool-busy")
    held.pop().close()
    again = api("GET", f"/tools/speed/{run['id']}/download", buffered=False)
    assert again.status_code == 200
    for item in (*held, again, answer):
        item.close()
    assert world_is_free(api)


def world_is_free(api: Client) -> bool:
    """All places are free again for the next run."""
    answer, run = begin(api)
    held = [api("GET", f"/tools/speed/{run['id']}/download", buffered=False) for _ in range(STREAMS)]
    found = all(item.status_code == 200 for item in held)
    for item in (*held, answer):
        item.close()
    return found


def test_a_body_above_the_bound_is_refused_and_one_of_another_type_too(api: Client) -> None:
    answer, run = begin(api)
    path = f"/tools/speed/{run['id']}/upload"
    assert api("POST", path, data=bytes(17 << 20), **BINARY).status_code == 413
    assert api("POST", path, {"a": 1}).status_code == 415
    answer.close()


@pytest.mark.parametrize("seconds", [2, 11, True, "6"])
def test_what_cannot_be_run_is_refused(shared_api: Client, seconds: Any) -> None:
    answer = shared_api("POST", "/tools/speed", {"seconds": seconds})
    assert answer.status_code == 422
    assert [item["field"] for item in answer.json["findings"]] == ["seconds"]


def test_the_way_is_told_with_the_lowest_limit_above_the_client(world: World, api: Client) -> None:
    tower = {
        "name": "Tower",
        "target": ["10.64.0.0/24"],
        "max_limit_bps": {"upload": 0, "download": 40_000_000},
    }
    acme = {"name": "Acme", "parent": "tower", "target": ["10.64.0.2/32"]}
    wide = {"max_limit_bps": {"upload": 5_000_000, "download": 90_000_000}}
    assert api("PUT", "/queues/tower", tower).status_code == 201
    made = api("PUT", "/queues/acme", acme | wide)
    assert made.status_code == 201, made.text
    answer, run = begin(api)
    queue = {"id": "tower", "name": "Tower", "limit_bps": 40_000_000}
    assert run["path"] == {"address": "127.0.0.1", "interface": "lan0", "queue": queue, "unknown": None}
    answer.close()


def test_a_client_in_no_queue_has_none_and_without_the_agent_that_is_not_known(
    world: World, api: Client
) -> None:
    answer, run = begin(api)
    told = {"address": "127.0.0.1", "interface": "lan0", "queue": None, "unknown": None}
    assert run["path"] == told
    answer.close()
    world.agent.customers.may_be_in_vrf = True
    answer, run = begin(api)
    assert "VRF" in run["path"]["unknown"]
    answer.close()
    world.agent.__exit__(None, None, None)
    answer, run = begin(api)
    assert run["path"]["interface"] is None
    assert run["path"]["unknown"]
    answer.close()
    world.agent.__enter__()
    until("the agent answers", lambda: api("GET", "/tools").status_code == 200)

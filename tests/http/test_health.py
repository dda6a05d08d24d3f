# SPDX-License-Identifier: Apache-2.0
"""What `GET /system` says right after a change, between two rounds of the sampler."""

from __future__ import annotations

import pytest

from tests.http.world import World


def test_a_kernel_that_is_back_before_the_configuration_is_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.parts.stats.stop()
    world.parts.stats.tick()
    api = world.client()
    assert api("POST", "/queues", {"name": "acme"}).status_code == 201
    undone = {
        "state": "ok",
        "revision": 0,
        "confirm": {"revision": 1, "seconds_left": 0.0, "undone": True},
    }
    monkeypatch.setattr("weir.http.health._status", lambda *_: undone)
    checks = {check["id"]: check for check in api("GET", "/system").json["checks"]}
    assert checks["revision"]["state"] == "warning"
    assert "Revision 1 was not confirmed in time: the kernel runs revision 0 again" in str(checks["revision"])


def test_a_change_since_the_last_sample_is_not_taken_for_a_difference(world: World) -> None:
    world.parts.stats.stop()
    world.parts.stats.tick()
    api = world.client()
    assert api("POST", "/queues", {"name": "acme"}).status_code == 201
    router = world.parts.stats.router
    assert router.status is not None
    router.status = {**router.status, "state": "applying"}
    system = api("GET", "/system").json
    assert (system["agent"]["state"], system["agent"]["revision"]) == ("ok", system["revision"])
    assert {check["id"]: check["state"] for check in system["checks"]}["revision"] == "ok"

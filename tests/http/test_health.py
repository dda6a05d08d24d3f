# SPDX-License-Identifier: Apache-2.0
"""What `GET /system` says right after a change, between two rounds of the sampler."""

from __future__ import annotations

from tests.http.world import World


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

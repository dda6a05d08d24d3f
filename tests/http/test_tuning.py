# SPDX-License-Identifier: Apache-2.0
"""Tuning by REST: shown with its reasons, overridden like everything else that is configured."""

from __future__ import annotations

from tests.http.world import Client, World


def test_settings_are_shown_with_reason_and_state(api: Client) -> None:
    found = api("GET", "/tuning").json
    assert found["overrides"] == {}
    (setting,) = found["settings"]
    assert (setting["reason"], setting["places"][0]["state"]) == ("a poll round ends", "applied")


def test_an_override_is_a_revision_and_null_takes_it_back(api: Client, world: World) -> None:
    etag = api("GET", "/tuning").json["etag"]
    assert api("PATCH", "/tuning", {"overrides": {"softirq-budget": "4000"}}).status_code == 428
    set_ = api("PATCH", "/tuning", {"overrides": {"softirq-budget": "4000", "x": ""}}, etag=etag)
    assert set_.status_code in (200, 201), set_.json
    assert dict(world.agent.kernel["tuning", "tuning"].overrides) == {"softirq-budget": "4000", "x": ""}
    back = api("PATCH", "/tuning", {"overrides": {"x": None}}, etag=set_.json["etag"])
    assert back.json["overrides"] == {"softirq-budget": "4000"}
    assert api("GET", "/revisions").json["items"][0]["revision"] == 2


def test_an_override_of_nothing_is_warned_of(api: Client) -> None:
    etag = api("GET", "/tuning").json["etag"]
    wanted = {"softirq-budgt": "4000", "softirq-budget": "4000"}
    answer = api("PATCH", "/tuning", {"overrides": wanted}, etag=etag).json
    (warning,) = answer["warnings"]
    assert (warning["code"], warning["field"]) == ("no-such-setting", "overrides/softirq-budgt")
    assert api("GET", "/tuning").json["warnings"] == [warning]


def test_an_override_of_an_interface_that_is_not_there_is_warned_of(api: Client, world: World) -> None:
    world.agent.tuning[0]["places"][0]["place"] = "eth0"
    etag = api("GET", "/tuning").json["etag"]
    wanted = {"softirq-budget.eth0": "1", "softirq-budget.eth9": "1"}
    answer = api("PATCH", "/tuning", {"overrides": wanted}, etag=etag)
    assert answer.status_code == 200, answer.text
    (warning,) = answer.json["warnings"]
    assert "'eth9'" in warning["message"] and warning["field"] == "overrides/softirq-budget.eth9"


def test_what_was_shown_can_be_sent_back(api: Client) -> None:
    shown = api("GET", "/tuning").json
    stored = api("PUT", "/tuning", {**shown, "overrides": {"a": "b"}}, etag=shown["etag"])
    assert stored.status_code in (200, 201), stored.json
    assert stored.json["overrides"] == {"a": "b"}


def test_overrides_are_checked(api: Client) -> None:
    etag = api("GET", "/tuning").json["etag"]
    for wrong in ({"a b": "1"}, {"a": 1}, {"a": "x" * 1000}, {f"k{n}": "1" for n in range(300)}, "text"):
        assert api("PUT", "/tuning", {"overrides": wrong}, etag=etag).status_code == 422, wrong
    assert api("PUT", "/tuning", {"other": 1}, etag=etag).status_code == 422


def test_without_an_agent_the_overrides_are_still_shown(api: Client, world: World) -> None:
    world.agent.__exit__(None, None, None)
    found = api("GET", "/tuning")
    assert found.status_code == 200
    assert found.json["settings"] == [] and "agent" in found.json["settings_reason"]

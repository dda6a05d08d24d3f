# SPDX-License-Identifier: Apache-2.0
"""Findings by REST, and a remedy on trial."""

from __future__ import annotations

from typing import Any

from tests.diagnosis.samples import cores, judged, unseen, well
from tests.http.world import Client, World
from weir.diagnosis.sample import Scan
from weir.diagnosis.shown import findings_json

FULL, IDLE = {"softirq": 95, "squeezed": 500}, {"softirq": 2}
ONE_CORE = {"code": "one-core-works", "subject": "core 0", "remedy": "threaded-napi"}


def sick() -> dict[str, Any]:
    looks = [well(step, cores=cores(step, FULL, IDLE, IDLE)) for step in range(1, 6)]
    last = unseen(looks[-1], "the kernel is silent", "lock_waits")
    return {**findings_json(judged(looks), last), "period_s": 5.0, "cpu_ms_per_sample": 2.0}


def test_a_finding_has_its_numbers_thresholds_and_remedies(api: Client, world: World) -> None:
    world.agent.findings = sick()
    answer = api("GET", "/diagnosis/findings").json
    (found,) = answer["findings"]
    assert (found["code"], found["severity"], found["evidence"]) == ("one-core-works", "warning", "E2")
    assert found["numbers"][0] == {
        "name": "softirq_share", "value": 0.95, "threshold": 0.8, "unit": "share", "shown": "95 %",
        "threshold_shown": "80 %",
    }  # fmt: skip
    assert found["since"].endswith("Z")
    assert {item["id"]: item["reason"] for item in answer["not_looked_at"]} == {
        "lock_waits": "the kernel is silent"
    }


def test_a_remedy_is_a_revision_that_goes_back_unless_it_is_confirmed(api: Client, world: World) -> None:
    world.agent.findings = sick()
    done = api("POST", "/diagnosis/apply", ONE_CORE)
    assert done.status_code == 200, done.text
    assert done.json["trial"]["outcome"] == "measuring"
    assert done.json["committed"]["pending"]["token"]
    assert dict(world.agent.kernel["tuning", "tuning"].overrides) == {"threaded-napi": "1"}
    assert api("POST", "/config/revert").status_code == 200
    assert api("GET", "/tuning").json["overrides"] == {}
    actions = [entry["action"] for entry in api("GET", "/system/audit").json["items"]]
    assert "config.remedy" in actions


def test_a_remedy_that_is_in_force_already_is_a_conflict(api: Client, world: World) -> None:
    world.agent.findings = sick()
    etag = api("GET", "/tuning").json["etag"]
    api("PATCH", "/tuning", {"overrides": {"threaded-napi": "1"}}, etag=etag)
    answer = api("POST", "/diagnosis/apply", ONE_CORE)
    assert (answer.status_code, answer.json["code"]) == (409, "applied-already")


def test_an_override_that_somebody_chose_is_not_replaced_by_a_smaller_one(api: Client, world: World) -> None:
    world.agent.findings = sick()
    etag = api("GET", "/tuning").json["etag"]
    api("PATCH", "/tuning", {"overrides": {"threaded-napi": "0"}}, etag=etag)
    answer = api("POST", "/diagnosis/apply", ONE_CORE)
    assert (answer.status_code, answer.json["code"]) == (409, "applied-already")
    assert "'0'" in answer.json["detail"] and "by hand" in answer.json["detail"]


def test_a_change_is_not_undone_while_it_is_measured(api: Client, world: World) -> None:
    world.agent.findings = sick()
    answer = api("POST", "/diagnosis/apply", {**ONE_CORE, "confirm_within_s": 10})
    assert answer.status_code == 422 and "60" in answer.json["findings"][0]["message"]


def test_a_scanner_is_bounded_on_trial(api: Client, world: World) -> None:
    scans = (Scan("2001:db8:64::/64", 5_000.0, 5_200.0),)
    looks = [well(step, scans=scans) for step in range(1, 6)]
    world.agent.findings = {
        **findings_json(judged(looks), looks[-1]), "period_s": 5.0, "cpu_ms_per_sample": 2.0,
    }  # fmt: skip
    (finding,) = api("GET", "/diagnosis/findings").json["findings"]
    remedy = finding["remedies"][0]
    assert (remedy["setting"], remedy["value"]) == ("bounded-source", "100 packets/s")
    asked = {"code": "scan", "subject": "2001:db8:64::/64", "remedy": "bound-source"}
    assert api("POST", "/diagnosis/apply", asked).status_code == 200
    (made,) = api("GET", "/bounded-sources").json["items"]
    assert (made["source"], made["packets_per_second"]) == ("2001:db8:64::/64", 100)
    assert api("POST", "/config/revert").status_code == 200
    assert api("GET", "/bounded-sources").json["items"] == []
    own = {"source": "2001:db8:64::/64", "packets_per_second": 5_000}
    assert api("PUT", f"/bounded-sources/{made['id']}", own).status_code == 201
    again = api("POST", "/diagnosis/apply", asked)
    assert (again.status_code, again.json["code"]) == (409, "applied-already"), again.text
    assert "5000 packets a second" in again.json["detail"]


def test_a_remedy_for_one_card_is_an_override_for_that_card(api: Client, world: World) -> None:
    found = sick()
    (finding,) = found["findings"]
    remedies = [{**finding["remedies"][0], "id": "receive-ring"}]
    finding |= {"code": "ring-overrun", "subject": "eth1", "remedies": remedies}
    world.agent.findings = found
    asked = {"code": "ring-overrun", "subject": "eth1", "remedy": "receive-ring"}
    done = api("POST", "/diagnosis/apply", asked)
    assert done.status_code == 200, done.text
    assert dict(world.agent.kernel["tuning", "tuning"].overrides) == {
        "receive-ring.eth1": "min(maximum,4096)"
    }


def test_what_cannot_be_applied_is_refused_by_name(api: Client, world: World) -> None:
    gone = api("POST", "/diagnosis/apply", ONE_CORE)
    assert (gone.status_code, gone.json["code"]) == (404, "no-finding")
    world.agent.findings = sick()
    other = api("POST", "/diagnosis/apply", {**ONE_CORE, "remedy": "prayer"})
    assert (other.status_code, other.json["code"]) == (404, "no-remedy")
    assert "threaded-napi" in other.json["detail"]
    advice = api("POST", "/diagnosis/apply", {**ONE_CORE, "remedy": "spread"})
    assert (advice.status_code, advice.json["code"]) == (422, "not-applicable")


def test_without_an_agent_nothing_is_said_to_be_well(api: Client, world: World) -> None:
    world.agent.__exit__(None, None, None)
    assert api("GET", "/diagnosis/findings").status_code == 503


def test_drops_are_listed_by_owner_with_the_span_that_they_are_of(api: Client, world: World) -> None:
    rules = [["firewall-rule", "no-games", "drop", "", 100, False]]
    world.agent.drops = {"counted": rules, "unseen": {}}
    assert api("GET", "/diagnosis/drops").status_code in (200, 503), "503 after the first reading"
    rules[0][4] += 7
    found = api("GET", "/diagnosis/drops?minutes=5").json
    assert found["packets"] == 7 and found["since"] < found["until"]
    (item,) = found["items"]
    assert item == {
        "kind": "firewall-rule", "id": "no-games", "reason": "drop", "text": "dropped by rule", "way": None,
        "interface": None, "packets": 7, "share": 1.0,
    }  # fmt: skip
    assert any("neighbor" in text for text in found["not_counted"])


def test_what_could_not_be_read_is_said(api: Client, world: World) -> None:
    world.agent.drops = {"counted": [], "unseen": {"rules": "nftables cannot be asked"}}
    api("GET", "/diagnosis/drops")
    found = api("GET", "/diagnosis/drops").json
    assert found["unseen"] == [{"id": "rules", "reason": "nftables cannot be asked"}]


def test_a_span_out_of_bounds_is_refused_with_its_name(api: Client) -> None:
    for wrong in ("0", "1441", "-1", "1.5", "x", "", "9" * 40, "1%00", "٣"):
        answer = api("GET", f"/diagnosis/drops?minutes={wrong}")
        assert answer.status_code == 422, wrong
        assert "minutes" in answer.text, answer.text

# SPDX-License-Identifier: Apache-2.0
"""What the router would do with a packet, by REST and by command, where the agent does not know its way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kinds.toys import Toy, toy

INTERNET = "198.51.100.7"


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    with toy(Path(tmp_path_factory.mktemp("paths"))) as found:
        for path, body in (
            ("/interfaces/wan0", {"role": "wan", "addresses": ["203.0.113.2/24"]}),
            ("/interfaces/lan0", {"role": "lan", "addresses": ["10.64.0.1/24"]}),
            ("/interfaces/v7", {"role": "lan", "vlan": {"parent": "lan0", "id": 7}}),
            ("/interfaces/off0", {"role": "lan", "disabled": True}),
            ("/static-routes/out", {"destination": "0.0.0.0/0", "gateway": "203.0.113.1"}),
            (
                "/firewall-rules/mail",
                {"chain": "forward", "action": "drop", "protocol": "tcp", "ports": ["25"]},
            ),
            (
                "/firewall-rules/bad-host",
                {"chain": "raw/prerouting", "action": "drop", "source": ["10.64.0.66/32"]},
            ),
        ):
            answer = found.api("PUT", path, body)
            assert answer.status_code == 201, answer.json
        yield found


def asked(router: Toy, **said: Any) -> Any:
    packet = {"source": "10.64.0.7", "destination": INTERNET, **said}
    return router.api("GET", "/diagnosis/path", query_string=packet)


def test_without_the_agent_rules_are_told_and_the_fate_is_not_known(router: Toy) -> None:
    found = asked(router, port=25).json
    steps = {step["at"]: step for step in found["steps"]}
    assert found["fate"] == "unknown" and found["leaves"] is None
    assert steps["route"]["state"] == "unknown" and "wan0" in steps["route"]["sentence"]
    assert all("agent" in text for text in steps["route"]["not_known"])
    assert (steps["firewall"]["kind"], steps["firewall"]["id"]) == ("firewall-rule", "mail")
    assert found["steps"][-1]["at"] == "firewall", "the line ends where it is dropped"
    assert "As far as is known: The firewall drops it: rule mail." in found["sentence"]


def test_what_is_dropped_before_tracking_meets_no_nat_and_no_route(router: Toy) -> None:
    found = asked(router, source="10.64.0.66").json
    *before, last = found["steps"]
    assert (last["at"], last["kind"], last["id"]) == ("firewall", "firewall-rule", "bad-host")
    assert {"nat-in", "route"}.isdisjoint(step["at"] for step in before)
    assert "The firewall drops it: rule bad-host." in found["sentence"]


def test_a_tag_is_of_the_vlan_interface(router: Toy) -> None:
    found = asked(router, in_interface="lan0", vlan=7).json
    assert found["steps"][0]["id"] == "v7"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"destination": "nowhere"}, "bad-prefix"),
        ({"destination": "2001:db8::1"}, "family-mismatch"),
        ({"in_interface": "eth9"}, "unknown-interface"),
        ({"in_interface": "off0"}, "interface-disabled"),
        ({"in_interface": "lan0", "vlan": 8}, "unknown-vlan"),
        ({"vlan": 7}, "unknown-way"),
        ({"in_interface": "lan0", "from_router": "true"}, "two-origins"),
        ({"source": "2001:db8::1", "destination": "2001:db8::2"}, "unknown-way"),
        ({"tos": 256}, "invalid-request"),
    ],
)
def test_what_is_no_packet_is_said(router: Toy, said: dict[str, Any], code: str) -> None:
    answer = asked(router, **said)
    assert (answer.status_code, answer.json["code"]) == (422, code), answer.json


def test_a_candidate_that_is_not_there_is_named(router: Toy) -> None:
    answer = asked(router, candidate="true")
    assert answer.status_code == 404 and "candidate" in answer.json["detail"]


def test_the_command_tells_the_line(router: Toy) -> None:
    told = router.weir("path", "10.64.0.7", INTERNET, "tcp", "25", "--in", "lan0")
    assert "DROPS     firewall" in told and "not known: the agent has no method" in told
    assert "sends it itself" in router.weir("path", "203.0.113.2", INTERNET, "icmp", "--from-router")


def proved(router: Toy, **said: Any) -> Any:
    return router.api(
        "POST", "/diagnosis/path/prove", {"source": "10.64.0.7", "destination": INTERNET, **said}
    )


def test_without_the_agent_nothing_is_proved_and_why(router: Toy) -> None:
    found = proved(router, port=25).json
    assert (found["outcome"], found["fate"], found["took_ms"]) == ("unknown", "unknown", None)
    assert found["sentence"].startswith("No frame was sent: the agent")
    assert {step["outcome"] for step in found["steps"]} == {"unknown"}
    assert [step["at"] for step in found["steps"]] == [step["at"] for step in found["predicted"]["steps"]]
    assert found["source_port"] >= 49_152, "a port of the frame's own"


@pytest.mark.parametrize(
    ("said", "status", "code"),
    [
        ({"destination": "nowhere"}, 422, "bad-prefix"),
        ({"destination": "2001:db8::1"}, 422, "family-mismatch"),
        ({"protocol": "gre"}, 422, "invalid-request"),
        ({"port": "25"}, 422, "invalid-request"),
        ({"state": "new"}, 422, "invalid-request"),
        ({"in_interface": "eth9"}, 422, "unknown-interface"),
        ({"in_interface": "off0"}, 422, "interface-disabled"),
        ({"vlan": 7}, 422, "unknown-way"),
        ({"in_interface": "lan0", "from_router": True}, 422, "two-origins"),
    ],
)
def test_what_is_no_packet_is_not_sent(router: Toy, said: dict[str, Any], status: int, code: str) -> None:
    answer = proved(router, **said)
    assert (answer.status_code, answer.json["code"]) == (status, code), answer.json


def test_the_command_proves(router: Toy) -> None:
    told = router.weir("path", "10.64.0.7", INTERNET, "tcp", "25", "--in", "lan0", "--prove")
    assert "not known firewall  The firewall drops it: rule mail." in told
    assert "No frame was sent: the agent has no method" in told
    refused = router.weir("path", "10.64.0.7", INTERNET, "--candidate", "--prove", code=2)
    assert "--prove goes without --candidate" in refused

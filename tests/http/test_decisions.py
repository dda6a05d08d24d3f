# SPDX-License-Identifier: Apache-2.0
"""Which rule decides about a packet, by REST and by command."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.http.world import Client, World
from tests.kinds.toys import Toy, toy
from weir.model.document import Document
from weir.parts.firewall import FIREWALL, rule_text

INTERNET = "198.51.100.7"


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    with toy(Path(tmp_path_factory.mktemp("decisions"))) as found:
        for path, body in (
            ("/interfaces/wan0", {"role": "wan", "addresses": ["203.0.113.2/24"]}),
            ("/interfaces/lan0", {"role": "lan", "addresses": ["10.64.0.1/24", "2001:db8:64::1/64"]}),
            ("/interfaces/off0", {"role": "lan", "disabled": True}),
            ("/static-routes/out", {"destination": "0.0.0.0/0", "gateway": "203.0.113.1"}),
            ("/static-routes/branch", {"destination": "10.70.0.0/16", "gateway": "10.64.0.9"}),
            ("/sets/bad", {}),
            ("/sets/seen", {"source": "dynamic"}),
            ("/set-entries/e1", {"set": "bad", "value": "198.51.100.0/25"}),
            ("/firewall-rules/learnt", {"chain": "forward", "action": "drop", "source_set": "seen"}),
            (
                "/firewall-rules/mail",
                {
                    "chain": "forward",
                    "action": "drop",
                    "protocol": "tcp",
                    "ports": ["25"],
                    "source": ["10.64.0.0/24"],
                },
            ),
            (
                "/firewall-rules/school",
                {
                    "chain": "forward",
                    "action": "reject",
                    "protocol": "udp",
                    "time": {"start": "08:00", "end": "13:00", "days": ["mon", "fri"]},
                },
            ),
            (
                "/firewall-rules/bogons",
                {
                    "chain": "raw/prerouting",
                    "action": "drop",
                    "source": ["192.0.2.0/24", "2001:db8:bad::/48"],
                },
            ),
            (
                "/firewall-rules/flood",
                {"chain": "raw/prerouting", "action": "notrack", "source": ["198.51.100.66/32"]},
            ),
            ("/firewall-rules/block", {"chain": "input", "action": "reject", "source_set": "bad"}),
            (
                "/nat-rules/web",
                {
                    "type": "destination",
                    "protocol": "tcp",
                    "ports": ["8443"],
                    "to_address": "10.64.0.5",
                    "to_port": 443,
                },
            ),
        ):
            answer = found.api("PUT", path, body)
            assert answer.status_code == 201, answer.json
        yield found


def asked(router: Toy, source: str, destination: str, **said: Any) -> Any:
    answer = router.api(
        "GET", "/firewall/decision", query_string={"source": source, "destination": destination, **said}
    )
    assert answer.status_code == 200, answer.json
    return answer.json


@pytest.mark.parametrize(
    ("packet", "chain", "verdict", "by"),
    [
        (("10.64.0.7", INTERNET, "tcp", 25), "forward", "drop", ("firewall-rule", "mail")),
        (("10.64.0.7", INTERNET, "tcp", 26), "forward", "accept", (None, None)),
        (("10.70.1.1", INTERNET, "tcp", 25), "forward", "accept", (None, None)),
        ((INTERNET, "10.64.0.7", "tcp", 80), "forward", "drop", ("firewall", "firewall")),
        ((INTERNET, "203.0.113.2", "icmp", 0), "input", "reject", ("firewall-rule", "block")),
        (("192.0.2.7", "203.0.113.2", "tcp", 8443), "raw/prerouting", "drop", ("firewall-rule", "bogons")),
        (("198.51.100.66", "203.0.113.2", "tcp", 8443), "input", "reject", ("firewall-rule", "block")),
        (("198.51.100.200", "203.0.113.2", "icmp", 0), "input", "accept", ("firewall", "firewall")),
        (("198.51.100.200", "203.0.113.2", "tcp", 22), "input", "drop", ("firewall", "firewall")),
        (("203.0.113.2", INTERNET, "udp", 53), "output", "accept", (None, None)),
        (("10.64.0.7", "10.64.0.1", "tcp", 443), "input", "accept", (None, None)),
    ],
)
def test_the_rule_that_decides_is_named(
    router: Toy, packet: tuple[str, str, str, int], chain: str, verdict: str, by: tuple[str, str]
) -> None:
    source, destination, protocol, port = packet
    found = asked(router, source, destination, protocol=protocol, port=port)
    assert (found["chain"], found["verdict"]) == (chain, verdict)
    assert (found["decided_by"]["kind"], found["decided_by"]["id"]) == by
    assert found["decided_by"]["text"]


def test_what_is_forwarded_is_followed_behind_nat(router: Toy) -> None:
    found = asked(router, INTERNET, "203.0.113.2", port=8443)
    assert (found["verdict"], found["destination"], found["port"]) == ("accept", "10.64.0.5", 443)
    assert (found["in_interface"], found["out_interface"]) == ("wan0", "lan0")
    assert [item["id"] for item in found["translations"]] == ["web"]
    assert found["decided_by"]["id"] == "web"
    out = asked(router, "10.64.0.7", INTERNET, port=80)
    assert (out["source"], out["translations"][0]["kind"]) == ("", "firewall")


def test_what_is_dropped_before_connections_has_no_route_and_no_nat(router: Toy) -> None:
    bad, nowhere = "2001:db8:bad::7", "2001:db8:99::1"
    for source, destination in (("192.0.2.7", "10.64.0.5"), ("192.0.2.7", "203.0.113.2"), (bad, nowhere)):
        found = asked(router, source, destination, port=8443, in_interface="wan0")
        assert (found["in_interface"], found["out_interface"]) == ("wan0", None)
        assert (found["source"], found["destination"], found["port"]) == (source, destination, 8443)
        assert found["translations"] == []
    said = router.weir("firewall", "decide", "192.0.2.7", "203.0.113.2", "tcp", "8443")
    assert "From wan0, chain raw/prerouting." in said


def test_what_only_the_kernel_knows_is_said(router: Toy) -> None:
    (text,) = asked(router, "10.64.0.7", INTERNET)["unsure"]
    assert "learnt" in text and "seen" in text


DETAILED: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "/firewall-rules/odd",
        {
            "chain": "forward",
            "action": "reject",
            "protocol": "tcp",
            "ports": ["9000"],
            "source_ports": ["1-1023"],
            "tcp_flags": ["syn"],
        },
    ),
    (
        "/firewall-rules/voice",
        {"chain": "forward", "action": "drop", "protocol": "gre", "dscp": 46, "ct_nat": "neither"},
    ),
    (
        "/firewall-rules/tablet",
        {"chain": "forward", "action": "drop", "protocol": "esp", "source_mac": "02:00:5E:10:00:07"},
    ),
)


def test_a_rule_about_what_was_not_told_of_the_packet_says_so(router: Toy) -> None:
    for path, body in DETAILED:
        assert router.api("PUT", path, body).status_code == 201

    def unsure(**said: Any) -> tuple[str, list[str]]:
        found = asked(router, "10.64.0.7", INTERNET, **said)
        return found["verdict"], [text for text in found["unsure"] if "learnt" not in text]

    attempt: dict[str, Any] = {"port": 9000}
    assert unsure(**attempt, source_port=1023) == ("reject", [])
    assert unsure(**attempt, source_port=1024) == ("accept", [])
    (text,) = unsure(**attempt)[1]
    assert text == "firewall rule odd looks at the source port; it is taken not to match"
    verdict, (text,) = unsure(**attempt, source_port=1023, state="established")
    assert verdict == "accept" and "TCP flags that are not known" in text
    assert unsure(protocol="gre", dscp=46) == ("drop", [])
    assert unsure(protocol="gre", dscp=45) == ("accept", [])
    (text,) = unsure(protocol="gre")[1]
    assert "voice looks at the DSCP" in text
    verdict, (text,) = unsure(protocol="gre", dscp=46, state="established")
    assert verdict == "accept" and "what NAT did to the connection" in text
    shown = router.weir("firewall", "decide", "10.64.0.7", INTERNET, "gre", "--dscp", "46")
    assert shown.startswith("drop: ")
    assert unsure(protocol="esp", source_mac="02:00:5e:10:00:07") == ("drop", [])
    assert unsure(protocol="esp", source_mac="02-00-5E-10-00-08") == ("accept", [])
    verdict, (text,) = unsure(protocol="esp")
    assert verdict == "accept" and "tablet looks at the sender's hardware address" in text
    mac = ("--source-mac", "02:00:5e:10:00:07")
    assert router.weir("firewall", "decide", "10.64.0.7", INTERNET, "esp", *mac).startswith("drop: ")


def test_rules_see_the_codepoint_that_one_before_them_gave(router: Toy) -> None:
    for path, body in (
        (
            "/firewall-rules/go",
            {"chain": "forward", "action": "jump", "jump_to": "marks", "protocol": "vrrp"},
        ),
        ("/firewall-rules/mark", {"chain": "marks", "action": "set-dscp", "new_dscp": 46}),
        ("/firewall-rules/old", {"chain": "forward", "action": "drop", "dscp": 8, "protocol": "vrrp"}),
        ("/firewall-rules/new", {"chain": "forward", "action": "reject", "dscp": 46, "protocol": "vrrp"}),
    ):
        assert router.api("PUT", path, body).status_code == 201
    for said in ({"dscp": 8}, {}):
        found = asked(router, "10.64.0.7", INTERNET, protocol="vrrp", **said)
        assert (found["verdict"], found["decided_by"]["id"]) == ("reject", "new")


def test_where_nothing_has_a_hardware_address_a_rule_about_one_does_not_match(router: Toy) -> None:
    """Whatever is said of it: in WireGuard there is none, nor has what the router sends."""
    key = "mBOxnqOBXXlVBb1WSBcVFzBwSCEsDlhdoVo0rT3v1ns="
    for path, body in (
        (
            "/interfaces/wg0",
            {"role": "lan", "wireguard": {"private_key": key}, "addresses": ["10.99.0.1/24"]},
        ),
        ("/firewall-rules/jump", {"chain": "output", "action": "jump", "jump_to": "hosts"}),
        ("/firewall-rules/host", {"chain": "hosts", "action": "drop", "source_mac": "02:00:5e:10:00:07"}),
        ("/firewall-rules/jump2", {"chain": "forward", "action": "jump", "jump_to": "hosts"}),
    ):
        assert router.api("PUT", path, body).status_code == 201
    told = {"protocol": "ah", "source_mac": "02:00:5e:10:00:07"}
    assert asked(router, "10.64.0.7", INTERNET, **told)["verdict"] == "drop"
    for source in ("10.99.0.7", "203.0.113.2"):
        for said in (told, {"protocol": "ah"}):
            found = asked(router, source, INTERNET, **said)
            assert found["verdict"] == "accept"
            assert not [text for text in found["unsure"] if "hardware" in text]
    answer = router.api(
        "GET", f"/firewall/decision?source=10.64.0.7&destination={INTERNET}&source_mac=ff:ff:ff:ff:ff:ff"
    )
    assert (answer.status_code, answer.json["code"]) == (422, "bad-mac")


def test_an_answer_is_of_the_configuration_that_runs(router: Toy) -> None:
    before = asked(router, "10.64.0.8", INTERNET, port=7777)
    assert before["verdict"] == "accept"
    body = {"chain": "forward", "action": "drop", "protocol": "tcp", "ports": ["7777"]}
    made = router.api("PUT", "/firewall-rules/now", body)
    after = asked(router, "10.64.0.8", INTERNET, port=7777)
    assert (after["verdict"], after["decided_by"]["id"]) == ("drop", "now")
    assert after["revision"] > before["revision"]
    router.api("DELETE", "/firewall-rules/now", etag=made.json["etag"])


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"source": "10.64.0.7", "destination": "nowhere"}, "bad-prefix"),
        ({"source": "10.64.0.7", "destination": "2001:db8::1"}, "family-mismatch"),
        ({"source": "10.64.0.7", "destination": INTERNET, "in_interface": "eth9"}, "unknown-interface"),
        ({"source": "10.64.0.7", "destination": INTERNET, "in_interface": "off0"}, "interface-disabled"),
        ({"source": "2001:db8:64::2", "destination": "2001:db8:99::1"}, "unknown-way"),
    ],
)
def test_what_cannot_be_answered_is_said(router: Toy, said: dict[str, str], code: str) -> None:
    answer = router.api("GET", "/firewall/decision", query_string=said)
    assert answer.status_code == 422 and answer.json["code"] == code, answer.json
    given = {**said, "out_interface": "wan0"}
    if code == "unknown-way":
        assert router.api("GET", "/firewall/decision", query_string=given).status_code == 200


def test_the_command_names_the_rule(router: Toy) -> None:
    told = router.weir("firewall", "decide", "10.64.0.7", INTERNET, "tcp", "25")
    assert "drop" in told and "mail" in told
    assert "NAT rule web" in router.weir("firewall", "decide", INTERNET, "203.0.113.2", "tcp", "8443")


def test_every_rule_is_listed_in_its_place_with_what_made_it(router: Toy) -> None:
    found = router.api("GET", "/firewall/ruleset").json
    assert found["total"] == len(found["items"])
    chains = [item["chain"] for item in found["items"]]
    assert chains == sorted(chains, key=list(dict.fromkeys(chains)).index), "one chain after the other"
    forward = [item for item in found["items"] if item["chain"] == "forward"]
    assert router.api("GET", "/firewall/ruleset", query_string={"chain": "forward"}).json["items"] == forward
    made_by = [(item["kind"], item["id"]) for item in forward]
    assert made_by.index(("firewall-rule", "learnt")) < made_by.index(("firewall-rule", "mail"))
    assert ("firewall", "firewall") in made_by and all(item["text"] for item in forward)
    assert ("nat-rule", "web") in [(item["kind"], item["id"]) for item in found["items"]]


def test_the_rule_that_decides_is_one_of_those_listed(router: Toy) -> None:
    decided = asked(router, "10.64.0.7", INTERNET, protocol="tcp", port=25)["decided_by"]
    listed = router.api("GET", "/firewall/ruleset", query_string={"chain": "forward"}).json["items"]
    assert {"chain": "forward", "packets": None, "bytes": None, **decided} in listed


def test_packets_are_told_of_each_rule_that_has_a_counter_and_why_they_are_not(router: Toy) -> None:
    """Also of those that nobody typed."""
    document = Document(router.world.agent.kernel.values())
    rules = [rule for rule in FIREWALL.wanted(document) if rule.chain == "input"]
    (asked,) = (rule for rule in rules if rule.comment.startswith("answers to what the router asked"))
    router.world.agent.rule_counters = {asked.counter: (7, 840), "r_block": (2, 120)}
    found = router.api("GET", "/firewall/ruleset", query_string={"chain": "input"}).json
    counted = {item["text"]: (item["packets"], item["bytes"]) for item in found["items"]}
    assert counted[rule_text(asked)] == (7, 840) and (2, 120) in counted.values()
    assert found["uncounted"] is None
    assert "7    840  input accept from wan0: answers" in router.weir("firewall", "ruleset", "input")


def test_a_chain_that_there_is_not_is_named_with_those_that_there_are(router: Toy) -> None:
    refused = router.api("GET", "/firewall/ruleset", query_string={"chain": "forwards"})
    assert (refused.status_code, refused.json["code"]) == (404, "unknown-chain")
    assert "'forwards'" in refused.json["detail"] and "input" in refused.json["detail"]


def test_the_command_lists_rules(router: Toy) -> None:
    assert "rule mail" in router.weir("firewall", "ruleset", "forward")
    assert "rule mail" not in router.weir("firewall", "ruleset", "input")


FRIDAY, SATURDAY = "2026-11-27", "2026-11-28"


@pytest.mark.parametrize(
    ("at", "verdict"),
    [
        (f"{FRIDAY}T08:00", "reject"),
        (f"{FRIDAY}T12:59", "reject"),
        (f"{FRIDAY}T13:00", "accept"),
        (f"{SATURDAY}T09:00", "accept"),
    ],
)
def test_a_rule_with_hours_decides_in_them_and_is_named_outside(router: Toy, at: str, verdict: str) -> None:
    found = asked(router, "10.64.0.7", INTERNET, protocol="udp", port=53, at=at)
    assert (found["verdict"], found["at"]) == (verdict, at)
    if verdict == "accept":
        assert [item["id"] for item in found["resting"]] == ["school"]
    else:
        assert found["decided_by"]["id"] == "school" and found["resting"] == []


def test_without_a_time_it_is_that_of_the_router(router: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a zone that was chosen after the process began."""
    hours = set()
    for zone in ("UTC+5", "UTC-5"):
        monkeypatch.setenv("TZ", zone)
        hours.add(asked(router, "10.64.0.7", INTERNET)["at"])
    monkeypatch.undo()
    time.tzset()
    first, last = sorted(map(datetime.fromisoformat, hours))
    assert timedelta(hours=10) <= last - first <= timedelta(hours=10, minutes=1)


@pytest.mark.parametrize("at", ["tonight", "2026-02-31T10:00", "2026-11-27 10:00", "2026-11-27T10:00Z"])
def test_what_is_no_time_is_named(router: Toy, at: str) -> None:
    query = {"source": "10.64.0.7", "destination": INTERNET, "at": at}
    answer = router.api("GET", "/firewall/decision", query_string=query)
    assert answer.status_code == 422
    assert "at" in answer.text


def test_the_command_says_which_rule_rests(router: Toy) -> None:
    told = router.weir("firewall", "decide", "10.64.0.7", INTERNET, "udp", "53", "--at", f"{SATURDAY}T09:00")
    assert f"Not at {SATURDAY} 09:00: forward reject: rule school, at 08:00-13:00 mon,fri" in told


def test_without_the_agent_rules_are_listed_and_it_says_that_their_packets_are_not_known(
    world: World, api: Client
) -> None:
    assert api("PUT", "/interfaces/wan0", {"role": "wan"}).status_code == 201
    world.agent.__exit__(None, None, None)
    found = api("GET", "/firewall/ruleset").json
    assert found["total"] > 5 and {item["packets"] for item in found["items"]} == {None}
    assert "agent" in found["uncounted"]

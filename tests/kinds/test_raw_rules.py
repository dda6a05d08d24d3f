# SPDX-License-Identifier: Apache-2.0
"""Firewall rules of raw/prerouting: what is refused there, and what a change says of sessions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.kinds.test_rule_effects import effects
from tests.kinds.toys import Toy, toy
from weir.kinds.firewall import Firewall
from weir.kinds.firewall_rule import FirewallRule
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.objects import TimeWindow
from weir.parts.firewall import FIREWALL


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    with toy(Path(tmp_path_factory.mktemp("raw"))) as found:
        yield found


def test_a_chain_of_ones_own_may_be_called_raw(router: Toy) -> None:
    """As one could be before there was raw/prerouting."""
    bodies = {
        "to-raw": {"chain": "forward", "action": "jump", "jump_to": "raw"},
        "in-raw": {"chain": "raw", "action": "reject", "ct_state": ["new"]},
    }
    for name, body in bodies.items():
        assert router.api("PUT", f"/firewall-rules/{name}", body).status_code == 201
    assert router.api("GET", "/firewall-rules/in-raw").json["chain"] == "raw"
    rules = FIREWALL.wanted(
        Document([FirewallRule("a", "raw", "drop"), FirewallRule("b", "raw/prerouting", "drop")])
    )
    assert [rule.chain for rule in rules if rule.comment in ("a", "b")] == ["c_raw", "raw"]


def test_a_chain_that_packets_meet_before_tracking_has_no_states(router: Toy) -> None:
    early = {"chain": "early", "action": "notrack"}
    assert router.api("PUT", "/firewall-rules/early-one", early).status_code == 201
    jump = {"chain": "raw/prerouting", "action": "jump", "jump_to": "early"}
    assert router.api("PUT", "/firewall-rules/to-early", jump).status_code == 201
    stateful = router.api(
        "PUT", "/firewall-rules/early-two", {"chain": "early", "action": "drop", "ct_state": ["new"]}
    )
    assert {item["code"] for item in stateful.json["findings"]} == {"wrong-chain"}
    late = router.api("PUT", "/firewall-rules/late", {"chain": "input", "action": "jump", "jump_to": "early"})
    assert {(item["code"], item["id"]) for item in late.json["findings"]} == {("wrong-chain", "early-one")}


def early(name: str, action: str, chain: str = "raw/prerouting", **said: Any) -> FirewallRule:
    return FirewallRule(name, chain, action, **said)


BLUE = [Interface("blue", vrf_table=7), Interface("lan0", "lan", vrf="blue"), Interface("wan0", "wan")]


@pytest.mark.parametrize("first", ["raw/prerouting", "output"])
def test_where_vrfs_are_a_chain_that_tells_interfaces_is_met_on_one_side(router: Toy, first: str) -> None:
    """The kernel refuses a rule on the name of a VRF's member where packets come in or the router's leave."""
    name = first[:3]
    for path, body in {
        f"interfaces/{name}0": {"role": "lan"},
        f"firewall-rules/{name}-shared": {
            "chain": f"{name}-both",
            "action": "drop",
            "in_interface": f"{name}0",
        },
        f"firewall-rules/{name}-one": {"chain": first, "action": "jump", "jump_to": f"{name}-both"},
    }.items():
        assert router.api("PUT", f"/{path}", body).status_code == 201
    two = {"chain": "forward", "action": "jump", "jump_to": f"{name}-both"}
    assert router.api("PUT", f"/firewall-rules/{name}-two", two).status_code == 201, "without a VRF"
    refused = router.api("PUT", "/interfaces/blue", {"vrf_table": 7})
    said = {(item["code"], item["id"], item["field"]) for item in refused.json["findings"]}
    assert said == {("wrong-chain", f"{name}-shared", "in_interface")}
    etag = router.api("GET", f"/firewall-rules/{name}-two").json["etag"]
    assert router.api("DELETE", f"/firewall-rules/{name}-two", etag=etag).status_code == 204
    assert router.api("PUT", "/interfaces/blue", {"vrf_table": 7}).status_code == 201
    late = router.api("PUT", f"/firewall-rules/{name}-two", two)
    assert [(item["code"], item["id"]) for item in late.json["findings"]] == [
        ("wrong-chain", f"{name}-shared")
    ]
    etag = router.api("GET", "/interfaces/blue").json["etag"]
    assert router.api("DELETE", "/interfaces/blue", etag=etag).status_code == 204


def test_a_members_name_is_asked_for_where_the_kernel_knows_it() -> None:
    """A chain to which raw/prerouting leads is none of these."""
    rules = [
        early("to", "jump", jump_to="early"),
        early("in-early", "drop", "early", in_interface="lan0"),
        early("to-late", "jump", "forward", jump_to="late"),
        early("in-late", "drop", "late", in_interface="lan0"),
    ]
    found = [rule for rule in FIREWALL.wanted(Document([*BLUE, *rules])) if rule.in_members == ("lan0",)]
    assert [(rule.chain, rule.comment) for rule in found] == [("c_late", "in-late")]


def test_a_zone_of_connections_is_not_given_to_what_is_not_tracked() -> None:
    notrack = early("n", "notrack", in_interface="lan0")

    def entry(*items: Any) -> list[tuple[str, tuple[str, ...]]]:
        rules = FIREWALL.wanted(Document(items))
        return [(rule.verdict, rule.ct_states) for rule in rules if rule.chain == "entry"]

    assert entry(*BLUE, Firewall(), notrack) == [("accept", ("untracked",)), ("zone", ())]
    assert entry(*BLUE, Firewall()) == [("zone", ())]
    assert entry(*BLUE[2:], Firewall(), notrack) == []
    untouched = Firewall(masquerade=False, drop_new_from_wan=False)
    assert entry(*BLUE, untouched, notrack) == [], "nothing has the kernel track connections"


def test_what_ends_before_tracking_is_said_to_drop_sessions() -> None:
    drop = early("d", "drop", position=5, source=("192.0.2.7/32",))
    (found,) = effects([], [drop], "d")
    assert (found.id, found.severity) == ("d", "drops-sessions")
    notrack = early("n", "notrack", source=("192.0.2.0/24",))
    (found,) = effects([], [notrack], "n")
    assert (found.id, found.severity) == ("n", "drops-sessions")
    (again,) = effects([notrack], [], "n")
    assert again.severity == "drops-sessions" and "tracked again" in again.text
    (lost,) = effects([notrack, drop], [drop], "n")
    assert "behind it may refuse" in lost.text
    night = TimeWindow(0, 360, ("mon",))
    (found,) = effects([], [replace(notrack, time=night)], "n")
    assert found.text.endswith("end, in its hours")
    assert effects([drop], [], "d") == []


def test_what_lets_pass_before_tracking_exposes_to_rules_there_alone() -> None:
    """accept in raw/prerouting is no verdict of the other chains."""
    accept = early("a", "accept", source=("192.0.2.7/32",))
    drop, late = early("d", "drop", position=5), FirewallRule("f", "forward", "drop")
    assert effects([accept, late], [late], "a") == []
    assert effects([replace(late, id="x", action="accept", position=0), drop], [drop], "x") == []
    (lost,) = effects([accept, drop, late], [drop, late], "a")
    assert lost.id == "a" and "behind it" in lost.text
    jump, inner = early("j", "jump", jump_to="early"), early("i", "drop", "early")
    (lost,) = effects([accept, replace(jump, position=5), inner], [replace(jump, position=5), inner], "a")
    assert lost.id == "a"

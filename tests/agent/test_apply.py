# SPDX-License-Identifier: Apache-2.0
"""A commit becomes kernel state, all of it; a bad one leaves no trace."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from tests.agent.frr_routes import by_frr
from tests.agent.rig import Rig, client_queue, lan, queue, wan
from tests.polling import until
from weir.kinds.firewall import Firewall
from weir.kinds.static_route import StaticRoute
from weir.model.interface import Interface
from weir.model.objects import Pair, Total
from weir.model.problem import Conflict, Invalid, NotFound, Problem


@pytest.fixture(scope="module", autouse=True)
def configured(rig: Rig) -> None:
    rig.commit(
        lan(mtu=1400),
        wan(),
        Firewall(allowed_wan_tcp_ports=(22, 443)),
        StaticRoute("far", "10.77.0.0/16", gateway="10.64.0.2"),
        *by_frr("twice", "10.76.0.0/16"),
        StaticRoute("far6", "2001:db8:77::/48", gateway="2001:db8:64::2"),
        StaticRoute("none", "10.78.0.0/16", blackhole=True),
        *(queue(number) for number in range(1, 6)),
    )


def test_interfaces_get_addresses_and_mtu_and_are_up(rig: Rig) -> None:
    assert rig.addresses("lan0") == {"10.64.0.1/24", "2001:db8:64::1/64"}
    assert rig.addresses("wan0") == {"203.0.113.2/24"}
    (link,) = rig.json("ip", "-j", "link", "show", "dev", "lan0")
    assert link["mtu"] == 1400
    assert "UP" in link["flags"]


def test_the_router_forwards(rig: Rig) -> None:
    assert rig.run("cat", "/proc/sys/net/ipv4/ip_forward").strip() == "1"
    assert rig.run("cat", "/proc/sys/net/ipv6/conf/all/forwarding").strip() == "1"


def test_static_routes_are_in_the_kernel_by_way_of_frr(rig: Rig) -> None:
    def routes() -> dict[str, Any]:
        return {item["dst"]: item for item in rig.json("ip", "-j", "route") if item["protocol"] == "static"}

    found = until("the routes are installed", lambda: (r := routes()).keys() >= {"10.76.0.0/16"} and r)
    assert found["10.76.0.0/16"]["gateway"] == "10.64.0.2"
    assert found["10.78.0.0/16"]["type"] == "blackhole"


def test_the_firewall_is_one_table_with_the_policy(rig: Rig) -> None:
    rules = rig.run("nft", "list", "table", "inet", "weir")
    assert re.search(r'iifname "wan0" tcp dport { 22, 443 } counter name "f_input_\w+" accept', rules)
    assert re.search(r'oifname "wan0" meta nfproto ipv4 counter name "f_postrouting_\w+" masquerade', rules)
    assert rules.rstrip().count("drop comment") == 2


def test_queues_are_classes_that_explain_and_agree(rig: Rig) -> None:
    for number in range(1, 6):
        explained = rig.explain(f"q{number}")
        assert explained["agrees"], explained["lines"]
        assert explained["kernel"]["class"]["upload"]["rate_bps"] == 5_000_000


def test_a_change_of_one_queue_touches_only_its_own_entries(rig: Rig) -> None:
    before = {number: rig.explain(f"q{number}")["kernel"] for number in range(1, 6)}
    answer = rig.commit(queue(3, upload_bps=6_000_000))
    assert answer["counts"] == {"added": 0, "changed": 1, "removed": 0}
    for number in (1, 2, 4, 5):
        assert rig.explain(f"q{number}")["kernel"] == before[number]
    assert rig.explain("q3")["kernel"]["class"]["upload"]["rate_bps"] == 6_000_000


def test_a_deleted_queue_leaves_neither_class_nor_prefix(rig: Rig) -> None:
    rig.commit(queue(9))
    slot = rig.explain("q9")["compiled"]["slot"]
    answer = rig.commit(delete=[("queue", "q9")])
    assert answer["counts"]["removed"] == 2
    with pytest.raises(NotFound):
        rig.explain("q9")
    assert slot not in rig.agent.call("slots", {"since": 0})["slots"].values()


def test_without_a_configured_mtu_the_one_from_before_comes_back(rig: Rig) -> None:
    rig.commit(lan())
    (link,) = rig.json("ip", "-j", "link", "show", "dev", "lan0")
    assert link["mtu"] == 1500
    rig.commit(lan(mtu=1400))


def test_another_address_of_the_same_network_takes_the_place_of_the_first(rig: Rig) -> None:
    """Linux removes an address with the others of its network that came after it, unless told otherwise."""
    rig.commit(wan(addresses=("203.0.113.9/24",)))
    assert rig.addresses("wan0") == {"203.0.113.9/24"}
    rig.commit(wan())
    assert rig.addresses("wan0") == {"203.0.113.2/24"}


def test_an_interface_that_does_not_exist_is_refused_by_name(rig: Rig) -> None:
    head = rig.store.head()
    with pytest.raises(NotFound, match="there is no interface wan7") as refused:
        rig.commit(Interface("wan7", role="wan"), queue(8))
    assert refused.value.path == "interface/wan7"
    assert rig.store.head() == head == rig.status()["revision"]
    with pytest.raises(NotFound):
        rig.explain("q8")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"kind": "shell", "id": "x", "new": {}}, "unknown-kind"),
        ({"kind": "queue", "id": "q1", "new": {"name": "x", "command": "reboot"}}, "unknown-field"),
        ({"kind": "queue", "id": "q1", "new": {"name": "x", "target": ["10.1.2.3/8"]}}, "host-bits-set"),
        ({"kind": "queue", "id": "q1", "new": {"name": "x", "parent": "nobody"}}, "unknown-parent"),
        ({"kind": "queue", "id": "../q1", "new": {"name": "x"}}, "bad-id"),
        ({"kind": "queue"}, "bad-request"),
        ("q1", "bad-request"),
    ],
)
def test_what_the_model_cannot_say_is_refused(rig: Rig, change: Any, code: str) -> None:
    head = rig.store.head()
    before = rig.explain("q1")["kernel"]
    with pytest.raises(Problem) as refused:
        rig.agent.call("apply", {"base": head, "revision": head + 1, "changes": [change]})
    codes = {refused.value.code, *(finding.code for finding in refused.value.findings)}
    assert code in codes
    assert rig.explain("q1")["kernel"] == before
    assert rig.status()["revision"] == head


def test_one_object_may_be_changed_once_in_a_change_set(rig: Rig) -> None:
    head = rig.store.head()
    change = {"kind": "queue", "id": "q1", "new": None}
    with pytest.raises(Invalid, match="changed twice"):
        rig.agent.call("apply", {"base": head, "revision": head + 1, "changes": [change, change]})


def test_a_change_based_on_another_revision_is_a_conflict(rig: Rig) -> None:
    with pytest.raises(Conflict, match="based on revision 99"):
        rig.agent.call("apply", {"base": 99, "revision": 100, "changes": []})


def test_preview_says_what_would_happen_and_does_nothing(rig: Rig) -> None:
    new = {
        "name": "customer 1",
        "target": ["10.64.1.1/32"],
        "max_limit_bps": {"upload": 1_000_000, "download": 0},
    }
    answer = rig.agent.call("preview", {"changes": [{"kind": "queue", "id": "q1", "new": new}]})
    assert answer["counts"] == {"added": 0, "changed": 1, "removed": 0}
    assert "q1" in answer["steps"][0]["what"]
    assert rig.explain("q1")["kernel"]["class"]["upload"]["rate_bps"] == 5_000_000


def test_a_parent_is_held_as_the_childs_ancestor(rig: Rig) -> None:
    rig.commit(
        queue(20, target=("10.65.0.0/16",), max_limit_bps=Pair(50_000_000, 50_000_000)),
        queue(21, target=("10.65.1.0/24",), parent="q20"),
    )
    explained = rig.explain("q21")
    assert explained["agrees"]
    assert explained["kernel"]["class"]["parent_slot"] == rig.explain("q20")["compiled"]["slot"]
    assert rig.explain("q20")["agrees"]


def test_a_queue_that_moves_under_another_parent_keeps_slot_clock_and_counters(rig: Rig) -> None:
    rig.commit(
        queue(50, target=(), max_limit_bps=Pair(90_000_000, 90_000_000)),
        queue(51, target=(), total=Total(max_limit_bps=80_000_000)),
        replace(client_queue(50_000_000), parent="q50"),
    )
    slot = rig.explain("client")["compiled"]["slot"]
    assert rig.arriving(20) == 20
    before = rig.counters("client", "upload")
    rig.commit(replace(client_queue(50_000_000), parent="q51"))
    explained = rig.explain("client")
    assert explained["agrees"], explained["lines"]
    assert explained["compiled"]["slot"] == slot
    assert explained["kernel"]["class"]["parent_slot"] == rig.explain("q51")["compiled"]["slot"]
    assert rig.counters("client", "upload") == before
    assert rig.arriving(20) == 20
    after = rig.counters("client", "upload")
    assert after["packets"] >= before["packets"] + 20
    assert after["clock_tk"] > before["clock_tk"]
    rig.commit(delete=[("queue", name) for name in ("client", "q50", "q51")])


def test_slots_are_told_as_a_difference(rig: Rig) -> None:
    known = rig.agent.call("slots", {"since": 0})
    assert known["full"]
    rig.commit(queue(30))
    news = rig.agent.call("slots", {"since": known["generation"]})
    assert not news["full"]
    assert list(news["slots"]) == ["q30"]
    rig.commit(delete=[("queue", "q30")])
    later = rig.agent.call("slots", {"since": news["generation"]})
    assert later["removed"] == ["q30"]
    assert rig.agent.call("slots", {"since": later["generation"]})["slots"] == {}


def test_interfaces_and_system_are_told(rig: Rig) -> None:
    found = {item["name"]: item for item in rig.agent.call("interfaces")["value"]}
    assert found["lan0"]["shaper"]["mode"] in ("edt", "police")
    assert "10.64.0.1/24" in found["lan0"]["addresses"]
    system = rig.agent.call("system")
    assert len(system["cpus"]) >= 1
    assert system["memory"]["total_bytes"] > 0
    assert json.dumps(system)

# SPDX-License-Identifier: Apache-2.0
"""Why a customer is slow, by REST: the figures that the sampler has, on the line that the agent tells of."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.http.world import Client, World
from weir.diagnosis.findings import Findings
from weir.diagnosis.sample import Sample
from weir.diagnosis.shown import findings_json
from weir.service.tree_drops import TreeDropsService
from weir.stats.absent import Absent

M = 1_000_000
CORE = {"number": 0, "softirq_share": 0.1, "packets": 5000, "drops": 0, "squeezes_ps": 0.0}
OLD_ERRORS = 5000
COUNTED = ("rx_errors", "rx_missed_errors", "tx_errors")


@pytest.fixture
def customers(api: Client, world: World) -> None:
    with_customers(api, world)


def with_customers(api: Client, world: World) -> None:
    """A tower with two customers, a router that was looked at, ports whose errors are counted."""
    limits = {"upload": 10 * M, "download": 50 * M}
    tower = {"upload": 100 * M, "download": 100 * M}
    queues = [
        {"id": "tower", "name": "Tower", "max_limit_bps": tower},
        {
            "id": "acme",
            "name": "Acme",
            "target": ["10.64.0.2/32"],
            "parent": "tower",
            "max_limit_bps": limits,
        },
        {"id": "big", "name": "Big", "target": ["10.64.0.3/32"], "parent": "tower", "max_limit_bps": tower},
    ]
    done = api("POST", "/queues/bulk", {"upsert": queues})
    assert done.status_code == 200, done.text
    agent = world.agent
    agent.customers.cores = [dict(CORE)]
    agent.findings = findings_json(Findings(), Sample(1.0, 1000)) | {
        "period_s": 5.0,
        "cpu_ms_per_sample": 2.0,
    }
    for interface in agent.interfaces:
        interface.update(dict.fromkeys(COUNTED, OLD_ERRORS), carrier=True)
    stop_sampling(world)
    agent.deal_slots()
    slots = agent.maps.slots
    for queue_id in ("acme", "big"):
        agent.maps.place(queue_id, slots[queue_id], slots["tower"])
    for _ in range(2):
        world.parts.stats.tick()


def stop_sampling(world: World) -> None:
    """From here on only the test takes samples."""
    stats = world.parts.stats
    stats._stop.set()
    assert stats._thread is not None
    stats._thread.join()


def seconds(world: World, number: int, **rates: tuple[int, int]) -> None:
    """So many seconds with these rates, upload and download, in bit/s."""
    figures, counters = world.parts.stats._figures, world.parts.stats._counters
    assert counters is not None
    for _ in range(number):
        for queue_id, pair in rates.items():
            for direction, bps in enumerate(pair):
                world.agent.maps.count(queue_id, direction, bytes=bps // 8, packets=10)
        figures.sample(counters, time.time(), 1.0)


def why(api: Client, **asked: str) -> dict[str, Any]:
    answer = api("GET", "/diagnosis/why", query_string=asked)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json
    return found


def place(answer: dict[str, Any], name: str) -> dict[str, Any]:
    return next(item for item in answer["line"] if item["place"] == name)


@pytest.mark.usefixtures("customers")
def test_a_line_within_its_limits_is_not_this_router(api: Client, world: World) -> None:
    seconds(world, 3, acme=(M, 5 * M))
    answer = why(api, queue="acme")
    assert answer["sentence"].startswith("It is not this router. Acme is within its limits"), answer
    assert answer["culprit"] is None
    assert [item["place"] for item in answer["line"]] == [
        "device", "access", "queue", "parent", "router", "uplink", "internet"
    ]  # fmt: skip
    assert place(answer, "device")["numbers"][0]["shown"] == "24 ms"
    assert place(answer, "internet")["state"] == "unknown"
    assert answer["queue"] == {"id": "acme", "name": "Acme"} and answer["address"] == "10.64.0.2"


@pytest.mark.usefixtures("customers")
def test_loss_on_both_sides_is_told_as_far_as_tcp_was_seen(api: Client, world: World) -> None:
    """The router's programs saw a download, and no upload."""
    seconds(world, 3, acme=(M, 5 * M))
    answer = why(api, queue="acme")
    losses = {(item["way"], item["where"]): item for item in answer["losses"]}
    assert losses["download", "after"]["known"] and losses["download", "before"]["known"]
    shown = {item["name"]: item["shown"] for item in losses["download", "after"]["numbers"]}
    assert shown == {"lost_share": "0.333 %", "sent_again": "2 packets", "seen": "900,000 bytes"}
    assert not losses["upload", "after"]["known"]
    assert "loss between the device and this router (upload)" in place(answer, "device")["not_known"]
    details = api("GET", "/stats/queues/acme/details").json["losses"]
    assert (details["upload"], details["download"]["after_bytes"]) == (None, 3_000)


@pytest.mark.usefixtures("customers")
def test_a_customer_at_the_limit_is_the_culprit_with_what_can_be_done(api: Client, world: World) -> None:
    seconds(world, 12, acme=(M, 49 * M))
    answer = why(api, address="10.64.0.2")
    culprit = answer["line"][answer["culprit"]]
    assert (culprit["code"], culprit["place"], culprit["state"]) == ("queue-full", "queue", "culprit")
    numbers = {item["name"]: item for item in culprit["numbers"]}
    assert numbers["download_used_share"]["value"] == pytest.approx(0.98, abs=0.1)
    assert numbers["download_used_share"]["threshold_shown"] == "90 %"
    assert [fix["id"] for fix in culprit["fixes"]] == ["raise", "edit"]
    assert culprit["fixes"][0]["subject"] == {"kind": "queue", "id": "acme"}
    assert place(answer, "parent")["state"] == "clear"


@pytest.mark.usefixtures("customers")
def test_a_full_parent_names_the_sibling_that_fills_it(api: Client, world: World) -> None:
    seconds(world, 12, acme=(M, 5 * M), big=(M, 94 * M))
    answer = why(api, queue="acme")
    assert answer["line"][answer["culprit"]]["code"] == "parent-full"
    assert "Big takes 9" in answer["sentence"]


@pytest.mark.usefixtures("customers")
def test_an_upload_that_is_policed_says_so(api: Client, world: World) -> None:
    seconds(world, 12, acme=(int(9.8 * M), M))
    answer = why(api, queue="acme")
    assert "What is over it is dropped, as wan0 is policed (no fq)." in answer["sentence"]


@pytest.mark.usefixtures("customers")
def test_what_the_class_of_a_port_with_htb_drops_is_not_known_where_it_cannot_be_read(
    api: Client, world: World
) -> None:
    said, slot = "what its HTB class drops (upload)", world.agent.maps.slots["acme"]
    world.agent.mode, world.agent.tree_drops = "htb", None
    world.parts.stats.tick()
    seconds(world, 12, acme=(M, 5 * M))
    found = place(why(api, queue="acme"), "queue")
    assert (found["state"], said in found["not_known"]) == ("clear", True)
    world.agent.tree_drops = (("wan0", slot, 0, 0),)
    world.parts.stats.trees = TreeDropsService()  # it would ask again in ten seconds
    world.parts.stats.tick()
    assert said not in place(why(api, queue="acme"), "queue")["not_known"]
    world.agent.tree_drops = (("wan0", slot, 0, 1 << 20),)
    world.parts.stats.trees = TreeDropsService()
    world.parts.stats.tick()
    seconds(world, 12, acme=(M, 5 * M))
    found = place(why(api, queue="acme"), "queue")
    assert found["code"] == "queue-drops" and "HTB does not tell which one" in found["sentence"]


@pytest.mark.usefixtures("customers")
def test_errors_of_the_port_are_counted_over_time_and_not_since_the_start(api: Client, world: World) -> None:
    lan = world.agent.interfaces[0]
    assert lan["rx_errors"] == OLD_ERRORS
    assert place(why(api, queue="acme"), "access")["state"] == "clear"
    lan.update(rx_errors=OLD_ERRORS + 900, rx_packets=10_000)
    world.parts.stats.tick()
    seconds(world, 1, acme=(M, M))
    access = place(why(api, queue="acme"), "access")
    assert (access["code"], access["subject"]) == ("port-errors", "lan0")
    assert "lan0 counted 900 errors" in access["sentence"]


@pytest.mark.usefixtures("customers")
def test_that_no_queue_limits_an_address_is_known_unless_a_vrf_may_have_it(api: Client, world: World) -> None:
    world.agent.customers.unlimited = {"10.64.0.9"}
    free = why(api, address="10.64.0.9")
    assert free["queue"] is None
    assert free["sentence"].startswith("It is not this router. No queue limits 10.64.0.9.")
    assert [loss["known"] for loss in free["losses"] if loss["where"] == "here"] == [True, True]
    world.agent.customers.may_be_in_vrf = True
    unsure = place(why(api, address="10.64.0.9"), "queue")
    assert unsure["state"] == "unknown"
    assert unsure["sentence"] == (
        "Not known: no queue limits 10.64.0.9 in the main table, and it may be in a VRF."
    )


FIBER = {"id": "fiber", "status": "up", "answers": "c1: answer in 12.0 ms", "round_trip_us": 12_000}


@pytest.mark.usefixtures("customers")
def test_the_uplink_in_use_and_what_its_checks_say_are_told(api: Client, world: World) -> None:
    world.agent.customers.checked = {**FIBER, "loss_percent": 5}
    answer = why(api, queue="acme")
    assert answer["towards"] is None
    assert answer["uplink"] == {"id": "fiber", "status": "up", "answers": "c1: answer in 12.0 ms"}
    uplink, internet = place(answer, "uplink"), place(answer, "internet")
    assert uplink["sentence"].endswith(
        "It is uplink fiber, the one in use. Its checks say that it is up "
        "(last answers: c1: answer in 12.0 ms)."
    )
    assert (internet["state"], internet["sentence"]) == (
        "clear",
        "The fastest check of uplink fiber is answered after 12 ms.",
    )
    shown = {number["name"]: number["shown"] for number in internet["numbers"]}
    checks = {"check_round_trip_ms": "12 ms", "check_loss_share": "5 %"}
    assert shown == {**checks, "download_lost_share": "0 %"}


@pytest.mark.usefixtures("customers")
def test_an_uplink_whose_checks_fail_is_the_culprit(api: Client, world: World) -> None:
    failed = {"status": "down", "answers": "c1: no answer in 1000 ms", "round_trip_us": None}
    world.agent.customers.checked = {**FIBER, **failed, "loss_percent": 100}
    answer = why(api, queue="acme")
    culprit = answer["line"][answer["culprit"]]
    assert (culprit["code"], culprit["place"], culprit["subject"]) == ("checks-failed", "uplink", "fiber")
    assert culprit["fixes"][0]["subject"] == {"kind": "uplink", "id": "fiber"}


@pytest.mark.usefixtures("customers")
def test_without_uplinks_it_is_said_that_the_route_tells_the_port(api: Client) -> None:
    answer = why(api, queue="acme")
    assert (answer["towards"], answer["uplink"]) == ("1.1.1.1", None)
    assert place(answer, "uplink")["sentence"].endswith(
        "The route to 1.1.1.1 leaves by it; no uplink is configured for this line."
    )


@pytest.mark.usefixtures("customers")
def test_interfaces_and_queues_are_read_once_for_an_answer(
    api: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    stats, asked = world.parts.stats, []

    def counted(of: Any, name: str) -> None:
        real = getattr(of, name)
        monkeypatch.setattr(of, name, lambda *given: (asked.append((name, *given)), real(*given))[1])

    counted(stats, "queues")
    counted(stats.router, "interfaces")
    counted(stats.router, "kernel_interfaces")
    why(api, queue="acme")
    assert sorted(asked) == [("interfaces",), ("kernel_interfaces",), ("queues", ["acme", "tower"])]


@pytest.mark.usefixtures("customers")
def test_what_others_say_is_no_new_sentence_behind_a_colon(
    api: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.parts.stats, "_stale", lambda: (time.time(), "No sample was taken yet."))
    queue = place(why(api, queue="acme"), "queue")
    assert queue["sentence"] == "The load of Acme is not known: no sample was taken yet."


@pytest.mark.usefixtures("customers")
def test_why_a_queue_has_no_figures_is_told_also_where_nothing_waits(api: Client, world: World) -> None:
    """That packets do not wait on policed ports is why there are no delays, and nothing else."""
    world.parts.stats.router.absent = Absent(delay="nothing waits, what is over a limit is dropped: wan0")
    counters = world.parts.stats._counters
    assert counters is not None
    world.parts.stats._figures.change_slots({}, ["acme"], counters)
    queue = place(why(api, queue="acme"), "queue")
    assert queue["sentence"] == (
        "The load of Acme is not known: the queue has no class in the kernel: it is disabled or outside its "
        "hours."
    )


@pytest.mark.usefixtures("customers")
def test_a_router_that_is_not_measured_is_not_ruled_out(api: Client, world: World) -> None:
    world.agent.customers.cores = None
    answer = why(api, queue="acme")
    assert place(answer, "router")["state"] == "unknown"
    assert "It is not this router" not in answer["sentence"]


def test_what_is_asked_has_to_be_one_customer(api: Client) -> None:
    assert api("GET", "/diagnosis/why").status_code == 422
    assert api("GET", "/diagnosis/why", query_string={"queue": "a", "address": "10.0.0.1"}).status_code == 422
    assert api("GET", "/diagnosis/why", query_string={"queue": "nobody"}).status_code == 404


def test_without_an_agent_nothing_is_said(api: Client, world: World) -> None:
    world.agent.__exit__(None, None, None)
    assert api("GET", "/diagnosis/why", query_string={"address": "10.0.0.1"}).status_code == 503

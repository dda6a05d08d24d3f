# SPDX-License-Identifier: Apache-2.0
"""The three ways to shape, on real packets, and the changes between them.

The host kernel of a developer may lack fq: then EDT must fall back to policing and say why. In the virtual
machine the same tests see EDT itself.
"""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import Any

import pytest

from lab import netns
from tests.agent.rig import Rig, client_queue, lan, queue, wan
from tests.polling import until
from weir.adapters import htb_classes, tc
from weir.adapters.htb_classes import HtbClass
from weir.model.objects import Pair, Queue, QueueType

MEGABIT = 1_000_000
TOLERANCE = 0.05


def limited(upload_bps: int, download_bps: int, **more: object) -> Queue:
    return Queue(
        "client",
        "client",
        target=("10.64.0.2/32",),
        max_limit_bps=Pair(upload_bps, download_bps),
        **more,  # type: ignore[arg-type]
    )


def has_fq(rig: Rig) -> bool:
    return any(item["id"] == "qdisc-fq" and item["available"] for item in rig.status()["capabilities"])


def tree(rig: Rig, device: str) -> dict[int, HtbClass]:
    with netns.inside(rig.router):
        return htb_classes.read_all(socket.if_nametoindex(device), tc.HTB_MAJOR)


def measured(rig: Rig) -> None:
    keeps(rig, "upload", 2 * MEGABIT)
    keeps(rig, "download", 3 * MEGABIT)


def keeps(rig: Rig, direction: str, limit_bps: int) -> None:
    """Never above the limit (but for a bucket that refills while a busy machine lets the sender wait), and
    at it in at least one of a few tries: the sender must get the processor for that."""
    rates: list[float] = []
    while len(rates) < 5 and not any(rate > limit_bps * (1 - TOLERANCE) for rate in rates):
        rates.append(rig.rate_bps(direction, limit_bps * 5 // 2))
        assert rates[-1] < limit_bps * (1 + 3 * TOLERANCE)
    assert rates[-1] > limit_bps * (1 - TOLERANCE), rates


@pytest.mark.slow
def test_policing_keeps_the_limit_both_ways(rig: Rig) -> None:
    rig.commit(lan(shaper="police"), wan(shaper="police"), limited(2 * MEGABIT, 3 * MEGABIT))
    shaper = rig.status()["shapers"]["lan0"]
    assert (shaper["mode"], shaper["reason"]) == ("police", "asked for")
    measured(rig)


@pytest.mark.slow
def test_the_default_is_pacing_where_fq_is_and_policing_with_a_reason_elsewhere(rig: Rig) -> None:
    rig.commit(lan(), wan(), limited(2 * MEGABIT, 3 * MEGABIT))
    shaper = rig.status()["shapers"]["wan0"]
    if has_fq(rig):
        assert shaper["mode"] == "edt"
        kinds = [(item["kind"], item.get("parent", "root")) for item in tc_qdiscs(rig, "wan0")]
        assert [kind for kind, _ in kinds].count("fq") == 2
    else:
        assert shaper["mode"] == "police"
        assert "fq is not available" in shaper["reason"]
    measured(rig)


@pytest.mark.slow
def test_htb_keeps_the_limit_both_ways(rig: Rig) -> None:
    rig.commit(lan(shaper="htb"), wan(shaper="htb"), limited(2 * MEGABIT, 3 * MEGABIT))
    assert rig.status()["shapers"]["wan0"]["mode"] == "htb"
    (up,), (down,) = tree(rig, "wan0").values(), tree(rig, "lan0").values()
    assert (up.ceil_bps, down.ceil_bps) == (2 * MEGABIT, 3 * MEGABIT)
    measured(rig)


def test_an_htb_tree_follows_every_kind_of_change(rig: Rig) -> None:
    rig.commit(lan(shaper="htb"), wan(shaper="htb"), client_queue())
    rig.commit(
        queue(40, target=("10.70.0.0/16",), max_limit_bps=Pair(40 * MEGABIT, 40 * MEGABIT)),
        queue(41, target=("10.71.0.0/16",), max_limit_bps=Pair(40 * MEGABIT, 40 * MEGABIT)),
        queue(42, target=("10.70.1.0/24",), parent="q40"),
        queue(43, target=("10.70.1.0/28",), parent="q42", limit_at_bps=Pair(MEGABIT, 2 * MEGABIT)),
    )
    slots = {name: rig.explain(name)["compiled"]["slot"] for name in ("q40", "q41", "q42", "q43")}
    held = tree(rig, "lan0")
    assert held[tc.HTB_OWN | slots["q43"]].parent_minor == slots["q42"]
    assert held[tc.HTB_OWN | slots["q43"]].rate_bps == 2 * MEGABIT
    rig.commit(
        queue(42, target=("10.71.1.0/24",), parent="q41"), queue(43, target=("10.71.1.0/28",), parent="q42")
    )
    held = tree(rig, "lan0")
    assert held[slots["q42"]].parent_minor == slots["q41"]
    assert held[tc.HTB_OWN | slots["q43"]].parent_minor == slots["q42"]
    rig.commit(queue(43, download_bps=7 * MEGABIT, target=("10.71.1.0/28",), parent="q42"))
    assert tree(rig, "lan0")[tc.HTB_OWN | slots["q43"]].ceil_bps == 7 * MEGABIT
    rig.commit(delete=[("queue", name) for name in ("q43", "q42", "q41", "q40")])
    assert len(tree(rig, "lan0")) == len(tree(rig, "wan0")) == 1


def test_queue_types_are_the_qdiscs_below_the_classes(rig: Rig) -> None:
    """A kernel may lack all but the fifo kinds: then a leaf is what comes nearest, and explain says why."""
    packets, size = (
        QueueType("short", "pfifo", (("pfifo-limit", "20"),)),
        QueueType("small", "bfifo", (("bfifo-limit", "30000"),)),
    )
    rig.commit(lan(shaper="htb"), wan(shaper="htb"), packets, size, QueueType("fair", "sfq"))
    rig.commit(limited(2 * MEGABIT, 3 * MEGABIT, queue_type=Pair("short", "small")))
    slot = rig.explain("client")["compiled"]["slot"]
    assert leaf(rig, "wan0", slot) == ("pfifo", {"limit": 20})
    assert leaf(rig, "lan0", slot) == ("bfifo", {"limit": 30_000})
    rig.commit(QueueType("short", "pfifo", (("pfifo-limit", "40"),)))
    assert leaf(rig, "wan0", slot) == ("pfifo", {"limit": 40})
    keeps(rig, "download", 3 * MEGABIT)
    rig.run(
        "tc",
        "qdisc",
        "replace",
        "dev",
        "lan0",
        "parent",
        f"fffe:{tc.HTB_OWN | slot:x}",
        "bfifo",
        "limit",
        "9999",
    )
    rig.agent.call("resync")
    assert leaf(rig, "lan0", slot) == ("bfifo", {"limit": 30_000}), "repaired"
    rig.commit(limited(2 * MEGABIT, 3 * MEGABIT, queue_type=Pair("fair", "fair")))
    (line,) = [line for line in rig.explain("client")["lines"] if line["field"] == "queue_type.download"]
    has_sfq = any(item["id"] == "qdisc-sfq" and item["available"] for item in rig.status()["capabilities"])
    assert leaf(rig, "lan0", slot)[0] == ("sfq" if has_sfq else "pfifo")
    assert has_sfq or "this kernel has no sfq" in line["kernel"]
    assert line["agrees"]
    fair = rig.explain("fair", "queue-type")
    assert [line["field"] for line in fair["lines"]] == ["upload of queue client", "download of queue client"]
    assert fair["agrees"] and fair["lines"][1]["system"] == line["kernel"]
    rig.commit(
        *(queue(100 + i, target=(f"10.73.{i}.0/24",), queue_type=Pair("fair", "fair")) for i in range(20))
    )
    many = rig.explain("fair", "queue-type")
    assert many["agrees"] is None, "the last of 21 was not read"
    assert many["lines"][-1]["system"] == "only the first 20 queues of this type were read"


def test_a_queue_keeps_its_leaf_when_a_child_comes_and_goes(rig: Rig) -> None:
    short = QueueType("short", "pfifo", (("pfifo-limit", "20"),))
    parent = queue(45, target=("10.72.0.0/16",), queue_type=Pair("short", "short"))
    rig.commit(lan(shaper="htb"), wan(shaper="htb"), short, parent)
    slot = rig.explain("q45")["compiled"]["slot"]
    assert leaf(rig, "lan0", slot) == ("pfifo", {"limit": 20})
    rig.commit(queue(46, target=("10.72.1.0/24",), parent="q45"))
    assert leaf(rig, "lan0", slot) == ("pfifo", {"limit": 20})
    assert {slot, tc.HTB_OWN | slot} < tree(rig, "lan0").keys()
    rig.commit(delete=[("queue", "q46")])
    assert slot not in tree(rig, "lan0")
    assert leaf(rig, "lan0", slot) == ("pfifo", {"limit": 20})
    rig.commit(delete=[("queue", "q45")])


@pytest.mark.slow
def test_htb_holds_packets_that_match_a_parent_and_none_of_its_children(rig: Rig) -> None:
    child = queue(47, target=("10.64.0.9/32",), parent="client")
    net = replace(limited(2 * MEGABIT, 3 * MEGABIT), target=("10.64.0.0/28",))
    rig.commit(lan(shaper="htb"), wan(shaper="htb"), net, child)
    measured(rig)
    rig.commit(delete=[("queue", "q47")])
    measured(rig)


def test_a_fifos_length_is_a_time_where_departure_times_hold(rig: Rig) -> None:
    small = QueueType("small", "bfifo", (("bfifo-limit", "30000"),))
    rig.commit(lan(), wan(), small, QueueType("bare", "none"))
    rig.commit(limited(2 * MEGABIT, 3 * MEGABIT, queue_type=Pair("bare", "small")))
    explained = rig.explain("client")
    assert explained["agrees"], explained["lines"]
    held = explained["kernel"]["class"]
    assert held["download"]["limit_ns"] == 80_000_000, "30,000 bytes at 3 Mbit/s"
    assert held["upload"]["limit_ns"] == 0, "nothing waits"


def test_pcq_becomes_sub_queues_of_the_class(rig: Rig) -> None:
    options = (
        ("pcq-classifier", "dst-address,dst-port"),
        ("pcq-dst-address-mask", "28"),
        ("pcq-rate", "500k"),
    )
    rig.commit(lan(), wan(), QueueType("each", "pcq", options))
    rig.commit(limited(2 * MEGABIT, 3 * MEGABIT, queue_type=Pair("pcq-upload-default", "each")))
    explained = rig.explain("client")
    assert explained["agrees"], explained["lines"]
    held = explained["kernel"]["class"]
    assert held["upload"]["subqueues"] == {
        **{"key": "source", "v4_length": 32, "v6_length": 128, "rate_bps": 0, "limit_bytes": 51_200},
        **{"burst_ns": 0, "peak_bps": 0},
    }
    down = held["download"]["subqueues"]
    assert (down["key"], down["v4_length"], down["rate_bps"]) == ("destination", 28, 500_000)
    keeps(rig, "download", MEGABIT // 2)
    found = rig.agent.call("details", {"queue_id": "client"})["subqueues"]
    assert found["bound"] >= 1024
    assert (found["download"]["rate_bps"], found["download"]["evicted"]) == (500_000, 0)
    (busiest,) = found["download"]["busiest"]
    assert busiest["address"] == "10.64.0.0/28"
    assert 0 < busiest["rate_bps"] < MEGABIT // 2 * (1 + 3 * TOLERANCE)
    assert found["upload"] is not None


def test_a_tree_that_somebody_deletes_is_built_again(rig: Rig) -> None:
    rig.commit(lan(shaper="htb"), wan(shaper="htb"), client_queue())
    before = tree(rig, "wan0")
    rig.run("tc", "qdisc", "del", "dev", "wan0", "root")
    until("the tree is back", lambda: tree(rig, "wan0") == before)
    until("it is listed", lambda: any("HTB" in item["text"] for item in rig.status()["drift"]))


def test_a_port_that_leaves_htb_loses_our_tree_and_no_other_qdisc(rig: Rig) -> None:
    rig.commit(lan(shaper="htb"), wan(shaper="htb"), client_queue())
    rig.commit(lan(shaper="police"), wan(shaper="police"))
    assert tree(rig, "wan0") == {}
    assert "htb" not in [item["kind"] for item in tc_qdiscs(rig, "wan0")]
    rig.run("tc", "qdisc", "replace", "dev", "wan0", "root", "handle", "7:", "pfifo", "limit", "77")
    rig.commit(client_queue(300_000))
    rig.agent.call("resync")
    assert [item["handle"] for item in tc_qdiscs(rig, "wan0") if item["kind"] == "pfifo"] == ["7:"]
    rig.run("tc", "qdisc", "del", "dev", "wan0", "root")


def leaf(rig: Rig, device: str, slot: int) -> tuple[str, Any]:
    """The kind and options of the qdisc below a class, ("", {}) when it has none."""
    found = [item for item in tc_qdiscs(rig, device) if item.get("parent") == f"fffe:{tc.HTB_OWN | slot:x}"]
    return (found[0]["kind"], found[0]["options"]) if found else ("", {})


def tc_qdiscs(rig: Rig, device: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = rig.json("tc", "-j", "qdisc", "show", "dev", device)
    return [item for item in found if item]

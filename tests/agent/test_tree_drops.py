# SPDX-License-Identifier: Apache-2.0
"""What the queues of HTB classes drop is in the figures of the customer's queue, to the packet, and in why
he is slow (docs/adr/0242)."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from lab import netns
from lab.measure import bound
from tests.agent.meter import metered
from tests.agent.rig import Rig, lan, running, wan
from tests.agent.test_why import BY, M, customer
from tests.polling import until
from weir.diagnosis.judged import Judged
from weir.diagnosis.line import Answer
from weir.http.context import Context
from weir.model.objects import Pair, Queue
from weir.model.problem import Unavailable

BURST = 3000


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running("--look-interval-s", "0.5") as made:
        made.run("ip", "addr", "add", "10.64.0.3/24", "dev", "c0", namespace=made.client_ns)
        netns.ip(made.internet, ["route replace 10.64.0.0/16 via 203.0.113.2"])
        made.commit(
            lan(shaper="htb"),
            wan(shaper="htb"),
            customer("bound", "10.64.0.2", M),
            Queue("tower", "tower", max_limit_bps=Pair(2 * M, 2 * M)),
            customer("small", "10.64.0.4", 50 * M, "tower"),
            customer("large", "10.64.0.3", 50 * M, "tower"),
        )
        yield made


def why(parts: Context, queue_id: str) -> Answer:
    return parts.service.why.line(BY, parts.stats, queue_id, None, "203.0.113.1").answer


def queue_of(answer: Answer) -> Judged:
    return next(item for item in answer.line if item.place == "queue")


def here(answer: Answer, way: str) -> dict[str, float]:
    (found,) = (loss for loss in answer.losses if (loss.way, loss.where) == (way, "here"))
    return {number.name: number.value for number in found.numbers}


def dropped(parts: Context, queue_id: str, way: str) -> int:
    """Packets, as the queue's own figures have them."""
    return int(parts.stats.queues([queue_id])["items"][0]["drops"][way])


def is_told(parts: Context) -> bool:
    """Drops are known from the second reading on."""
    try:
        parts.stats.drops.since(1440)
    except Unavailable:
        return False
    return True


def waiting(rig: Rig) -> bool:
    return any(item.get("backlog") for item in rig.json("tc", "-s", "-j", "qdisc", "show"))


def test_an_upload_above_the_limit_is_what_came_and_what_was_dropped(rig: Rig, parts: Context) -> None:
    before = until("the queue is measured", lambda: parts.stats.queues(["bound"])["items"][0]["live"]) and (
        dropped(parts, "bound", "upload")
    )
    with metered(rig, 5 * M) as meter:
        until(
            "it is found full", lambda: (found := why(parts, "bound").culprit) and found.code == "queue-full"
        )
        until("some are dropped", lambda: here(why(parts, "bound"), "upload")["dropped_ps"] > 200)
        meter.watch(12.0)  # as long as loads are looked at
        answer = why(parts, "bound")
        sent = meter.stop_sending()
        until("nothing waits any more", lambda: not waiting(rig))
        meter.watch(0.5)
        came = meter.arrived(0)
    queue, lost = queue_of(answer), here(answer, "upload")
    numbers = {number.name: number.value for number in queue.numbers}
    print(queue.sentence, lost, f"sent {sent}, came {came}")
    assert 0.8 <= numbers["upload_used_share"] <= 1.15, "what the tree dropped is not in the rate"
    assert 300 < lost["dropped_ps"] < 520, "5 Mbit/s are 509 packets/s, 1 Mbit/s are 102"
    assert 0.7 < lost["dropped_share"] < 0.9
    assert "over_limit_ps" not in lost, "HTB does not tell for whose limit"
    assert not any("HTB" in text for text in queue.unknown)
    until("all are counted", lambda: dropped(parts, "bound", "upload") - before == sent - came)
    assert dropped(parts, "bound", "download") == 0


def test_a_download_is_counted_as_one_and_once_in_drops(rig: Rig, parts: Context) -> None:
    def counted() -> dict[str, int]:
        items = parts.stats.drops.since(1440)["items"]
        mine = [item for item in items if item["id"] == "bound" and item["interface"] in ("lan0", None)]
        return {item["reason"]: item["packets"] for item in mine}

    until("drops are told", lambda: is_told(parts))
    trees, figures = counted().get("tree", 0), dropped(parts, "bound", "download")
    with bound(rig.internet, "203.0.113.1") as far, bound(rig.client_ns, "10.64.0.2") as near:
        near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        far.settimeout(10)
        near.sendto(b"asked for", far.getsockname())
        _, asker = far.recvfrom(64)  # what comes unasked from a WAN is dropped
        for _ in range(BURST):
            far.sendto(bytes(1000), asker)
        until("nothing waits any more", lambda: not waiting(rig))
        near.settimeout(0.5)
        came = 0
        try:
            while near.recv(2048):
                came += 1
        except TimeoutError:
            pass
    until("all are counted", lambda: dropped(parts, "bound", "download") - figures == BURST - came)
    found = counted()
    assert BURST - came > 1000
    assert found["tree"] - trees == BURST - came
    assert found.keys() == {"tree"}, "the queue's own reasons do not count them again"


def test_below_a_full_tower_the_tower_is_the_culprit(rig: Rig, parts: Context) -> None:
    with metered(rig, 10 * M, near="10.64.0.3"):
        until("it is found", lambda: (found := why(parts, "large").culprit) and found.code == "parent-full")
        until("drops are counted", lambda: here(why(parts, "large"), "upload")["dropped_ps"] > 300)
        answer = why(parts, "large")
    assert answer.culprit is not None and answer.culprit.subject == "tower"


def test_without_a_tree_nothing_of_it_is_left_in_the_figures(rig: Rig, parts: Context) -> None:
    rig.commit(lan(shaper="police"), wan(shaper="police"))
    until("what the tree dropped is no longer told", lambda: dropped(parts, "bound", "download") == 0)
    until(
        "no rate of drops stays", lambda: parts.stats.queues(["large"])["items"][0]["drops_ps"]["upload"] == 0
    )

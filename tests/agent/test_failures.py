# SPDX-License-Identifier: Apache-2.0
"""What fails in the middle is undone; what dies in the middle is brought to the store's head."""

from __future__ import annotations

import random
import threading

import pytest

from tests.agent.frr_routes import by_frr
from tests.agent.rig import Rig, apply, client_queue, lan, queue, wan
from tests.polling import until
from weir.model.objects import Pair
from weir.model.problem import Problem, Unavailable


@pytest.fixture(scope="module", autouse=True)
def configured(rig: Rig) -> None:
    rig.commit(lan(), wan(), *by_frr("far", "10.77.0.0/16"), *(queue(number) for number in range(1, 4)))


def test_a_part_that_fails_undoes_the_parts_before_it(rig: Rig) -> None:
    """Routes are last; without FRR they fail when addresses, classes and rules are in the kernel already."""
    head, rules = rig.store.head(), rig.run("nft", "-s", "list", "table", "inet", "weir")
    before = rig.explain("q1")["kernel"]
    rig.stop_frr()
    with pytest.raises(Unavailable, match="FRR is not running"):
        rig.commit(
            lan(addresses=("10.64.0.1/24", "10.99.0.1/24")),
            wan(disabled=True),
            queue(1, upload_bps=9_000_000),
            queue(50),
            *by_frr("more", "10.79.0.0/16"),
        )
    assert rig.store.head() == head == rig.status()["revision"]
    assert rig.addresses("lan0") == {"10.64.0.1/24", "2001:db8:64::1/64"}
    assert rig.addresses("wan0") == {"203.0.113.2/24"}
    assert rig.explain("q1")["kernel"] == before
    assert rig.run("nft", "-s", "list", "table", "inet", "weir") == rules
    assert "q50" not in rig.agent.call("slots", {"since": 0})["slots"]
    rig.start_frr()
    until("the routes are given to the new FRR", lambda: "10.77.0.0/16" in rig.run("ip", "route"))
    until("all is well again", lambda: rig.status()["state"] == "ok")


def test_what_was_applied_and_never_settled_goes_with_the_connection(rig: Rig) -> None:
    head = rig.store.head()
    with rig.agent.connection() as connection:
        apply(connection, head, head + 1, rig.changes([queue(1, upload_bps=1_000_000), queue(60)]))
        assert rig.status()["revision"] == head + 1
        connection.close()
    until("the store's head is back", lambda: rig.status()["revision"] == head)
    assert rig.explain("q1")["kernel"]["class"]["upload"]["rate_bps"] == 5_000_000
    assert "q60" not in rig.agent.call("slots", {"since": 0})["slots"]


def test_a_commit_whose_settle_was_lost_stays(rig: Rig) -> None:
    changes = rig.changes([queue(1, upload_bps=2_000_000)])
    with rig.agent.connection() as connection:
        with rig.store.write() as transaction:
            base = transaction.head
            revision = transaction.append(kind="commit", author="test", message="", changes=changes)
            apply(connection, base, revision, changes)
        connection.close()
    assert rig.status()["revision"] == revision
    assert rig.explain("q1")["kernel"]["class"]["upload"]["rate_bps"] == 2_000_000


def test_a_commit_that_the_agent_never_saw_is_followed(rig: Rig) -> None:
    changes = rig.changes([queue(1, upload_bps=3_000_000)])
    with rig.store.write() as transaction:
        revision = transaction.append(kind="commit", author="test", message="", changes=changes)
    until("the agent looks at the store", lambda: rig.status()["revision"] == revision)
    assert rig.explain("q1")["kernel"]["class"]["upload"]["rate_bps"] == 3_000_000


def test_forwarding_and_shaping_go_on_while_the_agent_is_dead(rig: Rig) -> None:
    rig.commit(client_queue(), wan(addresses=("203.0.113.2/24",)))
    limited = rig.arriving()
    assert 0 < limited < 50
    rig.kill_agent()
    assert 0 < rig.arriving() < 50
    rig.start_agent()
    assert 0 < rig.arriving() < 50
    rig.commit(delete=[("queue", "client")])
    assert rig.arriving() > 150


def test_a_restarted_agent_finds_every_queue_in_its_slot_and_changes_nothing(rig: Rig) -> None:
    slots = rig.agent.call("slots", {"since": 0})["slots"]
    rig.kill_agent()
    log_before = len(rig.agent_log())
    rig.start_agent()
    assert rig.agent.call("slots", {"since": 0})["slots"] == slots
    told = until("it says what it changed", lambda: "brought in line" in rig.agent_log()[log_before:])
    assert told and " 0 entries brought in line" in rig.agent_log()[log_before:]


@pytest.mark.slow
def test_killed_at_any_moment_it_comes_back_with_the_stores_head(rig: Rig) -> None:
    """Commits run one after the other while the agent is killed at a random moment, again and again."""
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    for round_number in range(12):
        killer = threading.Timer(chance.uniform(0.0, 0.12), rig.kill_agent)
        killer.start()
        sequence = 0
        while killer.is_alive():
            sequence += 1
            number = chance.randrange(1, 40)
            rate = chance.randrange(1, 50) * 100_000
            addresses = ("10.64.0.1/24", f"10.98.{round_number}.{sequence % 250}/24")
            try:
                rig.commit(queue(number, upload_bps=rate), lan(addresses=addresses))
            except Problem:
                break
        killer.join()
        rig.start_agent()
        check_everything(rig, f"seed {seed}, round {round_number}")


def check_everything(rig: Rig, where: str) -> None:
    """Store, agent and kernel say the same."""
    head, document = rig.store.load()
    assert rig.status()["revision"] == head, where
    interface = document.interface("lan0")
    assert interface is not None
    assert rig.addresses("lan0") == set(interface.addresses), where
    for item in document.queues():
        explained = rig.explain(item.id)
        assert explained["agrees"], (where, explained["lines"])
        assert explained["kernel"]["class"]["upload"]["rate_bps"] == item.max_limit_bps.upload, where
    assert set(rig.agent.call("slots", {"since": 0})["slots"]) == {item.id for item in document.queues()}


def test_parent_and_children_survive_a_crash_together(rig: Rig) -> None:
    rig.commit(
        queue(100, target=("10.66.0.0/16",), max_limit_bps=Pair(50_000_000, 50_000_000)),
        queue(101, target=("10.66.1.0/24",), parent="q100"),
    )
    before = rig.explain("q101")["kernel"]
    rig.kill_agent()
    rig.start_agent()
    assert rig.explain("q101")["kernel"] == before

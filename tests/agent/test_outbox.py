# SPDX-License-Identifier: Apache-2.0
"""Messages that wait for one receiver: how often it is tried, and what is given up."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest

from tests.polling import until
from weir.adapters.courier import Outcome
from weir.agent import outbox
from weir.agent.outbox import MOST_WAITING, Outbox
from weir.diagnosis.messages import Message

LONG_S = 3600.0


class Receiver:
    """Refuses, takes, or hangs until it is let go."""

    def __init__(self) -> None:
        self.takes = False
        self.tried: list[str] = []
        self.free = threading.Event()
        self.free.set()

    def __call__(self, message: Message) -> Outcome:
        self.tried.append(message.id)
        self.free.wait()
        return Outcome(self.takes, "250 Ok" if self.takes else "it refused")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.free.set()


def put(box: Outbox, *names: str) -> None:
    for name in names:
        box.put(Message(name, 0, "", "", {}))


def waits(box: Outbox) -> tuple[int, int]:
    found = box.state()
    return found["waiting"], found["lost"]


def test_messages_that_are_too_old_are_given_up_without_an_attempt(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "GIVEN_UP_AFTER_S", 0.3)
    box = Outbox("noc", receiver, first_wait_s=1.0)
    put(box, *(f"m{number}" for number in range(50)))
    until("all are given up", lambda: waits(box) == (0, 50))
    assert receiver.tried == ["m0"]
    box.stop()


def test_a_receiver_that_refuses_is_not_tried_sooner_for_another_message(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = Outbox("noc", receiver, first_wait_s=LONG_S)
    receiver.free.clear()
    put(box, "first")
    until("it is under way", lambda: receiver.tried)
    monkeypatch.setattr(outbox, "GIVEN_UP_AFTER_S", 0.0)
    receiver.free.set()
    until("it is given up", lambda: waits(box) == (0, 1))
    monkeypatch.setattr(outbox, "GIVEN_UP_AFTER_S", LONG_S)
    put(box, "second")
    with pytest.raises(AssertionError, match="tried again"):
        until("tried again", lambda: len(receiver.tried) > 1, within_s=0.5)
    assert waits(box) == (1, 1)
    receiver.takes = True
    box.hurry(receiver)
    until("another configuration is tried at once", lambda: waits(box) == (0, 1))
    box.stop()


def test_a_change_during_an_attempt_is_tried_at_once(receiver: Receiver) -> None:
    box = Outbox("noc", receiver, first_wait_s=LONG_S)
    receiver.free.clear()
    put(box, "first")
    until("it is under way", lambda: receiver.tried)
    other = Receiver()
    other.takes = True
    box.hurry(other)
    receiver.free.set()
    until("the other way is taken", lambda: waits(box) == (0, 0))
    assert other.tried == ["first"]
    box.stop()


def test_a_test_that_arrives_ends_the_wait(receiver: Receiver) -> None:
    box = Outbox("noc", receiver, first_wait_s=LONG_S)
    put(box, "first")
    until("it failed", lambda: box.state()["last_error"])
    receiver.takes = True
    box.note(Outcome(True, "250 Ok"))
    until("what waited is sent", lambda: waits(box) == (0, 0))
    box.stop()


def test_a_message_under_way_is_not_given_up_for_newer_ones(receiver: Receiver) -> None:
    box = Outbox("noc", receiver)
    receiver.free.clear()
    receiver.takes = True
    put(box, "first")
    until("it is under way", lambda: receiver.tried)
    put(box, *(f"m{number}" for number in range(MOST_WAITING + 4)))
    assert waits(box) == (MOST_WAITING, 5)
    receiver.free.set()
    until("all are sent", lambda: waits(box) == (0, 5))
    assert receiver.tried == ["first", *(f"m{number}" for number in range(5, MOST_WAITING + 4))]
    box.stop()


def test_what_a_receiver_said_to_a_message_that_it_took_is_in_the_log(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    """It may have refused one of several recipients."""
    caplog.set_level(logging.INFO, logger="weir.agent.outbox")
    receiver.takes = True
    box = Outbox("noc", receiver)
    put(box, "first")
    until("it is sent", lambda: waits(box) == (0, 0))
    box.stop()
    assert "alert target noc: delivered: 250 Ok" in caplog.messages


def test_a_failure_of_the_router_is_told_and_tried_again(receiver: Receiver) -> None:
    def fail(_: Message) -> Outcome:
        raise KeyError("recipients")

    box = Outbox("noc", fail, first_wait_s=LONG_S)
    put(box, "first")
    until("it failed", lambda: box.state()["last_error"])
    assert box.state()["last_error"] == "the router could not try it (KeyError); its log says more"
    assert waits(box) == (1, 0)
    receiver.takes = True
    box.hurry(receiver)
    until("it is sent in another way", lambda: waits(box) == (0, 0))
    assert receiver.tried == ["first"]
    box.stop()

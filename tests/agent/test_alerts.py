# SPDX-License-Identifier: Apache-2.0
"""What a real agent tells of findings that begin, last and end, and to whom."""

from __future__ import annotations

import email
import email.policy
import json
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.alert_rig import (
    NOBODY,
    PASSWORD,
    SERVER,
    Made,
    alerting,
    asked,
    forget,
    healed,
    hook,
    mail,
    refused,
    sealed,
    sick,
    state,
)
from tests.agent.receivers import mail_server, web_server
from tests.agent.rig import Rig
from tests.polling import until
from weir.kinds.alert_rule import AlertRule
from weir.model.problem import Conflict

LOCK = ("one-lock",)
"""What the tests make the router ill with: on a busy machine softirqs may really be late meanwhile."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    with alerting(tmp_path_factory.mktemp("certificates")) as found:
        yield found


# -- findings -------------------------------------------------------------------------------------------


def test_a_finding_is_told_once_when_it_begins_and_once_when_it_ends(made: Made) -> None:
    rig = made.rig
    forget(rig)
    with mail_server(rig.internet, SERVER) as post, web_server(rig.internet, SERVER) as web:
        rules = (
            AlertRule("all", severity="notice", codes=LOCK, targets=("noc", "chat")),
            AlertRule("worse", severity="warning", codes=LOCK, targets=("noc",)),
            AlertRule("other", severity="notice", codes=("ring-overrun",), targets=("noc",)),
            AlertRule("off", severity="notice", targets=("noc",), disabled=True),
        )
        rig.commit(mail(post.port), hook(web.port), *rules)
        sick(rig)
        until("both are told", lambda: post.mails and web.posts)
        samples = rig.agent.call("findings")["samples"]
        until("it lasts", lambda: rig.agent.call("findings")["samples"] > samples + 10)
        assert (len(post.mails), len(web.posts)) == (1, 1), "it is told once"
        healed(rig)
        until("the end is told", lambda: len(post.mails) == 2 and len(web.posts) == 2)
        until("nothing waits", lambda: state(rig, "noc")["waiting"] == 0)
    begins, ends = (json.loads(body) for _, _, body in web.posts)
    assert (begins["event"], begins["code"], begins["subject"]) == ("begins", "one-lock", "spare0")
    assert (begins["severity"], ends["event"]) == ("notice", "ends")
    assert begins["remedies"] and begins["since"] == ends["since"]
    first, last = (email.message_from_string(text, policy=email.policy.SMTP) for text in post.mails)
    assert "A port has one lock for all cores (spare0)" in first["Subject"]
    assert "is not seen any more" in last.get_content()


def events(posts: list[Any]) -> list[str]:
    return [json.loads(body)["event"] for _, _, body in posts]


def test_a_target_that_joins_a_rule_is_told_what_lasts_and_nobody_else_again(made: Made) -> None:
    rig = made.rig
    forget(rig)
    with mail_server(rig.internet, SERVER) as post, web_server(rig.internet, SERVER) as web:
        rule = AlertRule("all", severity="notice", codes=LOCK, targets=("chat",))
        rig.commit(mail(post.port), hook(web.port), rule)
        sick(rig)
        until("the first is told", lambda: web.posts)
        rig.commit(replace(rule, targets=("chat", "noc")))
        until("the one that joined is told", lambda: post.mails, 10.0)
        rig.commit(mail(post.port, disabled=True))
        rig.commit(mail(post.port))
        until("who is back is told again", lambda: len(post.mails) == 2, 10.0)
        rig.commit(rule)
        looks_pass(rig)
        healed(rig)
        until("the end is told", lambda: len(web.posts) > 1)
        looks_pass(rig)
    assert events(web.posts) == ["begins", "ends"]
    assert len(post.mails) == 2, "no rule names it at the end"


def test_of_several_rules_for_one_target_each_finding_is_told_once(made: Made) -> None:
    rig = made.rig
    forget(rig)
    with web_server(rig.internet, SERVER) as web:
        rules = (
            AlertRule("all", severity="notice", codes=LOCK, targets=("chat",)),
            AlertRule("other", severity="notice", codes=LOCK, targets=("chat",), repeat_after_s=1),
            AlertRule("worse", severity="notice", codes=LOCK, targets=("chat",), repeat_after_s=600),
        )
        rig.commit(hook(web.port), *rules)
        sick(rig)
        until("it is told again, by the rule that repeats soonest", lambda: len(web.posts) >= 3)
        healed(rig)
        until("the end is told", lambda: "ends" in events(web.posts))
        looks_pass(rig)
    told = events(web.posts)
    assert told == ["begins", *["continues"] * (len(told) - 2), "ends"]


def looks_pass(rig: Rig) -> None:
    before = rig.agent.call("findings")["samples"]
    until("it looked at things", lambda: rig.agent.call("findings")["samples"] > before + 5)


def test_a_target_that_hangs_delays_neither_another_nor_the_agent(made: Made) -> None:
    rig = made.rig
    forget(rig)
    rule = AlertRule("all", severity="notice", codes=LOCK, targets=("noc", "chat"))
    with mail_server(rig.internet, SERVER, way="hangs") as post, web_server(rig.internet, SERVER) as web:
        rig.commit(mail(post.port), hook(web.port), rule)
        sick(rig)
        try:
            until("the other is told", lambda: web.posts)
            assert state(rig, "noc")["waiting"] == 1
            before = rig.agent.call("findings")["samples"]
            until("it goes on looking", lambda: rig.agent.call("findings")["samples"] > before + 5, 5.0)
            until(
                "the hang is told", lambda: state(rig, "noc")["last_error"] == "it did not answer within 8 s"
            )
            assert state(rig, "noc")["waiting"] == 1, "it is tried again"
            post.way = "takes"
            rig.commit(mail(post.port, comment="mended", recipients=("other@example.net",)))
            until("a change of the target tries at once", lambda: post.mails, 8.0)
            assert "To: other@example.net" in post.mails[0]
            until("nothing waits", lambda: state(rig, "noc")["waiting"] == 0)
        finally:
            healed(rig)


def test_a_disabled_target_is_not_tried(made: Made) -> None:
    rig = made.rig
    rig.commit(mail(25, disabled=True))
    with pytest.raises(Conflict, match="is disabled"):
        asked(rig, "noc")
    assert state(rig, "noc") == {}, "nothing is known of it"


def test_who_sends_has_no_rights_and_the_secret_is_in_no_list_of_processes(made: Made) -> None:
    rig = made.rig
    token = sealed(rig, "chat", "token", PASSWORD)
    with web_server(rig.internet, SERVER, way="hangs") as server:
        rig.commit(hook(server.port, token=token))
        with rig.agent.connection() as connection:
            asking = threading.Thread(
                target=lambda: connection.call("alert_test", {"id": "chat", "by": "admin"}, timeout_s=30)
            )
            asking.start()
            until("it is under way", lambda: server.connections)
            (pid,) = couriers(rig)
            held = dict(
                line.split(":\t", 1)
                for line in Path(f"/proc/{pid}/status").read_text().splitlines()
                if ":\t" in line
            )
            assert set(held["Uid"].split()) == {NOBODY} and set(held["Gid"].split()) == {NOBODY}
            assert {int(held[name], 16) for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {0}
            assert held["NoNewPrivs"] == "1"
            assert PASSWORD.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
            assert PASSWORD.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
            with pytest.raises(Conflict, match="another test is under way"):
                asked(rig, "chat")
            asking.join()
    until("it ended", lambda: not couriers(rig))


def test_how_the_process_that_sends_ended_is_told(made: Made) -> None:
    rig = made.rig
    forget(rig)
    with web_server(rig.internet, SERVER, way="hangs") as server:
        rig.commit(hook(server.port))
        answers: list[str] = []
        with rig.agent.connection() as connection:

            def ask() -> None:
                asked_for = {"id": "chat", "by": "admin"}
                answers.append(connection.call("alert_test", asked_for, timeout_s=30)["answer"])

            asking = threading.Thread(target=ask)
            asking.start()
            until("it is under way", lambda: server.connections)
            (pid,) = couriers(rig)
            os.kill(pid, signal.SIGKILL)
            asking.join()
    assert answers == ["the process for it failed: it was ended by signal 9"]


def couriers(rig: Rig) -> list[int]:
    assert rig.agent_process is not None
    agent, found = str(rig.agent_process.pid).encode(), []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"weir.courier" in words and agent in words:
            found.append(int(path.name))
    return found


def test_a_target_whose_password_was_lost_says_so(made: Made) -> None:
    made.rig.commit(mail(25, username="weir", password="lost"))
    assert refused(made.rig, "noc") == "its password is unknown to this router: enter it again"


def test_what_is_in_force_is_explained(made: Made) -> None:
    rig = made.rig
    rig.commit(mail(25), AlertRule("all", targets=("noc",)))
    (line,) = rig.explain("noc", "alert-target")["lines"]
    assert line["compiled"] == f"target noc: mail to noc@example.net by {SERVER} port 25"
    assert line["agrees"] is True

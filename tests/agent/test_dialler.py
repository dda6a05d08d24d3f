# SPDX-License-Identifier: Apache-2.0
"""The dialler with a program that says what pppd says. With a concentrator: tests/vm/test_pppoe.py."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.polling import until
from weir.adapters.daemon import Daemon, Program
from weir.adapters.netlink import Link
from weir.adapters.pppd import (
    REFUSED,
    Said,
    Sessions,
    failure,
    options_text,
    parent_of,
    read_said,
)
from weir.agent import dialler as dialling
from weir.agent.dialler import Dialler
from weir.backends.backend import Comparison, Look
from weir.backends.pppoe import PppoeBackend
from weir.model.delegation import Dhcpv6
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.pppoe import Pppoe
from weir.parts.effect import Sessions as Counted
from weir.parts.pppoe import PPPOE

UP = """Plugin pppoe.so loaded.
PPP session is 7
Connected to 02:00:00:00:00:AB via interface eth0
Renamed interface ppp0 to dsl0
Using interface dsl0
Connect: dsl0 <--> eth0
Remote message: local  IP address 192.0.2.99
PAP authentication succeeded
local  IP address 10.99.0.10
remote IP address 10.99.0.1
primary   DNS address 203.0.113.53
secondary DNS address 203.0.113.53
"""
BAD = "Remote message: Login incorrect\nPAP authentication failed\nConnection terminated.\n"
ETH0 = Link("eth0", 2, "physical", "02:00:00:00:00:01", 1500, True, True, True, 1, "", 0, 0, {})
DSL0 = replace(ETH0, name="dsl0", index=3, kind="ppp", ethernet=False)


class FakeSessions(Sessions):
    """What is to be said is in a file; the process goes on if its first word is `up`."""

    def daemon(self, name: str) -> Daemon:
        folder = self.folder(name)
        script = f"cat {folder}/says; test ! -e {folder}/ends && exec sleep 600"
        return Daemon(Program("pppd", lambda _: ("sh", "-c", script), lambda _: ("true",)), folder)


class Rig:
    def __init__(self, folder: Path) -> None:
        self.sessions = FakeSessions(folder / "pppoe")
        self.links = {"eth0": ETH0}
        self.now_s = 1000.0
        self.dialler = self.another()
        self.backend = PppoeBackend(
            self.sessions, lambda _, text: text, lambda: None, lambda name: self.dialler.told(name)
        )
        self.wanted: Any = {}

    def another(self) -> Dialler:
        return Dialler(self.sessions, lambda: self.links, lambda: self.now_s)

    def bring(self, *interfaces: Interface) -> None:
        self.wanted = PPPOE.wanted(Document([Interface("eth0"), *interfaces]))
        difference = self.backend.diff(self.backend.read(), self.wanted)
        self.backend.apply(difference)
        self.backend.verify(difference)
        assert not self.backend.diff(self.backend.read(), self.wanted)

    def says(self, text: str, *, ends: bool = False) -> None:
        folder = self.sessions.folder("dsl0")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "says").write_text(text)
        (folder / "ends").unlink(missing_ok=True)
        if ends:
            (folder / "ends").touch()

    def turn(self, after_s: float = 0.0) -> dict[str, Any]:
        self.now_s += after_s
        self.dialler.turn()
        return self.dialler.learn(None).get("dsl0", {})

    def until(self, field: str, value: object) -> dict[str, Any]:
        """Of the test's clock no time passes meanwhile."""
        until(f"{field} is {value}", lambda: self.turn().get(field) == value)
        return self.turn()

    def come_up(self) -> dict[str, Any]:
        self.says(UP)
        self.links["dsl0"] = DSL0
        return self.until("session", "up")

    def pid(self) -> int | None:
        found = self.sessions.daemon("dsl0").identity()
        return found and found[0]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    found = Rig(tmp_path)
    yield found
    found.bring()
    found.dialler.turn()
    assert not found.sessions.names()


def dsl(**more: Any) -> Interface:
    return Interface("dsl0", "wan", pppoe=Pppoe("eth0", **{"username": "me", "password": "hunter2", **more}))


def test_what_pppd_says_of_a_session() -> None:
    assert read_said(UP) == Said("10.99.0.10", "10.99.0.1", ("203.0.113.53",), "02:00:00:00:00:ab", 7)
    assert read_said("") == Said()
    with_ipv6 = f"{UP}local  LL address fe80::1c2b:3aff:1:2\nremote LL address fe80::9:8\n"
    assert read_said(with_ipv6).ipv6_peer == "fe80::9:8"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (BAD, REFUSED),
        ("LCP terminated by peer (Failed to authenticate ourselves to peer)", REFUSED),
        ("Timeout waiting for PADO packets\nUnable to", "no access concentrator answers on eth0"),
        (f"{UP}No response to 3 echo-requests\n", "the provider stopped answering (keep-alive)"),
        (f"{UP}LCP terminated by peer\nModem hangup\n", "the provider ended the session"),
        ("pppd: In file x: unrecognized option 'nic-eth0'\n", "eth0 is not there"),
        ("Something else\nConnection terminated.\n", "pppd said: Something else"),
        ("", "pppd ended and did not say why"),
        (UP, "pppd ended and did not say why"),
    ],
)
def test_a_failure_is_told_in_words(said: str, words: str) -> None:
    assert failure(said, "eth0") == words


def test_options_take_every_character_of_a_name_or_password() -> None:
    assert options_text([("user", 'a"b\\c #d')]) == 'user "a\\"b\\\\c #d"\n'
    assert parent_of("plugin pppoe.so\nnic-eth0.7\n") == "eth0.7"


@pytest.mark.parametrize(
    ("more", "option"),
    [({}, "noipv6"), ({"ipv6_addressing": "auto"}, "+ipv6"), ({"dhcpv6": Dhcpv6()}, "+ipv6")],
)
def test_ipv6_is_agreed_on_where_something_of_it_is_wanted(
    rig: Rig, more: dict[str, Any], option: str
) -> None:
    rig.bring(replace(dsl(), **more))
    words = {"noipv6", "+ipv6"} & set((rig.sessions.folder("dsl0") / "options").read_text().splitlines())
    assert words == {option}


def test_a_session_comes_up_and_is_known(rig: Rig) -> None:
    rig.bring(dsl(service_name="fibre"))
    state = rig.come_up()
    assert (state["session_address"], state["session_gateway"]) == ("10.99.0.10", "10.99.0.1")
    assert (state["concentrator"], state["session_number"]) == ("02:00:00:00:00:ab", 7)
    assert state["session_failure"] is None and state["session_next_try"] is None
    options = rig.sessions.folder("dsl0") / "options"
    assert options.stat().st_mode & 0o777 == 0o600
    assert {'password "hunter2"', 'pppoe-service "fibre"', 'mtu "1492"'} <= set(
        options.read_text().splitlines()
    )


def test_an_agent_that_comes_next_goes_on_with_the_session(rig: Rig) -> None:
    rig.bring(dsl())
    since, pid = rig.come_up()["session_since"], rig.pid()
    rig.dialler = rig.another()
    assert rig.turn()["session_since"] == since
    assert rig.pid() == pid


def test_a_refused_password_is_tried_again_late_and_a_new_one_at_once(rig: Rig) -> None:
    rig.bring(dsl())
    rig.says(BAD, ends=True)
    state = rig.until("session_failure", REFUSED)
    assert (state["session"], state["session_failures"]) == ("waiting", 1)
    assert rig.turn(29.0)["session_failures"] == 1
    rig.turn(1.5)
    rig.until("session_failures", 2)
    assert rig.turn(31.0)["session_failures"] == 2, "it waits twice as long"
    rig.bring(dsl(password="another"))
    rig.says(UP)
    rig.links["dsl0"] = DSL0
    rig.turn(30.0)
    assert rig.until("session", "up")["session_failures"] == 0


def test_one_that_dies_is_dialled_again_and_ever_more_rarely_where_it_dies_again(rig: Rig) -> None:
    rig.bring(dsl())
    rig.come_up()
    pid = rig.pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    state = rig.until("session", "waiting")
    assert state["session_next_try"] and state["session_failures"] == 0
    rig.says("Timeout waiting for PADO packets\n", ends=True)
    tried = []
    for _ in range(400):
        failures = rig.turn(1.0)["session_failures"]
        until("the try is over", lambda: rig.pid() is None)
        if not tried or failures > tried[-1]:
            tried.append(failures)
    assert 5 < tried[-1] < 15, "2, 4, 8, 16, 32 s, and then 60 s"


def test_nothing_is_dialled_without_a_link_and_at_once_with_it(rig: Rig) -> None:
    rig.links["eth0"] = replace(ETH0, carrier=False)
    rig.bring(dsl())
    assert rig.turn()["session_failure"] == "eth0 has no link"
    rig.links["eth0"] = replace(ETH0, up=False)
    assert rig.turn()["session_failure"] == "eth0 is down"
    del rig.links["eth0"]
    assert rig.turn()["session_failure"] == "eth0 is not there" and rig.pid() is None
    rig.links["eth0"] = ETH0
    assert rig.come_up()["session_failures"] == 0


def test_a_provider_that_comes_to_no_end_is_given_up(rig: Rig) -> None:
    rig.bring(dsl())
    rig.says("PPP session is 7\n")
    assert rig.until("session", "dialling")
    assert rig.turn(dialling.DIALLING_S + 1)["session_failures"] == 1
    assert rig.pid() is None


def test_effects_and_steps_are_told_and_the_password_is_not(rig: Rig) -> None:
    rig.bring(dsl())
    rig.come_up()

    def effects(*interfaces: Interface) -> list[str]:
        after = PPPOE.wanted(Document([Interface("eth0"), *interfaces]))
        look: Any = Look(rig.backend, after, PPPOE.delta(rig.wanted, after), [], lambda _: Counted(0, True))
        return [effect.text for effect in rig.backend.effects(look)]

    assert effects(dsl(keepalive_s=5)) == ["dsl0 is dialled again, and may get another address"]
    assert effects(dsl(distance=1)) == [], "the route moves, and the session stays"
    assert effects() == ["dsl0 hangs up"]
    other = rig.backend.diff(
        rig.backend.read(), PPPOE.wanted(Document([Interface("eth0"), dsl(password="x")]))
    )
    assert [(step.action, step.text) for step in other.steps()] == [("change", "dsl0")]
    found: Any = Comparison(rig.backend, rig.wanted)
    lines = list(rig.backend.explain(found, dsl(), ["dsl0: PPPoE over eth0 as me"]))
    assert all(line.agrees for line in lines) and "hunter2" not in str([lines, other.steps()])
    assert lines[1].system == "up with 10.99.0.10 by 02:00:00:00:00:ab"

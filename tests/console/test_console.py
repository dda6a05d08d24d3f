# SPDX-License-Identifier: Apache-2.0
"""The console as somebody at a terminal meets it: the real program on a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.world import World, set_second_factor
from weir.console.menu import CHOICES
from weir.model.problem import Unauthenticated
from weir.store.accounts import accounts_path

GOOD = "correct horse battery"
WITHIN_S = 60.0
WAITER = Path(__file__).parents[2] / "board/overlay/usr/libexec/weir/console"
MOST_WAITING_BYTES = 6 << 20
"""Of one that waits. Python with the menu has more than 20 MB."""


class Terminal:
    """A line with the console on it."""

    def __init__(self, *program: str) -> None:
        ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [WAITER, *program],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that Ctrl-C reaches it
            env={**os.environ, "TERM": "dumb"},
        )
        os.close(theirs)
        self._line = ours
        self.shown = ""

    def until(self, words: str) -> str:
        """What appears up to and with `words`."""
        deadline = time.monotonic() + WITHIN_S
        while words not in self.shown:
            assert time.monotonic() < deadline, f"{words!r} did not come; this did: {self.shown}"
            if select.select([self._line], [], [], 0.2)[0]:
                try:
                    self.shown += os.read(self._line, 65536).decode()
                except OSError:
                    raise AssertionError(f"the line is gone: {self.shown}") from None
        before, _, self.shown = self.shown.partition(words)
        return before + words

    def type(self, text: str) -> None:
        os.write(self._line, f"{text}\n".encode())

    def ask(self, choice: str, *answers: tuple[str, str]) -> str:
        """Choose, answer each question when it comes, and return what is said until the menu is back."""
        self.type(choice)
        seen = ""
        for question, answer in answers:
            seen += self.until(question)
            self.type(answer)
        return seen + self.until("Weir> ")

    def press(self, keys: bytes) -> None:
        os.write(self._line, keys)

    def hang_up(self) -> None:
        os.close(self._line)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def console(socket: Path, database: Path, certificate: Path) -> Terminal:
    options = ("--socket", str(socket), "--database", str(database), "--certificate", str(certificate))
    return Terminal(sys.executable, "-m", "weir.console.main", *options)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path) as found:
        yield found


@pytest.fixture
def terminal(world: World, tmp_path: Path) -> Iterator[Terminal]:
    found = console(world.socket, world.database, tmp_path / "weir.pem")
    try:
        found.until("Weir> ")
        yield found
    finally:
        found.end()


def test_it_shows_what_somebody_needs_to_reach_the_router(world: World, terminal: Terminal) -> None:
    shown = terminal.ask("1")
    assert "Authorised persons only.\r\n" in shown and "Weir test on router" in shown
    assert "lan0 192.0.2.1/24" in shown
    assert "A runs, A is next" in shown
    assert "all is well" in shown


def test_it_says_which_slot_is_next_before_the_running_one_was_found_well(
    world: World, terminal: Terminal
) -> None:
    updates = world.agent.updates
    updates.bad, updates.next = {"A"}, "B"
    assert "A runs, B is next unless A is found well" in terminal.ask("1")
    updates.bad, updates.next = {"A", "B"}, None
    assert "A runs, and no slot is good: the next start tries both" in terminal.ask("1")


def test_it_says_what_is_not_well(world: World, terminal: Terminal) -> None:
    world.agent.data = {"state": "damaged", "message": "the data partition is damaged", "free_bytes": 0}
    assert "NOT WELL: the data partition is damaged" in terminal.ask("1")


def test_a_reset_is_no_fault(world: World, terminal: Terminal) -> None:
    world.agent.data = {"state": "reset", "message": "the router was reset", "free_bytes": 1 << 30}
    assert "Health: all is well" in terminal.ask("1")


def test_a_reset_password_needs_no_second_factor(world: World, terminal: Terminal) -> None:
    auth = world.parts.service.auth
    assert world.password is not None
    who = auth.sign_in("admin", world.password, "192.0.2.1").principal
    auth.change_password(who, world.password, GOOD)
    set_second_factor(world, auth.sign_in("admin", GOOD, "192.0.2.1").principal, GOOD)
    said = terminal.ask("2", ("(yes/no)", "yes"))
    found = re.search(r"[a-z2-9]{5}(-[a-z2-9]{5}){3}", said)
    assert found is not None
    assert auth.sign_in("admin", found[0], "192.0.2.1").must_change_password


def test_a_reset_password_opens_the_browser_and_the_old_one_does_not(
    world: World, terminal: Terminal
) -> None:
    auth = world.parts.service.auth
    assert world.password is not None
    said = terminal.ask("2", ("(yes/no)", "yes"))
    found = re.search(r"[a-z2-9]{5}(-[a-z2-9]{5}){3}", said)
    assert found is not None
    assert auth.sign_in("admin", found[0], "192.0.2.1").must_change_password
    with pytest.raises(Unauthenticated):
        auth.sign_in("admin", world.password, "192.0.2.1")
    last = next(item for item in world.parts.service.audit._store.audit(None, 10) if "reset" in item.action)
    assert (last.actor, last.source) == ("console", "console")


def test_nothing_happens_without_a_yes(world: World, terminal: Terminal) -> None:
    for choice in ("2", "5", "6"):
        assert "Nothing was done" in terminal.ask(choice, ("(yes/no)", "y"))
    assert "Nothing was done" in terminal.ask("4", ("(Enter: neither)?", "wipe"), ("(yes/no)", ""))
    assert "type keep or wipe" in terminal.ask("4", ("(Enter: neither)?", "all"))
    assert (world.agent.updates.restarts, world.agent.appliance.asked) == (0, [])


def test_slot_restart_reset_and_power_go_through_the_agent(world: World, terminal: Terminal) -> None:
    assert "Slot B is next" in terminal.ask("3", ("(Enter: leave it)?", "b"))
    assert world.agent.updates.next == "B"
    assert "restarts" in terminal.ask("5", ("(yes/no)", "yes"))
    assert world.agent.updates.restarts == 1
    terminal.ask("4", ("(Enter: neither)?", "keep"), ("(yes/no)", "yes"))
    terminal.ask("6", ("(yes/no)", "yes"))
    assert world.agent.appliance.asked == ["reset keep", "off"]


def test_damaged_files_are_said_and_a_reset_is_still_there(world: World, terminal: Terminal) -> None:
    world.agent.store = {"ok": False, "reason": "weir.db: the database is damaged; it was left as it is"}
    accounts = accounts_path(world.database)
    for file in accounts.parent.glob(f"{accounts.name}*"):  # also its log, from which it would be made whole
        file.unlink()
    accounts.write_bytes(b"precious text\n" * 400)
    shown = terminal.ask("1")
    assert "NOT WELL: configuration: weir.db: the database is damaged; it was left as it is" in shown
    assert f"NOT WELL: {accounts.name}: this is not a database; it was left as it is" in shown
    assert "it was left as it is" in terminal.ask("2", ("(yes/no)", "yes"))
    terminal.ask("4", ("(Enter: neither)?", "keep"), ("(yes/no)", "yes"))
    assert world.agent.appliance.asked == ["reset keep"]


def test_a_shell_takes_an_administrators_password(world: World, terminal: Terminal) -> None:
    assert world.password is not None
    assert "wrong" in terminal.ask("7", ("Administrator:", "admin"), ("Password:", "guess"))
    terminal.type("7")
    for question, answer in (
        ("Administrator:", "admin"),
        ("Password:", world.password),
        ("New password:", GOOD),
        ("Once more:", GOOD),
    ):
        assert answer not in terminal.until(question)
        terminal.type(answer)
    terminal.until("The shell ends after")
    terminal.until("weir# ")
    terminal.type("echo $((6 * 7))")
    terminal.until("42")
    terminal.until("weir# ")
    terminal.press(b"\x03")
    terminal.until("weir# ")
    terminal.type("exit")
    terminal.until("Weir> ")
    actions = [item.action for item in world.parts.service.audit._store.audit(None, 20)]
    assert "console.shell" in actions


def test_who_is_no_administrator_gets_no_shell(world: World, terminal: Terminal) -> None:
    body = {"username": "anna", "scope": "write", "password": GOOD}
    assert world.client()("POST", "/users", body).status_code == 201
    said = terminal.ask("7", ("Administrator:", "anna"), ("Password:", GOOD))
    assert "a shell is for administrators" in said


def test_without_agent_and_accounts_it_still_answers(tmp_path: Path) -> None:
    terminal = console(tmp_path / "no.sock", tmp_path / "no.db", tmp_path / "weir.pem")
    try:
        shown = terminal.until("Weir> ")
        assert "NOT WELL: the agent does not answer" in shown
        for what in ("Slot", "Address"):
            assert f"  {what}: not known: the agent does not answer" in shown
        assert "the API has not started yet" in terminal.ask("2", ("(yes/no)", "yes"))
        assert "Not done: the agent does not answer" in terminal.ask("3")
        assert list(tmp_path.iterdir()) == [], "it makes no file that is the API's to make"
    finally:
        terminal.end()


def test_a_line_that_is_gone_ends_it(terminal: Terminal) -> None:
    terminal.hang_up()
    assert terminal.process.wait(timeout=WITHIN_S) is not None


def test_an_end_of_input_ends_it_for_systemd_to_start_it_again(terminal: Terminal) -> None:
    terminal.type("2")
    terminal.until("(yes/no)")
    terminal.press(b"\x04")
    terminal.until("Weir> ")
    terminal.press(b"\x04")
    assert terminal.process.wait(timeout=WITHIN_S) == 0


def test_who_waits_is_small_and_alone(terminal: Terminal) -> None:
    """There are two on every router, and nobody is at them."""
    pid = terminal.process.pid
    assert Path(f"/proc/{pid}/task/{pid}/children").read_text() == ""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    rss_kb = re.search(r"^Rss: +(\d+) kB$", rollup, re.MULTILINE)
    assert rss_kb is not None and int(rss_kb[1]) << 10 < MOST_WAITING_BYTES


def test_what_is_typed_ahead_is_done_in_turn(world: World, terminal: Terminal) -> None:
    terminal.press(b"3\nb\n5\nyes\n")
    terminal.until("Slot B is next")
    terminal.until("The router restarts")
    terminal.until("Weir> ")
    assert (world.agent.updates.next, world.agent.updates.restarts) == ("B", 1)


def test_only_a_number_of_the_menu_gets_onto_a_command_line(tmp_path: Path) -> None:
    """Somebody may type a password at the wrong question."""
    program = tmp_path / "menu"
    program.write_text('#!/bin/sh\necho "started with $*."\n', encoding="ascii")
    program.chmod(0o755)
    terminal = Terminal(str(program), "--option")
    try:
        terminal.until("started with --option 1.")
        terminal.until("Weir> ")
        for typed in (GOOD, "0", "9", "12", "*", "$(reboot)", "-1", "1 2"):
            said = terminal.ask(typed)
            assert "no such choice" in said and "started" not in said
        for number, _ in CHOICES:
            assert f"started with --option {number}." in terminal.ask(f" {number} ")
        assert "started with --option 1." in terminal.ask("")
    finally:
        terminal.end()


def test_a_program_that_a_signal_ended_ends_the_console_and_systemd_resets_the_terminal() -> None:
    terminal = Terminal("/bin/sh", "-c", "stty -echo; kill -KILL $$")
    assert terminal.process.wait(timeout=WITHIN_S) == 0


def test_the_installer_is_started_and_one_that_is_missing_is_said(terminal: Terminal) -> None:
    said = terminal.ask("8")
    assert "Not done: /usr/bin/weir-install" in said or "weir-install: " in said


def test_odd_input_is_answered_and_an_interrupt_leads_back(terminal: Terminal) -> None:
    assert "no such choice" in terminal.ask("99")
    assert "no such choice" in terminal.ask("\x1b[A; reboot")
    terminal.type("2")
    terminal.until("(yes/no)")
    terminal.press(b"\x03")
    terminal.until("Weir> ")


def test_no_interrupt_ends_the_console_however_many_come(terminal: Terminal) -> None:
    for _ in range(20):
        terminal.press(b"\x03")
    terminal.type("99")
    terminal.until("no such choice")


def test_what_is_typed_shows_again_after_an_interrupted_password(terminal: Terminal) -> None:
    terminal.type("7")
    terminal.until("Administrator: ")
    terminal.type("admin")
    terminal.until("Password: ")
    terminal.press(b"\x03")
    terminal.until("Weir> ")
    terminal.type("no such thing")
    terminal.until("no such thing")


def test_a_console_that_only_shows_loads_nothing_of_the_services() -> None:
    """It is started after each Enter, and twice with every router, beside the API that somebody waits for."""
    program = "import sys, weir.console.main; print({'weir.service', 'weir.kinds'} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "set()\n"

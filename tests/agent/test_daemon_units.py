# SPDX-License-Identifier: Apache-2.0
"""A daemon that systemd starts for the agent, at once or late."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.agent.toy_backend import ToyBackend
from weir.adapters.daemon import Daemon
from weir.model.problem import Unavailable


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[ToyBackend]:
    found = ToyBackend(tmp_path)
    yield found
    found.daemon.stop()


def test_a_unit_is_started_by_systemd_and_looked_after_by_its_main_process(
    toy: ToyBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What systemctl does here: it runs the program, and tells its process id."""
    asked: list[str] = []
    program = toy.daemon.program

    def systemctl(argv: Sequence[str], timeout_s: float) -> str:
        asked.append(" ".join(argv))
        if argv[1] == "restart":
            process.append(subprocess.Popen(program.command(toy.daemon.config)))
        return f"{process[-1].pid}\n"

    process: list[subprocess.Popen[bytes]] = []
    monkeypatch.setattr("weir.adapters.daemon.run", systemctl)
    toy.daemon = Daemon(program, tmp_path, "toy.service")
    toy.bring("one")
    assert toy.ask()["pid"] == process[0].pid
    assert asked == ["systemctl restart toy.service", "systemctl show --property=MainPID --value toy.service"]
    process[0].kill()
    process[0].wait()
    toy.bring("one")
    assert toy.ask()["pid"] == process[1].pid != process[0].pid
    toy.daemon.stop()
    process[1].wait()


class SlowSystemd:
    """systemctl, where a restart takes longer than anybody waits, and is done when it is asked again."""

    def __init__(self, toy: ToyBackend) -> None:
        self._toy = toy
        self._process: subprocess.Popen[bytes] | None = None
        self.asked: list[str] = []

    def __call__(self, argv: Sequence[str], timeout_s: float) -> str:
        self.asked.append(argv[1])
        if argv[1] in ("restart", "stop"):
            self.end()
        if argv[1] == "restart":
            self._process = subprocess.Popen(self._toy.daemon.program.command(self._toy.daemon.config))
            raise Unavailable(f"systemctl did not finish in {timeout_s:g} s", code="program-timeout")
        return "0\n" if self._process is None else f"{self._process.pid}\n"

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid


@pytest.fixture
def slow(toy: ToyBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowSystemd]:
    found = SlowSystemd(toy)
    monkeypatch.setattr("weir.adapters.daemon.run", found)
    toy.daemon = Daemon(toy.daemon.program, tmp_path, "toy.service")
    yield found
    toy.daemon.stop()
    found.end()


def late(toy: ToyBackend, word: str) -> None:
    with pytest.raises(Unavailable, match=r"systemctl did not finish in [45]"):
        toy.bring(word)


def test_a_unit_that_starts_slowly_is_waited_for_and_not_started_again_and_again(
    toy: ToyBackend, slow: SlowSystemd
) -> None:
    late(toy, "one")
    started = slow.pid
    toy.bring("one")
    assert toy.ask()["pid"] == started
    assert slow.asked == ["restart", "start", "show"]
    assert not toy.diff(toy.read(), "one")


def test_other_files_need_another_start_of_a_unit_that_starts_slowly(
    toy: ToyBackend, slow: SlowSystemd
) -> None:
    late(toy, "one")
    late(toy, "two")
    toy.bring("two")
    assert toy.ask()["has"] == "two"
    assert slow.asked == ["restart", "restart", "start", "show"]


def test_a_unit_that_starts_slowly_is_stopped_when_it_has_nothing_to_do_any_more(
    toy: ToyBackend, slow: SlowSystemd
) -> None:
    late(toy, "one")
    toy.bring("")
    assert slow.pid is None
    assert slow.asked == ["restart", "stop"]
    late(toy, "one")
    assert slow.asked[2:] == ["restart"], "what was given up is no start that could be waited for"

# SPDX-License-Identifier: Apache-2.0
"""Threads that do the same again and again: what one runs into ends its turn, not the thread."""

from __future__ import annotations

import ast
import logging
import threading
from pathlib import Path

import pytest

from tests.polling import until
from weir.loop import Loop
from weir.model.problem import Unavailable

WEIR = Path(__file__).parents[2] / "api" / "weir"
LESS = {
    "_accept of wire/server.py": "what can fail is caught at each step",
    "_keep_trimmed of memory.py": "it asks the C library alone",
    "_run of agent/outbox.py": "an attempt to send catches everything",
    "_run of loop.py": "a turn catches everything",
    "_wait of http/running.py": "it ends with what a tool says",
    "_wake of http/speed.py": "it ends with its reader, whom alone it wakes",
    "_serve of wire/server.py": "it ends with its connection",
    "serve of agent/store_server.py": "it ends with its connection",
}
"""Loops of threads that catch less than everything, and why."""


def failing(*failures: Exception) -> tuple[list[str], Loop]:
    """A loop whose first turns fail so; what its turns did."""
    left, done = list(failures), []

    def turn() -> float:
        if left:
            done.append("failed")
            raise left.pop(0)
        done.append("ran")
        return 60.0

    return done, Loop("counter", turn, again_s=0.01)


@pytest.mark.parametrize("failure", [ValueError("nobody foresaw it"), Unavailable("the agent is away")])
def test_a_turn_that_fails_is_followed_by_the_next(failure: Exception) -> None:
    done, loop = failing(failure, failure)
    loop.start()
    until("the third turn", lambda: done == ["failed", "failed", "ran"])
    loop.stop()


def test_the_same_problem_is_logged_once_and_a_defect_each_time(caplog: pytest.LogCaptureFixture) -> None:
    away, defect = Unavailable("the agent is away"), ValueError("nobody foresaw it")
    with caplog.at_level(logging.WARNING, "weir.loop"):
        done, loop = failing(away, away, defect, defect, away)
        loop.start()
        until("it works", lambda: "ran" in done)
        loop.stop()
    said = [(record.levelname, bool(record.exc_info)) for record in caplog.records]
    assert said == [("WARNING", False), ("ERROR", True), ("ERROR", True)]
    assert "counter: the agent is away; trying again in 0.01 s" in caplog.text


def test_waking_brings_the_next_turn_and_stopping_none() -> None:
    done, loop = failing()
    loop.start()
    until("the first turn", lambda: len(done) == 1)
    loop.wake()
    until("the second turn", lambda: len(done) == 2)
    loop.stop()
    loop.wake()
    assert loop.ending and len(done) == 2


def test_stopping_waits_for_the_turn_that_is_under_way() -> None:
    begun, may_end, ended = threading.Event(), threading.Event(), []

    def turn() -> None:
        begun.set()
        assert may_end.wait(10)
        ended.append(True)

    loop = Loop("slow", turn, again_s=60)
    loop.start()
    assert begun.wait(10)
    threading.Timer(0.05, may_end.set).start()
    loop.stop()
    assert ended == [True]


def test_a_turn_may_stop_its_own_loop() -> None:
    loops: list[Loop] = []
    stopped = threading.Event()

    def turn() -> float:
        loops[0].stop()
        stopped.set()
        return 0.0

    loops.append(Loop("itself", turn, again_s=60))
    loops[0].start()
    assert stopped.wait(10)


def test_no_thread_of_the_router_ends_by_what_one_turn_runs_into() -> None:
    """Each function that a thread runs and that loops catches `Exception` inside of the loop."""
    fragile = {
        f"{function.name} of {path.relative_to(WEIR)}"
        for path in WEIR.rglob("*.py")
        for function in _targets(ast.parse(path.read_text()))
        if not _is_guarded(function)
    }
    assert fragile == LESS.keys()


def _targets(module: ast.Module) -> list[ast.FunctionDef]:
    """The functions of this module that its threads run."""
    names = {
        keyword.value.attr if isinstance(keyword.value, ast.Attribute) else ast.unparse(keyword.value)
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Thread")
        for keyword in node.keywords
        if keyword.arg == "target"
    }
    return [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef) and node.name in names]


def _is_guarded(function: ast.FunctionDef) -> bool:
    loops = [node for node in ast.walk(function) if isinstance(node, ast.While)]
    return all(
        any(
            isinstance(handler.type, ast.Name) and handler.type.id == "Exception"
            for node in ast.walk(loop)
            if isinstance(node, ast.Try)
            for handler in node.handlers
        )
        for loop in loops
    )

# SPDX-License-Identifier: Apache-2.0
"""Two cores that send by one root qdisc wait for its lock: the tool and the agent see it, and the tool
little of it under the same load without that lock; nothing stays attached."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from lab import ills
from tests.agent.attached import programs
from tests.agent.refusals import why_not_looked_at
from tests.agent.rig import Rig, lan, running, wan
from tests.datapath import bpf_run
from tests.polling import until
from weir.adapters.datapath_lib import find_library
from weir.agent.lock_watch import LockWatch
from weir.diagnosis.locks import spin_shares
from weir.model.interface import Interface
from weir.probes.lock_rows import LockRows

NAMES = {"locks_begin", "locks_end"}
IN_A_ROW = 50
"""Looks without a program: one alone may meet the moment in which they are attached."""


def is_told() -> str:
    """Why this kernel tells of no waits; "" where it does."""
    try:
        LockRows(str(find_library())).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""


needs_two = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core waits for nobody")


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    if why := is_told():
        pytest.skip(why)
    with running("--look-interval-s", "1") as made, ills.locked_port(made.router):
        made.commit(lan(), wan())
        yield made


def shares(rig: Rig) -> tuple[float, dict[str, Any]]:
    """What the tool says of spin locks while both send: the share of the core that spins most."""
    with ills.lock_senders(rig.router):
        wanted = {"tool": "lock-waits", "arguments": {"seconds": 3}, "by": "admin"}
        _, (output,) = rig.agent.call_for_fds("tool_start", wanted)
        with os.fdopen(output, "rb") as file:
            events = [json.loads(line) for line in file]
    assert [event["event"] for event in events[-2:]] == ["summary", "end"], events[-1]
    assert events[-1]["reason"] == "done"
    spins = [event for event in events if event.get("kind") == "spin lock"]
    return events[-2]["most_share_percent"], spins[-1] if spins else {}


def found(rig: Rig, code: str) -> dict[str, Any]:
    """The first finding of a code; nothing where there is none."""
    return next((item for item in rig.agent.call("findings")["findings"] if item["code"] == code), {})


def sentences(rig: Rig) -> dict[str, str]:
    return {item["code"]: item["sentence"] for item in rig.agent.call("findings")["findings"]}


def has_fq(rig: Rig) -> bool:
    tried = {item["id"]: item["available"] for item in rig.agent.call("status")["capabilities"]}
    return bool(tried["qdisc-fq"])


def most_share(rig: Rig) -> float:
    """Of the core that spins most, in percent, as the tool tells it."""
    wanted = {"tool": "lock-waits", "arguments": {"seconds": 2}, "by": "admin"}
    _, (output,) = rig.agent.call_for_fds("tool_start", wanted)
    with os.fdopen(output, "rb") as file:
        *_, summary, _ = [json.loads(line) for line in file]
    return float(summary["most_share_percent"])


@needs_two
def test_the_tool_sees_cores_that_wait_for_a_root_lock_and_few_without(rig: Rig) -> None:
    ills.long_root(rig.router)
    sick, spins = shares(rig)
    rig.run("tc", "qdisc", "del", "dev", "held0", "root")
    healed, _ = shares(rig)
    print(f"share of the core that spins most: {sick} %, without the root lock {healed} %; {spins}")
    assert sick > 0.1 and sick > 3 * healed
    assert spins["waits"] > 1000 and spins["wait_p99_us"] > 0 and spins["wait_most_us"] > 0
    assert spins["share_on"].startswith("core ")


@needs_two
def test_a_root_lock_is_found_by_its_waits_until_the_port_has_none(rig: Rig) -> None:
    """A shaper leaves the root that others made; the agent names it with the command that removes it."""
    ills.long_root(rig.router)
    with ills.lock_senders(rig.router):
        said = until("the finding", lambda: sentences(rig).get("lock-wait"))
        remedies = [item["id"] for item in found(rig, "lock-wait")["remedies"]]
        sick = most_share(rig)
        rig.commit(Interface("held0", role="lan", addresses=("192.0.2.1/24",), shaper="auto"))
        command = "tc qdisc del dev held0 root"
        until("the agent names the root", lambda: command in rig.agent_log())
        rig.run(*command.split())
        until("it is over, under the same load", lambda: "lock-wait" not in sentences(rig))
        healed = most_share(rig)
    print(f"{said} Share of the core that spins most: {sick} %, healed {healed} %")
    assert re.match(r"core [01] spends .* of its time waiting for locks, .*all queues: .*held0", said)
    assert sick > 5 > 3 * healed
    if has_fq(rig):
        assert remedies == ["shaper"]
    else:
        assert remedies == ["remove-root", "kernel-with-fq"], "what was done here, and no shaper that heals"
        assert "no shaper takes it away here, as `fq` does not work" in said


@needs_two
def test_the_agents_window_has_what_each_core_waited(rig: Rig) -> None:
    ills.long_root(rig.router)
    watch = LockWatch(1.0, lambda: LockRows(str(find_library())))

    def longest_ns() -> int:
        window = watch.found()
        return max((row.wait_ns for row in window.rows), default=0) if window else 0

    with ills.lock_senders(rig.router):
        watch.start()
        until("a window in which cores waited", lambda: longest_ns() > 100_000)
    watch.stop()
    window = watch.found()
    assert window and all(row.wait_most_ns <= row.wait_ns for row in window.rows)
    assert 0 < max(spin_shares(window).values()) < 1


def test_nothing_is_attached_between_windows_nor_after_the_agent_was_killed(rig: Rig) -> None:
    until("a window", lambda: len(programs(rig, NAMES)) == len(NAMES))
    until("nothing between", lambda: not any(programs(rig, NAMES) for _ in range(IN_A_ROW)))
    held = until("a window", lambda: len(programs(rig, NAMES)) == len(NAMES) and programs(rig, NAMES))
    rig.kill_agent()
    until("the programs are gone", lambda: not any(bpf_run.has_program(number) for number in held))
    rig.start_agent("--look-interval-s", "1")


def test_what_was_waited_for_before_a_window_is_not_in_it(rig: Rig) -> None:
    with closing(LockRows(str(find_library()))) as rows:
        assert rows.read(), "opening waits for a lock of its own"
        rows.watch(True)
        rows.watch(False)
        assert sum(row.waited for row in rows.read()) < 1000


def test_a_kernel_that_does_not_tell_is_said_and_the_rest_is_looked_at() -> None:
    def refused() -> LockRows:
        raise OSError(95, "this kernel does not tell how long spin locks are waited for")

    why = why_not_looked_at("lock_waits", LockWatch(0.01, refused))
    assert why.startswith("this kernel does not tell how long spin locks are waited for")

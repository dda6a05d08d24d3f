# SPDX-License-Identifier: Apache-2.0
"""A crowd of listening sockets makes softirqs run long and others wait: the tool and the findings see it, and
see nothing of it when the crowd is gone."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from lab import ills
from tests.agent.attached import programs
from tests.agent.refusals import why_not_looked_at
from tests.agent.rig import Rig, lan, running, wan
from tests.datapath import bpf_run
from tests.polling import until
from weir.adapters.kernel_counters import Counters
from weir.agent.softirq_watch import SoftirqWatch
from weir.diagnosis.sample import Sample, SoftirqWindow
from weir.diagnosis.softirqs import long_runs
from weir.diagnosis.symptom import Span
from weir.probes.softirq_rows import STEPS, SoftirqRows, quantile_ns, step_ns

ROOT = Path(__file__).resolve().parents[2]
SYNS = 500
ROUTER = "10.64.0.1"
IN_A_ROW = 50
"""Looks without a program: one alone may meet the moment in which they are attached."""
NAMES = {f"tp_btf_{what}" for what in ("raised", "entered", "left", "polled")}
_PROBE = """
import sys
from weir.probes.dropped_rows import DroppedRows
from weir.probes.lock_rows import LockRows
from weir.probes.lookup_meter import LookupMeter
from weir.probes.softirq_rows import SoftirqRows
for counts in (SoftirqRows, DroppedRows, LockRows):
    rows = counts(sys.argv[1])
    rows.watch(True); rows.watch(False); rows.read()
LookupMeter(sys.argv[1]).routes()
print("ok")
"""
_HOG = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
print("ready", flush=True)
while True:
    pass
"""


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running("--look-interval-s", "1") as made:
        made.commit(lan(), wan())
        yield made


def library(rig: Rig) -> str:
    maps = Path(f"/proc/{rig.agent_process.pid}/maps").read_text()
    return next(line.split()[-1] for line in maps.splitlines() if "libweir.so" in line)


def runs_of_syns(rig: Rig) -> dict[str, Any]:
    """What the tool says of NET_RX when the client sends SYNs after its first word."""
    wanted = {"tool": "softirqs", "arguments": {"seconds": 3}, "by": "admin"}
    sender = threading.Thread(target=ills.send_syns, args=(rig.client_ns, ROUTER, SYNS))
    _, (output,) = rig.agent.call_for_fds("tool_start", wanted)
    events = []
    with os.fdopen(output, "rb") as file:
        for line in file:
            if not events:
                sender.start()
            events.append(json.loads(line))
    sender.join()
    assert [event["event"] for event in events[-2:]] == ["summary", "end"]
    assert events[-1]["reason"] == "done"
    return [event for event in events if event.get("vector") == "NET_RX"][-1]


def test_the_tool_sees_each_syn_that_walks_a_crowd_and_none_without(rig: Rig) -> None:
    with ills.listeners(rig.router, ROUTER, 1):
        before = runs_of_syns(rig)
    assert before["run_long"] <= 20
    with ills.listeners(rig.router, ROUTER):
        sick = runs_of_syns(rig)
    assert sick["run_long"] >= 450
    assert sick["run_most_us"] > 131
    assert re.fullmatch(r"core \d+, .+", sick["run_on"])
    healed = runs_of_syns(rig)
    print(f"long runs of {SYNS} SYNs:", *(found["run_long"] for found in (before, sick, healed)))
    assert healed["run_long"] <= 20
    assert healed["waits"] >= SYNS and healed["wait_p50_us"] <= healed["wait_p99_us"] < 1000


def findings(rig: Rig) -> dict[str, str]:
    listed = rig.agent.call("findings")["findings"]
    return {item["code"]: item["sentence"] for item in listed}


def test_long_runs_for_few_packets_are_a_finding_until_the_crowd_is_gone(rig: Rig) -> None:
    def is_found() -> str:
        ills.send_syns(rig.client_ns, ROUTER, 100)
        return findings(rig).get("long-softirq", "")

    with ills.listeners(rig.router, ROUTER):
        said = until("the finding", is_found)
    assert said.startswith("NET_RX works 131 us and more on few packets")
    until(
        "it is over",
        lambda: ills.send_syns(rig.client_ns, ROUTER, 100) or "long-softirq" not in findings(rig),
    )


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core receives, the other sends")
def test_packets_that_wait_behind_a_crowd_are_a_finding_that_names_it(rig: Rig) -> None:
    def said() -> str:
        return findings(rig).get("softirq-late", "")

    with ills.paced_port(rig.router, "lan0"), ills.syn_bursts(rig.client_ns, ROUTER):
        with ills.listeners(rig.router, ROUTER):
            sick = until("the finding", said)
        print(sick)
        assert re.search(r"wait for 1 ms and more, .* on core 1 behind NET_RX, when .+ was to run", sick)
        until("it is over, under the same load", lambda: not said())


def test_programs_that_take_every_core_make_no_run_long(rig: Rig) -> None:
    """A softirq is not interrupted by a program, whatever else there is to run."""
    watch = SoftirqWatch(1.0, lambda: SoftirqRows(library(rig)), Counters().core_times)

    def window() -> SoftirqWindow | None:
        ills.send_syns(rig.client_ns, ROUTER, 20)
        found = watch.found()
        return found if found and any(row.vector == "NET_RX" for row in found.rows) else None

    with ExitStack() as stack:
        for core in os.sched_getaffinity(0):
            stack.enter_context(ills.program(rig.router, _HOG, str(core)))
        watch.start()
        stack.callback(watch.stop)
        found = until("a window in which packets came", window)
    assert found.spent.keys() == os.sched_getaffinity(0)
    assert all(0 <= core.stolen + core.softirq + core.idle <= core.total for core in found.spent.values())
    assert not list(long_runs(Span(Sample(1.0, 1000), Sample(2.0, 2000, softirqs=found))))


def test_nothing_is_attached_between_windows_nor_after_the_agent_was_killed(rig: Rig) -> None:
    until("a window", lambda: len(programs(rig, NAMES)) == len(NAMES))
    until("nothing between", lambda: not any(programs(rig, NAMES) for _ in range(IN_A_ROW)))
    held = until("a window", lambda: len(programs(rig, NAMES)) == len(NAMES) and programs(rig, NAMES))
    rig.kill_agent()
    until("the programs are gone", lambda: not any(bpf_run.has_program(number) for number in held))
    rig.start_agent("--look-interval-s", "1")


@pytest.mark.parametrize("untyped", [False, True])
def test_a_kernel_without_types_of_its_own_counts_the_same(rig: Rig, untyped: bool) -> None:
    rows = SoftirqRows(library(rig), untyped=untyped)
    try:
        rows.watch(True)
        ills.send_syns(rig.client_ns, ROUTER, 200)
        rows.watch(False)
        before = rows.read()
        assert sum(row.ran for row in before if row.vector == "NET_RX") >= 200
        assert sum(row.packets for row in before if row.vector == "NET_RX") >= 400
        ills.send_syns(rig.client_ns, ROUTER, 50)
        assert rows.read() == before
        for vector, steps in rows.read_steps().items():
            assert sum(steps.waits) == sum(row.waited for row in before if row.vector == vector)
            assert sum(steps.runs) == sum(row.ran for row in before if row.vector == vector)
        rows.watch(True)
        rows.watch(False)
        assert sum(row.ran for row in rows.read()) < 200, "it begins from 0"
    finally:
        rows.close()


def test_the_rights_of_the_agents_unit_are_enough(rig: Rig) -> None:
    unit = (ROOT / "package" / "weir-api" / "weir-agent.service").read_text()
    lines = re.findall(r"^CapabilityBoundingSet=(.*)", unit, re.MULTILINE)
    allowed = set(" ".join(lines).split())
    needed = {"CAP_BPF", "CAP_PERFMON", "CAP_NET_ADMIN"}
    assert needed <= allowed
    assert "bpf" in re.search(r"^SystemCallFilter=(.*)", unit, re.MULTILINE)[1].split()
    few = ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in sorted(needed))
    confined = ["setpriv", "--inh-caps=-all", f"--bounding-set=-all,{few}", sys.executable, "-c", _PROBE]
    assert rig.run(*confined, library(rig)) == "ok\n"


def test_what_the_kernel_refuses_is_said_and_the_rest_is_looked_at() -> None:
    def refused() -> SoftirqRows:
        raise PermissionError(1, "the kernel refuses programs at the tracepoints of softirqs: not permitted")

    why = why_not_looked_at("softirqs", SoftirqWatch(0.01, refused, dict))
    assert why.startswith("the kernel refuses programs")


def test_steps_are_quarters_of_octaves_and_quantiles_their_upper_ends() -> None:
    assert [step_ns(step) for step in (0, 1, 36, 37, 48)] == [0, 320, 1 << 17, 163_840, 1 << 20]
    counts = [0] * STEPS
    assert quantile_ns(counts, 0.5) is None
    counts[36], counts[63] = 99, 1
    assert (quantile_ns(counts, 0.5), quantile_ns(counts, 0.99)) == (step_ns(37), step_ns(37))
    assert quantile_ns(counts, 1.0) == step_ns(63)

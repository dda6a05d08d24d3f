# SPDX-License-Identifier: Apache-2.0
"""Children of the lab: started with a log, remembered in a pid file, ended by exactly that pid."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lab import plan
from lab.netns import LabError

PR_SET_PDEATHSIG = 1
PATIENCE = 6 if os.environ.get("WEIR_IN_VM") else 1
"""Emulated processors are that much slower."""
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Child:
    """A running child and the file that its output goes to."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path


def start(
    name: str,
    command: Sequence[str],
    *,
    prepare: Callable[[], None] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Child:
    """Start a child in a session of its own, as Ctrl-C is for the lab only; its output goes to a log."""
    log = plan.RUN / "log" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        popen = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=plan.ROOT,
            env=None if environment is None else dict(environment),
            start_new_session=True,
            preexec_fn=prepare,
        )
    remember(name, popen.pid)
    return Child(name, popen, log)


def stop(child: Child, *, within_s: float = 5.0) -> None:
    """Ask the child to end, and end it when it has not within the time."""
    end_process(child.popen.pid, within_s=within_s, gone=lambda: child.popen.poll() is not None)
    child.popen.wait()
    _pid_file(child.name).unlink(missing_ok=True)


def last_words(child: Child) -> str:
    lines = child.log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def must_run(child: Child) -> None:
    """Raise LabError with the child's last words when it has ended."""
    code = child.popen.poll()
    if code is not None:
        raise LabError(f"{child.name} ended with status {code}: {last_words(child)}")


def wait_for(
    what: str, ready: Callable[[], bool], children: Sequence[Child] = (), within_s: float = 20.0
) -> None:
    """Poll until `ready`; raises LabError when a child ends or the time is over."""
    within_s *= PATIENCE
    deadline = time.monotonic() + within_s
    while not ready():
        for child in children:
            must_run(child)
        if time.monotonic() > deadline:
            words = f"; {children[0].name} said: {last_words(children[0])}" if children else ""
            raise LabError(f"waited {within_s:.0f} s for {what}, which did not come{words}")
        time.sleep(0.02)


def remember(name: str, pid: int) -> None:
    """Write the pid with its start time, so that a later owner of the same pid is never taken for ours."""
    path = _pid_file(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"pid": pid, "started_ticks": started_ticks(pid)}))


def remembered(name: str) -> int | None:
    """The pid in the file, if that very process is still alive."""
    try:
        record = json.loads(_pid_file(name).read_text())
        pid, ticks = int(record["pid"]), int(record["started_ticks"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return pid if started_ticks(pid) == ticks else None


def end_remembered(except_names: Sequence[str] = ()) -> None:
    """End every process of ours that a pid file names, the newest first."""
    files = sorted((plan.RUN / "pid").glob("*.json"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    for path in files:
        name = path.stem
        if name in except_names:
            continue
        pid = remembered(name)
        if pid is not None:
            end_process(pid, within_s=3.0, gone=partial(_is_gone, name))
        path.unlink(missing_ok=True)


def end_daemons() -> None:
    """End what the agent started and left running, as it would after its own end: bgpd."""
    for path in plan.RUN.glob("daemons/*/pid"):
        pid, ticks = map(int, path.read_text().split())
        if started_ticks(pid) == ticks:
            end_process(pid, within_s=3.0, gone=partial(_has_ended, pid, ticks))


def _has_ended(pid: int, ticks: int) -> bool:
    return started_ticks(pid) != ticks


def _is_gone(name: str) -> bool:
    return remembered(name) is None


def end_process(pid: int, *, within_s: float, gone: Callable[[], bool]) -> None:
    for number, patience_s in ((signal.SIGTERM, within_s), (signal.SIGKILL, 5.0)):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            if gone():
                return
            time.sleep(0.01)


def started_ticks(pid: int) -> int:
    """When the process started, in clock ticks since boot (field 22 of its stat); -1 when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return -1
    fields = stat.rpartition(")")[2].split()
    return -1 if fields[0] == "Z" else int(fields[19])


def die_with_parent() -> None:
    """For `prepare`: the kernel ends this child when the lab's process dies, however it dies."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _pid_file(name: str) -> Path:
    return plan.RUN / "pid" / f"{name}.json"

# SPDX-License-Identifier: Apache-2.0
"""Remove everything that a lab made: processes by their pid files, namespaces and folders by their names.

    python -m lab.sweep --when-stdin-closes

The lab starts this as its sweeper and holds the other end of its standard input. However the lab ends,
by Ctrl-C, by an error or by kill -9, the pipe closes and the sweeper does the cleaning.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time

from lab import plan, process, router, topology
from lab.netns import LabError


class Lock:
    """The right to make or remove a lab: held by the lab and its sweeper, free as soon as both are gone.

    It lies on /run itself, where the names of namespaces and the run folder are: a lab with a /run of its own
    meets no other, and nothing is left of it.
    """

    def __init__(self) -> None:
        """Raises BlockingIOError while another process holds it."""
        self._descriptor = os.open(plan.RUN.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(self._descriptor)
            raise

    def fileno(self) -> int:
        return self._descriptor

    def close(self) -> None:
        """Free it, unless a process that was started with it is still there."""
        os.close(self._descriptor)


def take_lock() -> Lock | None:
    """None while another process holds it."""
    try:
        return Lock()
    except BlockingIOError:
        return None


def wait_for_lock(within_s: float) -> Lock:
    deadline = time.monotonic() + within_s
    while (lock := take_lock()) is None:
        if time.monotonic() > deadline:
            raise LabError(f"another lab is still being removed after {within_s:.0f} s")
        time.sleep(0.05)
    return lock


def sweep() -> None:
    """Remove all traces, if there are any. Continues past a failure and raises LabError at the end."""
    failures = []
    for step in (process.end_remembered, process.end_daemons, topology.remove, router.remove_folders):
        try:
            step()
        except (LabError, OSError) as error:
            failures.append(str(error))
    plan.LAB_JSON.unlink(missing_ok=True)
    if failures:
        raise LabError("could not remove everything: " + "; ".join(failures))


def leftovers() -> bool:
    """Whether something of an earlier lab is still there."""
    return bool(topology.standing()) or plan.RUN.exists()


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    try:
        sweep()
    except LabError as error:
        sys.exit(f"lab: {error}")


if __name__ == "__main__":
    main()

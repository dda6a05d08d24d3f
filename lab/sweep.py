# SPDX-License-Identifier: Apache-2.0
"""Remove everything that a lab made: processes by their pid files, namespaces and folders by their names.

    python -m lab.sweep --when-stdin-closes

The lab starts this as its sweeper and holds the other end of its standard input. However the lab ends,
by Ctrl-C, by an error or by kill -9, the pipe closes and the sweeper does the cleaning.
"""

from __future__ import annotations

import signal
import socket
import sys
import time

from lab import plan, process, router, topology
from lab.netns import LabError

LOCK_NAME = "\0weir-lab"
"""A Unix socket name without a file: held by the lab and its sweeper, free as soon as both are gone."""


def take_lock() -> socket.socket | None:
    """The right to make or remove a lab on this machine; None while another process holds it."""
    lock = socket.socket(socket.AF_UNIX)
    try:
        lock.bind(LOCK_NAME)
    except OSError:
        lock.close()
        return None
    return lock


def wait_for_lock(within_s: float) -> socket.socket:
    deadline = time.monotonic() + within_s
    while (lock := take_lock()) is None:
        if time.monotonic() > deadline:
            raise LabError(f"another lab is still being removed after {within_s:.0f} s")
        time.sleep(0.05)
    return lock


def sweep() -> None:
    """Remove all traces, if there are any. Continues past a failure and raises LabError at the end."""
    failures = []
    for step in (process.end_remembered, topology.remove, router.remove_folders):
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

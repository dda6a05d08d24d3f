# SPDX-License-Identifier: Apache-2.0
"""Network namespaces by name: make, remove, enter, run in."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

CLONE_NEWNET = 0x40000000
NETNS_FOLDER = Path("/run/netns")
_libc = ctypes.CDLL(None, use_errno=True)


class LabError(Exception):
    """Why the lab cannot do something, as one sentence for the person who started it."""


def run(
    command: Sequence[str], *, stdin: str | None = None, environment: Mapping[str, str] | None = None
) -> str:
    """Run a command and return what it printed; raises LabError with its own words when it fails."""
    try:
        done = subprocess.run(
            command, input=stdin, env=environment, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        raise LabError(f"the command {command[0]} is missing; `make deps` installs it") from error
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise LabError(f"`{' '.join(command)}` failed: {words[-1] if words else 'it said nothing'}")
    return done.stdout


def ip(namespace: str, batch: Sequence[str]) -> None:
    """Carry out `ip` commands in a namespace, in one process."""
    run(["ip", "-n", namespace, "-batch", "-"], stdin="\n".join(batch) + "\n")


def exists(namespace: str) -> bool:
    return (NETNS_FOLDER / namespace).exists()


def create(namespace: str) -> None:
    run(["ip", "netns", "add", namespace])


def remove(namespace: str) -> None:
    if exists(namespace):
        run(["ip", "netns", "del", namespace])


def enter(namespace: str) -> None:
    """Move the calling thread into the namespace; for a child before it execs, and for measuring."""
    descriptor = os.open(NETNS_FOLDER / namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _setns(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Sockets opened in this block belong to the namespace, also after it. One thread only."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        enter(namespace)
        yield
    finally:
        _setns(home)
        os.close(home)


def entering(namespace: str) -> Callable[[], None]:
    """For `subprocess.Popen(preexec_fn=...)`: the child starts in the namespace, mounts untouched."""
    return lambda: enter(namespace)


def sysctl(namespace: str, settings: dict[str, str]) -> None:
    """Write settings under /proc/sys/net as the namespace sees them (names with slashes)."""
    with inside(namespace):
        for name, value in settings.items():
            Path("/proc/sys/net", name).write_text(value)


def _setns(descriptor: int) -> None:
    if _libc.setns(descriptor, CLONE_NEWNET) != 0:
        error = ctypes.get_errno()
        raise LabError(f"this process may not enter a network namespace: {os.strerror(error)}")

# SPDX-License-Identifier: Apache-2.0
"""Who is at the command line by SSH: the processes that sshd started for keys (`MODULE KEY CONNECTION`)."""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

MODULE = "weir.cli.ssh"
"""What a session runs; sshd gives it the key's id and its own `SSH_CONNECTION`."""


@dataclass(frozen=True, slots=True)
class Session:
    """`address` is the far end's; `since_s` is wall-clock time."""

    process: int
    key: str
    address: str
    since_s: float


def sessions(user: str) -> Iterator[Session]:
    """Those of this user. What another user calls itself so is none."""
    try:
        uid = pwd.getpwnam(user).pw_uid
    except KeyError:
        return
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (found := _session(folder, uid)) is not None:
            yield found


def _session(folder: Path, uid: int) -> Session | None:
    """None: another process, or one that has just ended."""
    try:
        words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        at = words.index(MODULE) if MODULE in words[:8] else 0
        if not at or len(words) < at + 3:
            return None
        status = (folder / "status").read_text(encoding="utf-8", errors="replace")
        (owner,) = (line.split()[1] for line in status.splitlines() if line.startswith("Uid:"))
        ticks = int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[19])
    except (OSError, ValueError):
        return None
    if int(owner) != uid:
        return None
    running_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    address = words[at + 2].split(" ")[0]
    return Session(int(folder.name), words[at + 1], address, time.time() - running_s)


def end(user: str, keys: Collection[str] | None = None) -> int:
    """End the sessions of these keys (None: all), and say how many there were. Each ends its token first."""
    ended = 0
    for each in sessions(user):
        if keys is None or each.key in keys:
            with contextlib.suppress(ProcessLookupError):
                handle = os.pidfd_open(each.process)
                try:
                    if _session(Path(f"/proc/{each.process}"), pwd.getpwnam(user).pw_uid) is not None:
                        signal.pidfd_send_signal(handle, signal.SIGTERM)
                        ended += 1
                finally:
                    os.close(handle)
    return ended

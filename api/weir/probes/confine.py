# SPDX-License-Identifier: Apache-2.0
"""A process that gives up what it does not need, for good.

It becomes the user nobody without groups and capabilities, cannot get any again, has bounds on memory, time,
files and processes, and dies with the thread that started it (prctl(2), PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

NOBODY = 65_534
NICENESS = 10
OOM, FIRST_TO_GO = Path("/proc/self/oom_score_adj"), "900"
"""The agent is spared when memory runs out, and its children would be too (proc(5))."""
_PR_SET_PDEATHSIG, _PR_SET_KEEPCAPS, _PR_SET_NO_NEW_PRIVS = 1, 8, 38
_CAPABILITY_VERSION_3 = 0x20080522
CAP_NET_BIND_SERVICE, CAP_NET_ADMIN, CAP_NET_RAW = 10, 12, 13
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What it may take. `processes` and threads are counted together with all others of the user nobody;
    `cores`: on so many it may spend all its time at once."""

    memory_bytes: int = 256 << 20
    file_bytes: int = 0
    processes: int = 0
    cores: int = 1


OF_A_PROBE = Bounds()


class _Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _Data(ctypes.Structure):
    _fields_ = [
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    ]


def confine(parent: int, seconds: float, keeps: int | None = None, bounds: Bounds = OF_A_PROBE) -> None:
    """Give up all rights but the capability that it `keeps`; `parent` is the process to die with, and
    `seconds` the time on a processor after which it is killed. Raises `OSError`."""
    os.nice(NICENESS)
    OOM.write_text(FIRST_TO_GO, encoding="ascii")
    become(NOBODY, NOBODY, () if keeps is None else (keeps,))
    die_with(parent)  # after the change of user, which clears it
    processor_s = (int(seconds) + 1) * bounds.cores
    for what, most in (
        (resource.RLIMIT_CPU, processor_s),
        (resource.RLIMIT_AS, bounds.memory_bytes),
        (resource.RLIMIT_FSIZE, bounds.file_bytes),
        (resource.RLIMIT_NPROC, bounds.processes),
        (resource.RLIMIT_NOFILE, 32),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def become(user: int, group: int, keeps: Collection[int] = ()) -> None:
    """Another user than root, without groups and rights but the capabilities that it `keeps`, and without a
    way to any others. Raises `OSError`."""
    if keeps:
        _prctl(_PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)
    _hold_only(keeps)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def die_with(parent: int) -> None:
    """Be killed when the process that started this one ends. Raises `OSError`."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise ProcessLookupError("the agent has ended")


def _hold_only(capabilities: Collection[int]) -> None:
    bits = sum(1 << capability for capability in capabilities)
    header = _Header(_CAPABILITY_VERSION_3, 0)
    data = (_Data * 2)(_Data(bits, bits, 0), _Data(0, 0, 0))
    if _LIBC.capset(ctypes.byref(header), ctypes.byref(data)) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")

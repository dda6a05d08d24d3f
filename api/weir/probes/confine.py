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
from dataclasses import dataclass
from pathlib import Path

NOBODY = 65_534
NICENESS = 10
OOM, FIRST_TO_GO = Path("/proc/self/oom_score_adj"), "900"
"""The agent is spared when memory runs out, and its children would be too (proc(5))."""
_PR_SET_PDEATHSIG, _PR_SET_KEEPCAPS, _PR_SET_NO_NEW_PRIVS = 1, 8, 38
_CAPABILITY_VERSION_3 = 0x20080522
CAP_NET_ADMIN = 12
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
    if keeps is not None:
        _prctl(_PR_SET_KEEPCAPS, 1)
    os.nice(NICENESS)
    OOM.write_text(FIRST_TO_GO, encoding="ascii")
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    _hold_only(keeps)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
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


def die_with(parent: int) -> None:
    """Be killed when the process that started this one ends. Raises `OSError`."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise ProcessLookupError("the agent has ended")


def _hold_only(capability: int | None) -> None:
    bits = 0 if capability is None else 1 << capability
    header = _Header(_CAPABILITY_VERSION_3, 0)
    data = (_Data * 2)(_Data(bits, bits, 0), _Data(0, 0, 0))
    if _LIBC.capset(ctypes.byref(header), ctypes.byref(data)) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")

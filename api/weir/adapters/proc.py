# SPDX-License-Identifier: Apache-2.0
"""Settings and figures of the kernel under /proc."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from weir.host import host_name
from weir.model.problem import ApplyFailed, Unsupported

_PROC = Path("/proc")
_CPU_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def read_sysctl(name: str) -> str | None:
    """`net/ipv4/ip_forward` -> "1"; None when this kernel has no such setting."""
    try:
        return (_PROC / "sys" / name).read_text(encoding="ascii").strip()
    except OSError:
        return None


def write_sysctl(name: str, value: str) -> None:
    """Raises `Unsupported` when there is no such setting, `ApplyFailed` when it cannot be written."""
    try:
        (_PROC / "sys" / name).write_text(value, encoding="ascii")
    except FileNotFoundError as error:
        raise Unsupported(f"this kernel has no setting {name}", code="no-such-setting") from error
    except OSError as error:
        raise ApplyFailed(f"{name} = {value}: {error.strerror}", code="sysctl") from error


def system_figures() -> dict[str, Any]:
    """CPU time per core in jiffies since boot, memory in bytes, load, uptime in seconds."""
    memory = _memory_bytes()
    uptime_s = float((_PROC / "uptime").read_text(encoding="ascii").split()[0])
    return {
        "cpus": _cpus(),
        "jiffies_per_s": os.sysconf("SC_CLK_TCK"),
        "memory": {
            "total_bytes": memory.get("MemTotal", 0),
            "available_bytes": memory.get("MemAvailable", 0),
        },
        "load": list(os.getloadavg()),
        "uptime_s": uptime_s,
        "kernel": platform.release(),
        "hostname": host_name(),
    }


def resident_bytes() -> int:
    """Resident memory of this process."""
    pages = int((_PROC / "self" / "statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _cpus() -> list[dict[str, int]]:
    rows = (line.split() for line in (_PROC / "stat").read_text(encoding="ascii").splitlines())
    return [
        dict(zip(_CPU_FIELDS, map(int, row[1:]), strict=False))
        for row in rows
        if row and row[0].startswith("cpu") and row[0] != "cpu"
    ]


def _memory_bytes() -> dict[str, int]:
    rows = (line.split() for line in (_PROC / "meminfo").read_text(encoding="ascii").splitlines())
    return {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows if len(row) >= 2}

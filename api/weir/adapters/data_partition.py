# SPDX-License-Identifier: Apache-2.0
"""The data partition: what the start found (board/overlay/usr/libexec/weir/data), and what room is left."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from weir.adapters.process import run

FOLDER = Path("/data")
LOW_BYTES = 16 << 20
"""Less than this is as good as full: a change may need as much for its journal."""
NOT_KEPT = ("damaged", "missing")
FAILED = "weir-data.service failed, so what is changed may not be kept over a restart"
UNIT_TIMEOUT_S = 120.0


def state(file: Path | None, folder: Path = FOLDER) -> dict[str, Any] | None:
    """`state`, `message` and `free_bytes`; None without a file: no data partition, by design.

    The start is over when this is asked. A file that is not there was not written, because the start failed.
    """
    if file is None:
        return None
    try:
        word, _, message = file.read_text(encoding="utf-8").partition("\n")
        found = os.statvfs(folder)
    except OSError:
        return {"state": "failed", "message": FAILED, "free_bytes": 0}
    free_bytes = found.f_bavail * found.f_frsize
    if word not in NOT_KEPT and free_bytes < LOW_BYTES:
        word = "full"
        message = f"the data partition is full: {free_bytes >> 20} MiB are left for changes; free some room"
    return {"state": word, "message": message.strip(), "free_bytes": free_bytes}


def request_reset(mode: Literal["keep", "wipe"]) -> None:
    """Let the next start make the data partition as it left the factory. Raises `ApplyFailed`.

    By a unit of its own: the agent sees no disks, and a partition that is damaged is recreated at once.
    """
    run(["systemctl", "start", f"weir-reset@{mode}.service"], timeout_s=UNIT_TIMEOUT_S)

# SPDX-License-Identifier: Apache-2.0
"""A second look at the agent's copy of what ran last."""

from __future__ import annotations

from pathlib import Path

from weir.agent.last_good import LastGood


def kept_in(folder: Path) -> int:
    """The revision that the copy in this folder is of; -1: of none."""
    copy = LastGood(folder / "last-good.db")
    try:
        return -1 if copy.mark is None else copy.mark.revision
    finally:
        copy.close()

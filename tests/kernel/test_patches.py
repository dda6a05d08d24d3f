# SPDX-License-Identifier: Apache-2.0
"""What the kernel's own checker says of our patches."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATCHES = sorted((ROOT / "board/kernel/patches").glob("*.patch"))
CHECKER = ROOT / "build/kernel/src/scripts/checkpatch.pl"


@pytest.mark.skipif(not CHECKER.exists(), reason="the kernel's source is not here; `make kernel` fetches it")
@pytest.mark.parametrize("patch", PATCHES, ids=[path.name for path in PATCHES])
def test_checkpatch_finds_nothing(patch: Path) -> None:
    """Without a git tree it cannot look up the commits that a patch cites, nor that the kernel itself has a
    `struct Qdisc`."""
    command = [
        "perl",
        str(CHECKER),
        "--strict",
        "--no-tree",
        "--ignore",
        "UNKNOWN_COMMIT_ID,CAMELCASE",
        str(patch),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "0 errors, 0 warnings, 0 checks" in done.stdout

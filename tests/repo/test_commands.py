# SPDX-License-Identifier: Apache-2.0
"""The commands that people and CI start."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_make_help_lists_every_target_that_is_meant_to_be_called() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (help .*)$", makefile, re.MULTILINE)
    assert phony is not None
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    missing = [name for name in phony.group(1).split() if f"make {name} " not in shown]
    assert missing == []


def test_ci_is_an_executable_script_that_calls_make_test() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().startswith("#!/bin/bash\n")
    assert "make test" in script.read_text()


def test_lock_files_pin_and_hash_every_package() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        lines = (ROOT / "api" / name).read_text().splitlines()
        pins = [line for line in lines if line and not line.startswith((" ", "#"))]
        assert pins
        assert [line for line in pins if not re.match(r"^[A-Za-z0-9._-]+==\S+ \\$", line)] == []
        assert sum("--hash=sha256:" in line for line in lines) >= len(pins)


def test_the_lock_of_the_image_is_part_of_the_lock_of_the_developers() -> None:
    """Otherwise the API would be tested with other versions than the image carries."""
    image, developers = (
        {line.split(" ")[0] for line in (ROOT / "api" / name).read_text().splitlines() if "==" in line}
        for name in ("requirements.lock", "requirements-dev.lock")
    )
    assert image <= developers

# SPDX-License-Identifier: Apache-2.0
"""Which drivers of watchdogs the image tries, and that the kernel has them (libexec/weir/watchdog)."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "board/overlay/usr/libexec/weir/watchdog"
DRIVERS = ["it87_wdt", "w83627hf_wdt", "f71808e_wdt"]


def tried(folder: Path, chip: str) -> list[str]:
    """What the script loads on a machine whose watchdog is found by that driver alone."""
    watchdogs, said, stub = folder / "class", folder / "said", folder / "modprobe"
    watchdogs.mkdir(exist_ok=True)
    found = f'[ "$1" = "{chip}" ] && mkdir {watchdogs}/watchdog0'
    stub.write_text(f'#!/bin/sh\necho "$1" >>{said}\n{found}\n')
    stub.chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    subprocess.run([SCRIPT], env={"PATH": path, "WEIR_WATCHDOGS": str(watchdogs)}, check=True)
    return said.read_text().split() if said.exists() else []


@pytest.mark.parametrize("chip", DRIVERS)
def test_drivers_are_tried_until_one_finds_its_chip(tmp_path: Path, chip: str) -> None:
    assert tried(tmp_path, chip) == DRIVERS[: DRIVERS.index(chip) + 1]


def test_a_machine_without_a_watchdog_starts_all_the_same(tmp_path: Path) -> None:
    assert tried(tmp_path, "none") == DRIVERS


def test_nothing_is_tried_where_a_watchdog_was_found_before(tmp_path: Path) -> None:
    (tmp_path / "class/watchdog0").mkdir(parents=True)
    assert tried(tmp_path, "none") == []


def test_the_kernel_of_the_image_has_these_drivers() -> None:
    hardware = (ROOT / "board/kernel/fragments/70-hardware.config").read_text(encoding="utf-8")
    modules = re.findall(r"^CONFIG_(\w+)=m$", hardware, re.MULTILINE)
    assert {name.upper() for name in DRIVERS} <= set(modules)

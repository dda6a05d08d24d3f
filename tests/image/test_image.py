# SPDX-License-Identifier: Apache-2.0
"""The image's files against each other; `make image-check` loads them into Buildroot as well."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
IMAGE = ROOT / "board" / "image"

_loader = SourceFileLoader("weir_image_check", str(IMAGE / "check.py"))
_spec = spec_from_loader(_loader.name, _loader)
assert _spec is not None
check = module_from_spec(_spec)
_loader.exec_module(check)


def test_defconfigs_name_files_that_exist() -> None:
    assert check.check_paths() == []


def test_defconfigs_differ_only_where_the_machines_do() -> None:
    assert check.check_variants() == []


def test_the_image_takes_every_fragment_of_the_kernel() -> None:
    assert check.check_fragments() == []


def test_grub_rauc_and_the_disk_agree_on_slots() -> None:
    rauc = (ROOT / "board/overlay/etc/rauc/system.conf").read_text(encoding="utf-8")
    disk = (IMAGE / "genimage.cfg").read_text(encoding="utf-8")
    grub = (IMAGE / "grub.cfg").read_text(encoding="utf-8")
    partitions = re.findall(r"^\tpartition (\S+)", disk, re.MULTILINE)
    in_table = [name for name in partitions if name != "mbr"]
    for slot in "AB":
        assert f"device=/dev/disk/by-partlabel/system-{slot}" in rauc
        assert f"bootname={slot}" in rauc
        assert f"device=/dev/disk/by-partlabel/kernel-{slot}" in rauc
        number = in_table.index(f"kernel-{slot}") + 1
        assert f"partition=gpt{number}" in grub
    manifest = (IMAGE / "manifest.raucm.in").read_text(encoding="utf-8")
    assert re.findall(r"^compatible=(.*)$", rauc + manifest, re.MULTILINE) == ["weir-x86_64"] * 2


def test_grub_understands_its_files() -> None:
    checker = shutil.which("grub-script-check")
    if checker is None:
        pytest.skip("grub-script-check is missing (Debian: grub-common)")
    for name in ("grub.cfg", "grub-start.cfg"):
        done = subprocess.run([checker, str(IMAGE / name)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_tuning_gives_a_reason_and_evidence_for_each_setting() -> None:
    document = tomllib.loads((ROOT / "board/tuning.toml").read_text(encoding="utf-8"))
    assert document["version"] == 1
    settings = document["setting"]
    assert len({item["id"] for item in settings}) == len(settings)
    for item in settings:
        assert set(item) <= {"id", "scope", "match", "key", "value", "reason", "evidence", "measured"}
        assert item["scope"] in ("sysctl", "cmdline", "interface", "service")
        assert item["evidence"] in ("E1", "E2", "E3", "E4", "E5")
        assert item["measured"] in ("figure", "function", "no")
        assert isinstance(item["value"], str) and len(item["reason"]) > 10
        assert ("match" in item) == (item["scope"] in ("interface", "service")), item["id"]

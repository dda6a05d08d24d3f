# SPDX-License-Identifier: Apache-2.0
"""What lies beside an image: licences, parts list, checksums; the real script, on words of Buildroot."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAME = "weir-qemu-0.1.0"
# `make -C OUTPUT show-info` and `make -C OUTPUT legal-info`
MAKE = """#!/bin/sh
case "$*" in
*show-info) echo '{"components": [], "dependencies": [{"ref": "weir-webui", "dependsOn": ["skeleton"]}]}' ;;
*legal-info) [ ! -e "$2/lost" ] || exit 1
	mkdir -p "$2/legal-info/licenses" "$2/legal-info/sources"
	echo BSD >"$2/legal-info/licenses/nginx"; echo code >"$2/legal-info/sources/nginx.tar" ;;
esac
"""
CYCLONEDX = '#!/bin/sh\nfor last; do :; done\ncat >"$last"\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with the script, an update bundle, and programs in Buildroot's place."""
    (tmp_path / "board/image").mkdir(parents=True)
    for script in ("papers.sh", "web_parts.py"):
        shutil.copy(ROOT / "board/image" / script, tmp_path / "board/image")
    (tmp_path / "webui").mkdir()
    shutil.copy(ROOT / "webui/package-lock.json", tmp_path / "webui")
    for program, text in (("bin/make", MAKE), ("buildroot/utils/generate-cyclonedx", CYCLONEDX)):
        path = tmp_path / program
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o755)
    (tmp_path / "output").mkdir()
    images = tmp_path / "build/images"
    images.mkdir(parents=True)
    (images / "weir-0.1.0.raucb").write_bytes(b"bundle")
    (images / f"{NAME}.qcow2").write_bytes(b"disk")
    return tmp_path


def papers(root: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [root / "board/image/papers.sh", root / "buildroot", root / "output", "qemu"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": f"{root / 'bin'}:{os.environ['PATH']}", **environment},
    )


def summed(images: Path) -> set[str]:
    """The files that the checksums name; all of them have to be right."""
    done = subprocess.run(
        ["sha256sum", "--strict", "-c", f"{NAME}.sha256"], cwd=images, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {line.partition(":")[0] for line in done.stdout.splitlines()}


def test_two_runs_leave_the_same_bytes_and_sums_of_all_but_themselves(root: Path) -> None:
    images = root / "build/images"
    assert papers(root).returncode == 0
    first = {path.name: path.read_bytes() for path in images.iterdir()}
    assert papers(root).returncode == 0
    assert {path.name: path.read_bytes() for path in images.iterdir()} == first
    parts = {f"{NAME}{suffix}" for suffix in (".qcow2", ".cdx.json", ".licences.tar.xz")}
    assert summed(images) == {*parts, "weir-0.1.0.raucb"}
    listed = subprocess.run(
        ["tar", "-tJf", images / f"{NAME}.licences.tar.xz"], capture_output=True, text=True, check=True
    )
    assert "./licenses/nginx" in listed.stdout.splitlines()
    assert "nginx.tar" not in listed.stdout


def test_the_parts_name_what_npm_brought_into_the_interface_and_not_what_only_tests_it(root: Path) -> None:
    assert papers(root).returncode == 0
    document = json.loads((root / f"build/images/{NAME}.cdx.json").read_text(encoding="utf-8"))
    parts = {part["name"]: part for part in document["components"]}
    assert parts["react"]["licenses"] == [{"expression": "MIT"}]
    assert parts["@mantine/core"]["purl"].startswith("pkg:npm/%40mantine/core@")
    assert not {"typescript", "msw"} & set(parts)
    references = {item["ref"]: item["dependsOn"] for item in document["dependencies"]}
    assert set(references["weir-webui"]) == {"skeleton", *(part["bom-ref"] for part in parts.values())}


def test_licences_that_cannot_be_collected_are_said_or_left_out_on_request(root: Path) -> None:
    (root / "output/lost").touch()
    refused = papers(root)
    assert refused.returncode == 1
    assert "the licences could not be collected" in refused.stderr
    assert papers(root, LICENCES="no").returncode == 0
    assert summed(root / "build/images") == {f"{NAME}.qcow2", f"{NAME}.cdx.json", "weir-0.1.0.raucb"}

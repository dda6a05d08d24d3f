# SPDX-License-Identifier: Apache-2.0
"""Rules of this repository that no linter knows."""

from __future__ import annotations

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SOURCE_SUFFIXES = {
    ".py", ".c", ".h", ".sh", ".ts", ".tsx", ".js", ".mjs", ".css", ".html", ".sql", ".toml", ".ini",
    ".in", ".lock", ".mk", ".yml", ".yaml", ".service", ".its",
}  # fmt: skip
SOURCE_NAMES = {"Makefile", "Config.in", "run", "init", ".gitignore", ".importlinter"}
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
VAGUE_NAMES = {"utils", "util", "common", "helpers", "helper", "misc", "lib"}


@cache
def tracked_files() -> tuple[Path, ...]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    return tuple(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())


def sources() -> list[Path]:
    return [path for path in tracked_files() if path.suffix in SOURCE_SUFFIXES or path.name in SOURCE_NAMES]


def has_a_prescribed_top(path: Path) -> bool:
    """Buildroot's checker wants its own banner first; RAUC's manifest has no comments after substitution."""
    return path.is_relative_to(ROOT / "package") or path.name == "manifest.raucm.in"


def text_files() -> list[Path]:
    return [path for path in tracked_files() if b"\0" not in path.read_bytes()[:4096]]


def python_files() -> list[Path]:
    return [path for path in tracked_files() if path.suffix == ".py"]


def is_generated(path: Path) -> bool:
    """Files that a tool writes say so at their top; nobody reads them for their length."""
    start = path.read_text(errors="replace")[:400].lower()
    return any(words in start for words in ("generated", "auto-generated", "made by"))


def relative(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def test_every_source_file_names_its_licence_at_its_top() -> None:
    missing = [
        path
        for path in sources()
        if not has_a_prescribed_top(path)
        and path.read_text(errors="replace").strip()
        and "SPDX-License-Identifier:" not in "".join(path.read_text(errors="replace").splitlines()[:3])
    ]
    assert relative(missing) == []


def test_kernel_programs_are_gpl_and_the_rest_is_apache() -> None:
    wrong = []
    for path in sources():
        start = "".join(path.read_text(errors="replace").splitlines()[:3])
        if path.suffix == ".py" and "SPDX" in start and "Apache-2.0" not in start:
            wrong.append(path)
        if path.name.endswith(".bpf.c") and "GPL-2.0" not in start:
            wrong.append(path)
    assert relative(wrong) == []


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {count}"
        for path in sources()
        if path.suffix not in {".lock", ".sql"} and not is_generated(path)
        if (count := len(path.read_text(errors="replace").splitlines())) > MAX_FILE_LINES
    ]
    assert long == []


def test_no_python_function_is_longer_than_a_screen_and_a_half() -> None:
    long = []
    for path in python_files():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MAX_FUNCTION_LINES:
                    long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {lines}")
    assert long == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert relative([path for path in sources() if path.stem in VAGUE_NAMES]) == []


def test_each_decision_record_has_a_number_of_its_own_and_says_it() -> None:
    records = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))
    numbers = [int(path.name[:4]) for path in records]
    assert len(set(numbers)) == len(records) > 0
    told = [re.search(r"^# (\d+)\. ", path.read_text(), re.MULTILINE) for path in records]
    assert [int(match[1]) if match else None for match in told] == numbers


@pytest.mark.parametrize("pattern", ["bare except", "sleep in a test"])
def test_python_avoids(pattern: str) -> None:
    found = []
    for path in python_files():
        for node in ast.walk(ast.parse(path.read_text())):
            bare = isinstance(node, ast.ExceptHandler) and node.type is None
            if pattern == "bare except" and bare:
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
            if pattern == "sleep in a test" and path.name.startswith("test_") and _is_long_sleep(node):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert found == []


def _is_long_sleep(node: ast.AST) -> bool:
    """A fixed sleep of 0.1 s or more; shorter ones are the pause of a polling loop with a deadline."""
    if not (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sleep"
    ):
        return False
    return bool(node.args) and isinstance(node.args[0], ast.Constant) and node.args[0].value > 0.1


def test_no_file_names_a_package_registry_or_a_machine_of_the_developers() -> None:
    """Mirrors come from each machine's own settings, so that a clone builds behind any of them."""
    names = [
        ".".join(parts)
        for parts in (
            ("pypi", "org"), ("pythonhosted", "org"), ("registry", "npmjs", "org"), ("npmjs", "com"),
            ("deb", "debian", "org"), ("crates", "io"), ("proxy", "golang", "org"), ("repo1", "maven"),
            ("deb", "nodesource", "com"),
        )
    ]  # fmt: skip
    names += ["/" + "work" + "/", "/root/" + ".pyenv"]
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in text_files()
        for name in names
        if name in path.read_text(errors="replace")
    ]
    assert found == []


def test_shell_scripts_stop_at_the_first_failure() -> None:
    lenient = {"guest.sh"}  # process 1 of the virtual machine has to report the failure
    missing = [
        path
        for path in tracked_files()
        if path.suffix == ".sh" and path.name not in lenient and "set -e" not in path.read_text()
    ]
    assert relative(missing) == []

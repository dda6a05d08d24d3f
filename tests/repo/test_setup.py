# SPDX-License-Identifier: Apache-2.0
"""A step of the set-up is repeated when, and only when, what it was made from has changed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
READ = ("Makefile", "lab/setup/made_from.sh", "lab/setup/packages.txt", "api/pyproject.toml")
LOCKS = ("api/requirements-dev.lock", "webui/package-lock.json")


class Tree:
    """A clone whose set-up only notes that it ran."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in (*READ, *LOCKS):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
        self.program("lab/setup/debian.sh", "echo debian >>ran")
        self.program("lab/setup/venv.sh", "echo venv >>ran")
        self.program("build/venv/bin/npm", "echo npm >>../ran")
        self.node("v24.1.0")

    def program(self, name: str, line: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)

    def node(self, version: str) -> None:
        self.program("build/venv/bin/node", f"echo {version}")

    def steps(self) -> list[str]:
        """What `make deps` did."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
        subprocess.run(["make", "--silent", "deps"], cwd=self.root, env=environment, check=True)
        ran = self.root / "ran"
        done = ran.read_text().split() if ran.exists() else []
        ran.unlink(missing_ok=True)
        return done


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path / "clone")
    assert made.steps() == ["debian", "venv", "npm"]
    assert made.steps() == []
    return made


def test_another_node_installs_the_npm_packages_again(tree: Tree) -> None:
    """Vite's native part was missing for ever after Node.js had been upgraded."""
    tree.node("v24.2.0")
    assert tree.steps() == ["npm"]


@pytest.mark.parametrize(("lock", "step"), list(zip(LOCKS, ("venv", "npm"), strict=True)))
def test_another_lock_file_installs_what_it_lists_again(tree: Tree, lock: str, step: str) -> None:
    path = tree.root / lock
    path.touch()
    assert tree.steps() == []
    times = path.stat()
    path.write_text(f"{path.read_text()}\n")
    os.utime(path, (times.st_atime, times.st_mtime - 1000))  # as a checkout of an older version may have
    assert step in tree.steps()


def test_a_clone_under_another_name_makes_its_environment_again(tree: Tree) -> None:
    tree.root = tree.root.rename(tree.root.with_name("moved"))
    assert "venv" in tree.steps()


BUSY = "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4242 (apt-get)"


@pytest.mark.parametrize(
    ("busy_times", "words", "code"), [(2, BUSY, 0), (9, "E: Unable to locate package x", 1)]
)
def test_an_apt_that_another_one_keeps_waiting_tries_again(
    tmp_path: Path, busy_times: int, words: str, code: int
) -> None:
    """A freshly started Debian updates itself for some minutes, and held the lock against `make run`."""
    tries = tmp_path / "tries"
    apt_get = tmp_path / "apt-get"
    apt_get.write_text(
        f"#!/bin/bash\necho try >>{tries}\n"
        f'[ "$(wc -l <{tries})" -gt {busy_times} ] || {{ echo "{words}"; exit 100; }}\n'
    )
    apt_get.chmod(0o755)
    ran = subprocess.run(
        ["bash", "-c", f". {ROOT}/lab/setup/apt.sh && apt_get {tmp_path}/log install -y x"],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == code
    assert len(tries.read_text().split()) == (busy_times + 1 if code == 0 else 1)
    assert ran.stderr.count("waiting for another apt") == (1 if code == 0 else 0)


def test_packages_are_installed_in_a_clone_that_has_no_build_folder_yet(tmp_path: Path) -> None:
    """Without a compiler tests/datapath/test_rewrite.py cannot run: its log could not be written, and
    nothing was installed."""
    clone, programs = tmp_path / "clone", tmp_path / "programs"
    shutil.copytree(ROOT / "lab" / "setup", clone / "lab" / "setup")
    wanted = tmp_path / "packages.txt"
    wanted.write_text(f"{tmp_path}/nowhere/cc\tgcc\n")
    programs.mkdir()
    for name, line in (("apt-get", f'echo "$@" >>{tmp_path}/asked'), ("id", "echo 0")):
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    path, policy = f"{programs}:{os.environ['PATH']}", str(tmp_path / "policy-rc.d")
    environment = {**os.environ, "PATH": path, "POLICY_RC_D": policy}
    subprocess.run([clone / "lab" / "setup" / "debian.sh", wanted], env=environment, check=True)
    assert (tmp_path / "asked").read_text().splitlines()[-1].endswith(" gcc")
    assert (clone / "build" / "debian-packages.log").exists()


@pytest.mark.parametrize("name", ["my router", "a:b", "a,b"])
def test_a_folder_that_tools_cannot_name_is_refused_before_anything_is_installed(
    tmp_path: Path, name: str
) -> None:
    """It failed in the datapath's Makefile, when all packages were installed."""
    folder = tmp_path / name
    folder.mkdir()
    shutil.copy(ROOT / "Makefile", folder)
    found = subprocess.run(["make", "deps"], cwd=folder, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert f'"{folder}"' in found.stderr and "clone Weir into one without" in found.stderr
    assert [path.name for path in folder.iterdir()] == ["Makefile"]

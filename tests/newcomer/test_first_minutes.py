# SPDX-License-Identifier: Apache-2.0
"""The README's first command on a bare Debian of each release: from a folder below /root to a sign-in.

What is committed is tried, on Debian 13 BGP and OSPF as well, with FRR 10. Each release's words are in
build/newcomer/<release>.log.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab.measure import poll
from tests.newcomer import apart, inside

RELEASES = {"bookworm": "Debian 12, FRR 8.4, Python 3.11", "trixie": "Debian 13, FRR 10.3, Python 3.13"}
LINES_TOLD = 300
"""Of a newcomer that failed, each marked: a test that failed in there is none of those out here."""
COMMANDS = (
    ["ip", "-brief", "link"],
    ["ip", "-brief", "address"],
    ["ip", "route", "show", "table", "all"],
    ["ip", "rule"],
    ["nft", "list", "ruleset"],
)
HOLDER = """
import subprocess, sys
from tests.newcomer import apart
held = 'mount -t tmpfs held "$1" && touch "$1/there" && sleep 600; :'
apart.start(["sh", "-c", held, "held", sys.argv[1]], subprocess.DEVNULL).wait()
"""


def host_state() -> list[str]:
    """Interfaces, routes, rules and firewall of this machine, whose network the trees share."""
    return [
        subprocess.run(command, capture_output=True, text=True, check=False).stdout for command in COMMANDS
    ]


@pytest.mark.parametrize("release", RELEASES)
def test_make_run_answers_on_a_bare_debian_and_leaves_nothing(
    release: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = host_state()
    inside.FOLDER.mkdir(parents=True, exist_ok=True)
    log = inside.FOLDER / f"{release}.log"
    with log.open("wb") as output:
        newcomer = apart.start([sys.executable, "-m", "tests.newcomer.inside", release], output)
        try:
            code = newcomer.wait()
        finally:
            newcomer.kill()
    words = log.read_text(errors="replace").splitlines()
    print("\n".join(f"| {line}" for line in words[-LINES_TOLD:]))
    assert code == 0, f"{RELEASES[release]}: {words[-1] if words else 'nothing was said'}"
    with capsys.disabled():
        for line in filter(re.compile(inside.UNSTEADY).match, words):
            print(f"\n{line}")
    assert not list((inside.FOLDER / release).iterdir())
    assert host_state() == before


def test_a_newcomer_whose_starter_is_killed_leaves_no_process_and_no_mount(tmp_path: Path) -> None:
    starter = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], cwd=Path.cwd())
    assert poll(lambda: bool(holding(tmp_path)), 20)
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    assert poll(lambda: not holding(tmp_path), 20)
    assert not list(tmp_path.iterdir())


def holding(folder: Path) -> list[str]:
    """Shells that name the folder. The `unshare` around one may be there before the shell is bound to it."""
    return [
        path.parent.name
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if (words := read(path).split("\0"))[:1] == ["sh"] and str(folder) in words
    ]


def read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""

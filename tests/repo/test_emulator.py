# SPDX-License-Identifier: Apache-2.0
"""lab/vm/run starts a guest that broke down again, and never repeats a command. QEMU is a script here."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
QEMU = """#!{python}
import os, re, sys, time
if "--version" in sys.argv:
    print("QEMU emulator version 10.0.0"), sys.exit()
words = " ".join(sys.argv)
with open({counter!r}, "a+") as counter:
    counter.write("x"), counter.flush(), counter.seek(0)
    life = len(counter.read())
open({counter!r} + ".line", "w").write(words)
def tell(name, what):
    path = re.search(r"id=" + name + r",path=(\\S+?),", words)[1]
    os.write(int(path.rpartition("/")[2]), what.encode())
def console(what):
    open(re.search(r"file:(\\S+console.log)", words)[1], "w").write(what + "\\n")
def well():
    tell("status", "up\\n"), tell("output", "3 passed\\n"), tell("status", "exit 7\\n"), sys.exit()
{play}
"""
BREAKPOINT = "Oops: int3: 0000 [#2] PREEMPT SMP NOPTI"
STALL = "Kernel panic - not syncing: RCU Stall"
FATAL = "Kernel panic - not syncing: Fatal exception"
FOR_EVER = "time.sleep(600)"


class Guest:
    """What became of one call of lab/vm/run."""

    def __init__(self, folder: Path, play: str, *options: str) -> None:
        for needed in ("build/vm/kernel", "build/vm/initramfs.gz"):
            if not (ROOT / needed).exists():
                pytest.skip("needs `make vm-image`")
        counter = folder / "lives"
        qemu = folder / "qemu-system-x86_64"
        qemu.write_text(QEMU.format(python=sys.executable, counter=str(counter), play=play))
        qemu.chmod(0o755)
        begun_s = time.monotonic()
        done = subprocess.run(
            ["lab/vm/run", "--count-instructions", *options, "--", "true"],
            cwd=ROOT,
            env={"PATH": f"{folder}:/usr/sbin:/usr/bin:/sbin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        self.lasted_s = time.monotonic() - begun_s
        self.code, self.output, self.told = done.returncode, done.stdout, done.stderr
        self.lives = len(counter.read_text())
        self.line = Path(f"{counter}.line").read_text()


@pytest.mark.parametrize(
    ("first", "lives", "code"),
    [
        (f"tell('status', 'up\\n'), console({STALL!r})", 2, 7),
        (f"tell('status', 'up\\n'), console({BREAKPOINT!r})", 2, 7),
        (f"tell('status', 'up\\n'), console({FATAL!r})", 1, 1),
        ("console('nothing that is known')", 2, 7),
        ("well()", 1, 7),
    ],
    ids=["stalled", "breakpoint", "fatal", "died early", "well"],
)
def test_only_a_guest_that_broke_down_is_started_again(
    tmp_path: Path, first: str, lives: int, code: int
) -> None:
    guest = Guest(tmp_path, f"if life == 1: {first}, sys.exit()\nwell()")
    assert (guest.code, guest.lives) == (code, lives), guest.told
    assert ("trying once more" in guest.told) == (lives == 2)
    assert "panic_on_rcu_stall=1" in guest.line


def test_a_guest_whose_command_falls_silent_is_ended_and_started_again(tmp_path: Path) -> None:
    play = f"""
if life == 1:
    tell('status', 'up\\n'), tell('output', 'test_one PASSED\\ntest_two ')
    console('what it said last'), {FOR_EVER}
well()"""
    guest = Guest(tmp_path, play, "--silence", "1")
    assert (guest.code, guest.lives) == (7, 2), guest.told
    assert guest.output == "test_one PASSED\ntest_two 3 passed\n"
    assert "guest 1 of at most 3 ended after" in guest.told
    assert "its command said nothing for too long; trying once more" in guest.told
    assert "what it said last" in guest.told
    assert "guest 2 of at most 3 did not break down and took" in guest.told


def test_a_guest_that_goes_on_speaking_is_not_silent(tmp_path: Path) -> None:
    play = "tell('status', 'up\\n')\nfor _ in range(8): tell('output', '.'), time.sleep(0.4)\nwell()"
    guest = Guest(tmp_path, play, "--silence", "2")
    assert (guest.code, guest.lives, guest.output) == (7, 1, "........3 passed\n"), guest.told
    assert guest.lasted_s > 3


@pytest.mark.parametrize(
    ("play", "options", "code"),
    [(FOR_EVER, ("--silence", "1"), 122), (f"tell('status', 'up\\n'), console({STALL!r})", (), 123)],
    ids=["silent", "stalled"],
)
def test_it_is_started_again_twice_at_most(
    tmp_path: Path, play: str, options: tuple[str, ...], code: int
) -> None:
    guest = Guest(tmp_path, play, *options)
    assert (guest.code, guest.lives) == (code, 3), guest.told
    assert guest.told.count("trying once more") == 2
    assert guest.told.count("not tried again") == 1


@pytest.mark.parametrize(
    ("end", "code"), [(FOR_EVER, 122), (f"console({STALL!r})", 123)], ids=["silent", "stalled"]
)
@pytest.mark.parametrize(
    "said", ["test_one FAILED [10%]\\n", "test_one FAI', 'LED"], ids=["whole", "in pieces"]
)
def test_a_test_that_failed_is_never_repeated(tmp_path: Path, end: str, code: int, said: str) -> None:
    """Even if what comes after it hangs: a second guest would hide the failure."""
    play = f"tell('status', 'up\\n')\nfor what in ('{said}',): tell('output', what), time.sleep(0.1)\n{end}"
    guest = Guest(tmp_path, play, "--silence", "1", "--failure", r"\b(FAILED|ERROR)\b")
    assert (guest.code, guest.lives) == (code, 1), guest.told
    assert "not tried again, as its command had named a failure" in guest.told


@pytest.mark.parametrize("status", [122, 123, 124, 125, 1])
def test_a_command_that_ended_is_never_repeated_whatever_its_status(tmp_path: Path, status: int) -> None:
    guest = Guest(tmp_path, f"tell('status', 'up\\nexit {status}\\n'), console({STALL!r})")
    assert (guest.code, guest.lives) == (status, 1), guest.told


def test_a_guest_whose_time_is_over_is_not_started_again(tmp_path: Path) -> None:
    play = "tell('status', 'up\\n'), console('its words')\nwhile True: tell('output', '.'), time.sleep(0.2)"
    guest = Guest(tmp_path, play, "--timeout", "1", "--silence", "5")
    assert (guest.code, guest.lives) == (124, 1), guest.told
    assert "its time was over; not tried again" in guest.told
    assert "its words" in guest.told


def test_a_guest_that_does_not_switch_itself_off_has_its_commands_status(tmp_path: Path) -> None:
    guest = Guest(tmp_path, f"tell('status', 'up\\nexit 3\\n')\n{FOR_EVER}", "--timeout", "1")
    assert (guest.code, guest.lives) == (3, 1), guest.told


def test_a_plugin_is_told_where_to_write_and_the_command_which_one_there_is(tmp_path: Path) -> None:
    plugin = tmp_path / "counts.so"
    plugin.touch()
    told = "open(re.search(r'folder=(\\S+)', words)[1] + '/command').read()"
    guest = Guest(tmp_path, f"tell('output', {told}), well()", "--plugin", str(plugin))
    assert f"-plugin {plugin},folder={ROOT}/build/vm/runs/" in guest.line
    assert "export WEIR_PLUGIN=counts.so\n" in guest.output

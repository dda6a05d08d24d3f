# SPDX-License-Identifier: Apache-2.0
"""lab/vm/run tries a guest again whose kernel gave up, and no other; QEMU is a script here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
QEMU = """#!{python}
import re, sys
if "--version" in sys.argv:
    print("QEMU emulator version 10.0.0"), sys.exit()
words = " ".join(sys.argv)
life = {counter!r}
with open(life, "a+") as counter:
    counter.write("x"), counter.flush(), counter.seek(0)
    number = len(counter.read())
console = re.search(r"file:(\\S+console.log)", words)[1]
status = re.search(r"id=status,path=(\\S+?),", words)[1]
with open(status, "w") as told:
    told.write("up\\n")
    if number > 1 or {words!r} == "":
        told.write("exit 7\\n")
with open(console, "w") as said:
    said.write({words!r} + "\\n")
open({counter!r} + ".line", "w").write(words)
"""


@pytest.mark.parametrize(
    ("console", "lives", "code"),
    [
        ("Kernel panic - not syncing: RCU Stall", 2, 7),
        ("Kernel panic - not syncing: Fatal exception", 1, 1),
        ("", 1, 7),
    ],
)
def test_only_a_guest_whose_kernel_stalled_is_started_again(
    tmp_path: Path, console: str, lives: int, code: int
) -> None:
    counter = tmp_path / "lives"
    qemu = tmp_path / "qemu-system-x86_64"
    qemu.write_text(QEMU.format(python=sys.executable, counter=str(counter), words=console))
    qemu.chmod(0o755)
    for needed in ("build/vm/kernel", "build/vm/initramfs.gz"):
        if not (ROOT / needed).exists():
            pytest.skip("needs `make vm-image`")
    done = subprocess.run(
        ["lab/vm/run", "--count-instructions", "--", "true"],
        cwd=ROOT,
        env={"PATH": f"{tmp_path}:/usr/sbin:/usr/bin:/sbin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, len(counter.read_text())) == (code, lives), done.stderr
    assert ("trying once more" in done.stderr) == (lives == 2)
    assert "panic_on_rcu_stall=1" in Path(f"{counter}.line").read_text()

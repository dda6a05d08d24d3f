# SPDX-License-Identifier: Apache-2.0
"""What a slot does after its start, for test_boot_counter.py: the real RAUC, API and `weir-health`.

Words: RAUC's configuration, and whether the API of this system starts ("well" or "broken"). The agent is one
without a kernel. Runs as the first process; /dev/vda is the disk.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.agent.updating import UpdatingMachine
from tests.service.fake_agent import FakeAgent
from weir.agent import health

BOOT = Path("/boot-of-disk")
API = "127.0.0.1:8080"
GIVE_UP_S = {"well": 300.0, "broken": 5.0}
"""A system that works has all the time that emulated processors need."""
RESTART = r"""#!/bin/sh
slot=$(sed 's/.* rauc\.slot=\([AB]\) .*/\1/' /proc/cmdline)
echo "the slot's end: $* with $slot." >/dev/console
sync
echo b >/proc/sysrq-trigger
"""
"""In systemctl's place."""


def say(what: str) -> None:
    Path("/dev/console").write_text(f"the slot's end: {what}.\n", encoding="ascii")


def start_api(folder: Path, socket: Path) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "WEIR_DATABASE": str(folder / "weir.db"),
        "WEIR_AGENT_SOCKET": str(socket),
        "WEIR_LISTEN": API,
    }
    return subprocess.Popen([sys.executable, "-m", "weir.http.main", "--allow-root"], env=environment)


def main(config: Path, state: str) -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    BOOT.mkdir()
    subprocess.run(["mount", "-t", "vfat", "/dev/vda2", str(BOOT)], check=True)
    Path("/usr/bin/systemctl").unlink(missing_ok=True)
    Path("/usr/bin/systemctl").write_text(RESTART, encoding="ascii")
    Path("/usr/bin/systemctl").chmod(0o755)
    folder = Path(tempfile.mkdtemp())
    socket = folder / "agent.sock"
    with ExitStack() as stack:
        machine = UpdatingMachine(stack, config, folder, data=folder, boot=BOOT / "grub", slot=None)
        stack.enter_context(FakeAgent(socket, folder / "weir.db"))
        if state == "well":
            stack.callback(start_api(folder, socket).kill)
        words = ["--socket", str(socket), "--api", API, "--rauc-config", str(config)]
        words += ["--steady-s", "2", "--give-up-s", str(GIVE_UP_S[state])]
        booted = machine.call("updates")["booted"]
        good = health.main(words) == 0
        say(f"{'good' if good else 'bad'} with {booted}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

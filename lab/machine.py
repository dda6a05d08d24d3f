# SPDX-License-Identifier: Apache-2.0
"""The same lab inside the virtual machine of lab/vm, reached at the same address.

The guest runs `python -m lab run` on this machine's files, its API listens on the guest's only network
card, and QEMU forwards the port. Everything the guest makes ends with it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from lab import lifecycle, plan, process
from lab.lifecycle import Access
from lab.netns import LabError

PROGRAM = plan.ROOT / "lab" / "vm" / "run"
GUEST_ADDRESS = "10.0.2.15"
START_WITHIN_S = 300.0
KERNEL = plan.BUILD / "kernel" / "vm" / "bzImage"


def own_kernel() -> Path | None:
    """The product's kernel for virtual machines, if `make kernel` built it."""
    return KERNEL if KERNEL.exists() else None


class MachineLab(lifecycle.Lab):
    """A lab whose only process on this machine is the virtual machine."""

    _child: process.Child
    _heard_bytes = 0

    def _must_be_possible(self) -> None:
        lifecycle.require_root()
        if not (plan.BUILD / "vm" / "initramfs.gz").exists():
            raise LabError("the virtual machine is not ready: `make vm-image` makes it so")

    def _make(self) -> Access:
        self._tell("starting the virtual machine; its processors are emulated, so this takes a minute")
        kernel = self._kernel()
        options = ["--port", str(self.options.port), *(["--kernel", str(kernel)] if kernel else [])]
        self._child = process.start("vm", [str(PROGRAM), *options, *self._command()])
        answer = plan.BUILD / "vm" / "runs" / str(self._child.popen.pid) / "access.json"
        deadline = time.monotonic() + START_WITHIN_S
        while (access := _read(answer)) is None:
            self._pass_on_words()
            process.must_run(self._child)
            if time.monotonic() > deadline:
                words = process.last_words(self._child)
                raise LabError(f"the virtual machine's lab did not start in {START_WITHIN_S:.0f} s: {words}")
            time.sleep(0.1)
        self._pass_on_words()
        return access

    def _kernel(self) -> Path | None:
        """None: Debian's."""
        return None

    def keep_running(self, until: Callable[[], bool]) -> None:
        """The lab in the guest looks after its services; here it is enough that the guest lives."""
        while not until():
            process.must_run(self._child)
            time.sleep(0.1)

    def _command(self) -> list[str]:
        """What the guest does: the lab, whose access appears in a file that this machine sees."""
        options = self.options
        lab = [sys.executable, "-m", "lab", "run", "--ready-fd", "3", "--port", str(options.port)]
        lab += ["--address", GUEST_ADDRESS, "--url", f"http://127.0.0.1:{options.port}"]
        lab += [] if options.traffic else ["--no-traffic"]
        lab += [] if options.queues else ["--no-queues"]
        return ["bash", "-c", 'exec "$@" 3>"$WEIR_RUN/access.json"', "lab", *lab]

    def _pass_on_words(self) -> None:
        """Tell what the guest said since the last time, in whole lines."""
        with self._child.log.open("rb") as log:
            log.seek(self._heard_bytes)
            heard = log.read()
        whole = heard[: heard.rfind(b"\n") + 1]
        self._heard_bytes += len(whole)
        for line in whole.decode(errors="replace").splitlines():
            self._tell(line)


class ProductLab(MachineLab):
    """On the product's own kernel, where one was built."""

    def _kernel(self) -> Path | None:
        return own_kernel()


def _read(answer: Path) -> Access | None:
    """The access that the guest wrote; None while it is not there, or not whole."""
    try:
        return Access(**json.loads(answer.read_text()))
    except (FileNotFoundError, ValueError):
        return None

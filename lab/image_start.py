# SPDX-License-Identifier: Apache-2.0
"""`make image-start`: how long a router that was built by `make image` takes until it can be used.

    python -m lab.image_start [--port PORT] [--rounds N] [--disk DISK --kernel BZIMAGE]

One emulated processor whose clock counts instructions (1 ns each), so that what else this machine does hardly
matters; where the guest waits, its clock goes as fast as this machine's. Seen from a browser in the LAN, in
seconds since the kernel began: an answer of the web server, one of the API, a sign-in that succeeds, an agent
that has brought the kernel to the configuration. First on a disk as it was built, then again on the same one.
The yardstick is the start of the kernel alone: the same one on the same disk, up to a process 1 that ends.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

from lab import appliance, plan, process
from lab.image_life import PASSWORD, QUEUE, overlay, run, say
from lab.image_machine import Rest
from lab.netns import LabError

FOLDER = plan.BUILD / "image-start"
WITHIN_S = 1800.0
PAUSE_S = 0.1
NO_ANSWER_S, ANSWER_S = 5.0, 300.0
"""Of this machine's time, ten of which an emulated second may take: asked again then, or given up."""
WORDS = (
    "root=/dev/vda4 rootfstype=squashfs ro rootwait=15 rauc.slot=A "
    "console=tty0 console=ttyS0,115200 panic=10 quiet "
    "lhash_entries=65536 rcu_nocbs=all preempt=voluntary "
    "bonding.max_bonds=0 dummy.numdummies=0 ifb.numifbs=0 fb_tunnels=none"
)
"""As in board/image/grub.cfg; GRUB and the firmware before it are left out."""
HPET_COUNTER = 0xFED000F0
HPET_TICKS_PER_S = 100_000_000
"""QEMU's; the kernel lets it run from zero when it finds it, some 10 ms after its first instruction."""
MOMENTS = ("page", "api", "signed in", "agent well")


@dataclass(frozen=True, slots=True)
class Start:
    """When, in seconds of the guest's clock, something was there for the first time."""

    page_s: float
    api_s: float
    signed_in_s: float
    agent_s: float

    def moments(self) -> tuple[float, ...]:
        return (self.page_s, self.api_s, self.signed_in_s, self.agent_s)


class Counted:
    """A machine whose clock counts instructions, and that clock."""

    def __init__(self, disk: Path, kernel: Path, port: int, more_words: str = "") -> None:
        self._monitor_path = FOLDER / "monitor.sock"
        self._monitor_path.unlink(missing_ok=True)
        self._port = port
        self.log = FOLDER / "console.log"
        self._qemu = subprocess.Popen(
            self._command(disk, kernel, more_words),
            preexec_fn=process.die_with_parent,
            stdin=subprocess.DEVNULL,
        )
        self._monitor = self._connected()

    def _command(self, disk: Path, kernel: Path, more_words: str) -> list[str]:
        kind = "qcow2" if disk.suffix == ".qcow2" else "raw"
        return [
            *appliance.machine(self._port, f"file:{self.log}", counted=True),
            *("-no-reboot", "-qmp", f"unix:{self._monitor_path},server=on,wait=off"),
            *("-drive", f"file={disk},format={kind},if=virtio,discard=unmap"),
            *("-kernel", str(kernel), "-append", f"{WORDS} {more_words}".strip()),
        ]

    def _connected(self) -> Any:
        deadline = time.monotonic() + 30.0
        while True:
            monitor = socket.socket(socket.AF_UNIX)
            try:
                monitor.connect(str(self._monitor_path))
                break
            except OSError:
                monitor.close()
                if self._qemu.poll() is not None or time.monotonic() > deadline:
                    raise LabError(f"QEMU did not start (status {self._qemu.poll()})") from None
                time.sleep(0.05)
        stream = monitor.makefile("rw", encoding="utf-8")
        stream.readline()  # its greeting
        self._monitor = stream
        self._ask("qmp_capabilities")
        return stream

    def _ask(self, command: str, **arguments: Any) -> Any:
        self._monitor.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self._monitor.flush()
        while "return" not in (told := json.loads(self._monitor.readline())):
            if "error" in told:
                raise LabError(f"QEMU: {command}: {told['error']}")
        return told["return"]

    def now_s(self) -> float:
        words = {"command-line": f"xp /1gx {HPET_COUNTER:#x}"}
        return int(self._ask("human-monitor-command", **words).split(":")[1], 16) / HPET_TICKS_PER_S

    def first(self, ask: Callable[[], bool], what: str) -> float:
        """When `ask` was answered with yes. Raises LabError."""
        deadline = time.monotonic() + WITHIN_S
        while not ask():
            if self._qemu.poll() is not None:
                raise LabError(f"the machine ended before {what}")
            if time.monotonic() > deadline:
                raise LabError(f"waited {WITHIN_S:.0f} s for {what}")
            time.sleep(PAUSE_S)
        return self.now_s()

    def end(self, within_s: float = 0.0) -> None:
        """By itself within that time, or as by a power cut."""
        try:
            self._qemu.wait(within_s)
        except subprocess.TimeoutExpired:
            self._qemu.kill()
            self._qemu.wait()


def kernel_alone_s(disk: Path, kernel: Path, port: int) -> float:
    """What the kernel's clock shows when process 1 ends: it says so itself. Raises LabError."""
    (FOLDER / "console.log").unlink(missing_ok=True)
    machine = Counted(disk, kernel, port, "init=/bin/false panic=-1")
    machine.end(WITHIN_S)
    said = machine.log.read_text(errors="replace")
    found = re.search(r"\[ *(\d+\.\d+)\] Kernel panic - not syncing: Attempted to kill init", said)
    if found is None:
        raise LabError(f"the kernel did not start process 1: {said[-500:]}")
    return float(found[1])


def watched(machine: Counted, port: int, *, new: bool) -> Start:
    """The four moments; a new router is set up on the way. Raises LabError."""
    rest = Rest(port)

    def status(path: str) -> int:
        try:
            return rest.ask("GET", path, timeout_s=NO_ANSWER_S)[0]
        except (OSError, HTTPException):
            return 0

    page_s = machine.first(lambda: status("/") > 0, "an answer of the web server")
    api_s = machine.first(lambda: status("/api/v1/setup") == 200, "an answer of the API")
    if new:
        rest.need("POST", "/api/v1/setup", {"password": PASSWORD}, ANSWER_S)
    signed_in_s = machine.first(lambda: rest.sign_in(PASSWORD) == 200, "a sign-in")
    agent_s = machine.first(lambda: runs_what_is_configured(rest.need("GET", "/api/v1/system")), "the agent")
    if new:
        rest.need("PUT", "/api/v1/queues/kept", QUEUE, ANSWER_S)
        rest.need("POST", "/api/v1/system/power-off", {}, ANSWER_S)
    return Start(page_s, api_s, signed_in_s, agent_s)


def runs_what_is_configured(system: Any) -> bool:
    agent = system["agent"]
    return bool(agent["connected"] and agent["state"] == "ok" and agent["revision"] == system["revision"])


def measure(disk: Path, kernel: Path, port: int, rounds: int) -> None:
    kernel_s = kernel_alone_s(disk, kernel, port)
    say(f"the kernel alone: {kernel_s:.2f} s")
    router = FOLDER / "router.qcow2"
    overlay(disk, router)
    machine = Counted(router, kernel, port)
    try:
        tell("first start", [watched(machine, port, new=True)], kernel_s)
        machine.end(300.0)
        again = []
        for _ in range(rounds):
            machine = Counted(router, kernel, port)
            again.append(watched(machine, port, new=False))
            machine.end()
        tell("later start", again, kernel_s)
    finally:
        machine.end()


def tell(name: str, starts: Sequence[Start], kernel_s: float) -> None:
    columns = zip(*(start.moments() for start in starts), strict=True)
    for moment, values_s in zip(MOMENTS, columns, strict=True):
        middle_s = statistics.median(values_s)
        spread = f"{min(values_s):.2f} to {max(values_s):.2f} in {len(values_s)}"
        say(f"{name}: {moment:10} {middle_s:6.2f} s ({spread}), {middle_s / kernel_s:4.1f} times the kernel")


def kernel_of(bundle: Path) -> Path:
    """The kernel that the bundle brings."""
    shutil.rmtree(FOLDER / "bundle", ignore_errors=True)
    unpack = ("unsquashfs", "-quiet", "-no-progress", "-dest")
    run(*unpack, FOLDER / "bundle", bundle)
    run(*unpack, FOLDER / "bundle/kernel", FOLDER / "bundle/kernel.squashfs")
    return FOLDER / "bundle/kernel/bzImage"


def main() -> None:
    parser = argparse.ArgumentParser(prog="lab.image_start", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=int, default=plan.DEFAULT_PORT)
    parser.add_argument("--rounds", type=int, default=3, help="of the start after the first")
    parser.add_argument("--disk", type=Path, help="another one than the newest of build/images")
    parser.add_argument("--kernel", type=Path, help="another one than the newest bundle's")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    image = arguments.disk or appliance.newest_image()
    bundles = sorted(appliance.IMAGES.glob("weir-*.raucb"), key=lambda path: path.stat().st_mtime_ns)
    if image is None or not (bundles or arguments.kernel):
        sys.exit("image-start: there is no image with a bundle in build/images; `make image` builds one")
    try:
        kernel = arguments.kernel or kernel_of(bundles[-1])
        measure(
            image if arguments.disk else appliance.unpacked(image), kernel, arguments.port, arguments.rounds
        )
    except LabError as error:
        sys.exit(f"image-start: {error} ({FOLDER})")


if __name__ == "__main__":
    main()

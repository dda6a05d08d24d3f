# SPDX-License-Identifier: Apache-2.0
"""Updates with the real RAUC: its service, dm-verity, loop devices as slots, and GRUB's environment."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.agent.bundles import Bundler, missing_tools
from tests.agent.polling import until
from weir.adapters.rauc import Rauc
from weir.agent.updates import Updates
from weir.wire.server import Peer

pytestmark = [
    pytest.mark.skipif(
        not os.environ.get("WEIR_IN_VM"), reason="RAUC mounts bundles: only in a machine of its own"
    ),
    pytest.mark.skipif(bool(missing_tools()), reason=f"missing: {', '.join(missing_tools())}"),
]
PARTITIONS = ("system_A", "kernel_A", "system_B", "kernel_B")
SLOT_BYTES = 2 << 20
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/>
<allow user="*"/></policy></busconfig>
"""


class Image:
    """A machine that runs from slot A, as far as RAUC and GRUB's environment can tell."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.bundler = Bundler(folder)
        self.slots = {name: _device(folder / name) for name in PARTITIONS}
        self.environment_file = folder / "grubenv"
        self._grub("create")
        self._grub("set", "ORDER=A B", "A_OK=1", "A_TRY=1", "B_OK=0", "B_TRY=0")
        self.config = self.bundler.config(**self.slots)
        bus = folder / "bus"
        (folder / "bus.conf").write_text(BUS.format(path=bus))
        os.environ["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={bus}"
        self._start(
            stack, ["dbus-daemon", "--nofork", f"--config-file={folder / 'bus.conf'}"], folder / "bus.log"
        )
        until("the bus", bus.exists)
        service = ["rauc", f"--conf={self.config}", "--override-boot-slot=A", "service"]
        self._start(stack, service, folder / "service.log")
        self.log = folder / "service.log"
        inbox = folder / "uploads"
        inbox.mkdir()
        self.inbox = inbox
        self.updates = Updates(Rauc(self.config), inbox, folder / "own", lambda: None)
        until("RAUC's service", lambda: self.call("updates")["available"])

    def _start(self, stack: ExitStack, command: list[str], log: Path) -> None:
        process = stack.enter_context(
            subprocess.Popen(
                command, stdout=log.open("wb"), stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
            )
        )
        stack.callback(process.kill)

    def _grub(self, *words: str) -> str:
        command = ["grub-editenv", str(self.environment_file), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def grub(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self._grub("list").splitlines())

    def call(self, method: str, **params: Any) -> Any:
        return self.updates.table()[method](params, Peer(1, 1, 0, 0))

    def install(self, bundle: bytes) -> Any:
        name = "0" * 32
        (self.inbox / f"{name}.raucb").write_bytes(bundle)
        self.call("update_install", upload=name)
        return until("the end", lambda: self._ended())

    def _ended(self) -> Any:
        job = self.call("updates")["job"]
        return job if job["state"] != "installing" else None


def _device(backing: Path) -> Path:
    """A device of `SLOT_BYTES`: a file would grow beyond them."""
    backing.write_bytes(bytes(SLOT_BYTES))
    command = ["losetup", "--find", "--show", str(backing)]
    return Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    for module in ("loop", "dm-verity", "squashfs"):
        subprocess.run(["modprobe", module], check=False, capture_output=True)
    with ExitStack() as stack:
        yield Image(tmp_path_factory.mktemp("image"), stack)


def test_the_slots_are_told_as_grub_has_them(image: Image) -> None:
    told = image.call("updates")
    assert told["booted"] == "A"
    assert {slot["name"]: slot["booted"] for slot in told["slots"]} == {"A": True, "B": False}


def test_mark_good_takes_the_attempt_back(image: Image) -> None:
    Rauc(image.config).mark("good", "booted")
    assert (image.grub()["A_OK"], image.grub()["A_TRY"]) == ("1", "0")


def test_a_bundle_is_written_to_the_other_slot_and_started_next(image: Image) -> None:
    running = image.slots["system_A"].read_bytes()
    bundle = image.bundler.make("0.3.0", size=1_000_000)
    job = image.install(bundle.read_bytes())
    assert job["state"] == "installed", (job, image.log.read_text())
    content = image.bundler.folder / "content-0.3.0-weir-x86_64-ours"
    for partition, name in (("system_B", "rootfs.squashfs"), ("kernel_B", "kernel.squashfs")):
        wanted = (content / name).read_bytes()
        assert image.slots[partition].read_bytes()[: len(wanted)] == wanted
    assert image.slots["system_A"].read_bytes() == running
    assert (image.grub()["ORDER"], image.grub()["B_OK"], image.grub()["B_TRY"]) == ("B A", "1", "0")
    told = image.call("updates")
    assert told["next"] == "B"
    assert {slot["name"]: slot["version"] for slot in told["slots"]}["B"] == "0.3.0"


def test_the_way_back_is_one_choice(image: Image) -> None:
    assert image.call("update_choose", slot="A")["next"] == "A"
    assert image.grub()["ORDER"].startswith("A")


def test_content_that_is_not_what_was_signed_is_found_while_it_is_written(image: Image) -> None:
    """The signature covers the root of a hash tree; each block is compared as it is read."""
    data = bytearray(image.bundler.make("0.3.1", size=1_000_000).read_bytes())
    data[len(data) // 2] ^= 0xFF
    before = image.grub()
    job = image.install(bytes(data))
    assert job["state"] == "failed"
    assert job["code"] in ("bundle-corrupt", "update-failed"), job
    after = image.grub()
    assert after["B_OK"] == "0", "half a system must not be started"
    assert after["A_OK"] == before["A_OK"] == "1"


def test_a_bundle_larger_than_the_slot_is_refused_and_the_router_goes_on(image: Image) -> None:
    job = image.install(image.bundler.make("0.3.2", size=SLOT_BYTES + 100_000).read_bytes())
    assert job["state"] == "failed", job
    assert image.call("updates")["booted"] == "A"

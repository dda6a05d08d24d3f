# SPDX-License-Identifier: Apache-2.0
"""Updates with the real RAUC: its service, dm-verity, loop devices as slots, and GRUB's environment."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.agent.bundles import Bundler, missing_tools
from tests.agent.updating import UpdatingMachine
from weir.adapters.rauc import Rauc

pytestmark = [
    pytest.mark.skipif(
        not os.environ.get("WEIR_IN_VM"), reason="RAUC mounts bundles: only in a machine of its own"
    ),
    pytest.mark.skipif(bool(missing_tools()), reason=f"missing: {', '.join(missing_tools())}"),
]
PARTITIONS = ("system_A", "kernel_A", "system_B", "kernel_B")
SLOT_BYTES = 2 << 20


class Image(UpdatingMachine):
    """A machine that runs from slot A, as far as RAUC and GRUB's environment can tell."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.bundler = Bundler(folder)
        self.slots = {name: _device(folder / name) for name in PARTITIONS}
        self.environment_files = [folder / "grubenv", folder / "grubenv.copy"]
        for file in self.environment_files:
            _grub(file, "create")
            _grub(file, "set", "ORDER=A B", "A_OK=1", "A_TRY=1", "B_OK=0", "B_TRY=0")
        self.config = self.bundler.config(**self.slots)
        super().__init__(stack, self.config, folder, data=folder, boot=folder)

    def grub(self) -> dict[str, str]:
        first, second = (_grub(file, "list") for file in self.environment_files)
        assert first == second
        return dict(line.split("=", 1) for line in first.splitlines())


def _grub(environment: Path, *words: str) -> str:
    command = ["grub-editenv", str(environment), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


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

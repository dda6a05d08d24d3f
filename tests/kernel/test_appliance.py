# SPDX-License-Identifier: Apache-2.0
"""The appliance's kernel on what appliances are made of: QEMU's disks, cards and firmware, and the real GRUB.

`make kernel VARIANT=appliance` builds it. That takes most of an hour, so no other check asks for it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

from lab.image_machine import OVMF
from tests.image.slot_disk import SlotDisk, missing_tools, run
from tests.kernel.product import ROOT
from tests.kernel.slot_system import make_system

FOLDER = ROOT / "build/kernel/appliance"
KERNEL = FOLDER / "bzImage"
MISSING = missing_tools()
pytestmark = [
    pytest.mark.skipif(not KERNEL.exists(), reason="`make kernel VARIANT=appliance` was not asked for"),
    pytest.mark.skipif(bool(MISSING), reason=f"missing: {', '.join(MISSING)}"),
]

DISKS = {
    "virtio": ("vda", "virtio-blk-pci,drive=disk"),
    "ahci": ("sda", "ide-hd,drive=disk,bus=ide.0"),
    "nvme": ("nvme0n1", "nvme,drive=disk,serial=1"),
    "usb": ("sda", "qemu-xhci", "usb-storage,drive=disk"),
    "sd": ("mmcblk0", "sdhci-pci", "sd-card,drive=disk"),
}
"""By bus: what the kernel calls the disk, and QEMU's devices."""
SD_BYTES = 64 << 20
"""QEMU has SD cards of powers of two only."""
MODEL_OF_DRIVER = {"e1000": "e1000", "e1000e": "e1000e", "igb": "igb", "vmxnet3": "vmxnet3"}
SEVERAL_QUEUES = {"igb", "vmxnet3"}
SAID = re.compile(r"^(\w+): (.*)\.\r?$", re.MULTILINE)
END = re.compile(rb"the list's end\.")


def with_dependencies(wanted: list[str]) -> list[Path]:
    """The modules' files, each after those that it needs."""
    (folder,) = (FOLDER / "modules/lib/modules").iterdir()
    needs = {
        Path(name): needed.split()
        for name, _, needed in (
            line.partition(":") for line in (folder / "modules.dep").read_text().splitlines()
        )
    }
    order: list[Path] = []
    for name in wanted:
        (file,) = (file for file in needs if file.name.partition(".")[0] == name)
        order += [folder / item for item in (*reversed(needs[file]), file) if folder / item not in order]
    return order


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> SlotDisk:
    folder = tmp_path_factory.mktemp("appliance")
    modules = folder / "modules"
    modules.mkdir()
    files = with_dependencies(list(MODEL_OF_DRIVER))
    for file in files:
        # Busybox' insmod knows no zstd; the image's kmod does.
        run("zstd", "-d", "--quiet", file, "-o", modules / file.stem)
    (modules / "order").write_text("".join(f"{file.stem}\n" for file in files))
    disk = SlotDisk(folder, KERNEL)
    os.truncate(disk.disk, SD_BYTES)
    disk.write("system-A", make_system(folder, "A", "slot_that_lists_devices", content=(modules,)))
    return disk


def listed(disk: SlotDisk, *options: str) -> dict[str, list[str]]:
    """What the system said of each kind of device; the boot counter starts over each time."""
    disk.set_environment(A_TRY="0")
    found = disk.start(END, "none,id=disk", *options)
    assert found is not None, disk.console()[-3000:]
    said: dict[str, list[str]] = defaultdict(list)
    for kind, what in SAID.findall(disk.console()):
        said[kind].append(what)
    return said


def devices(*models: str) -> list[str]:
    return [word for model in models for word in ("-device", model)]


@pytest.mark.parametrize("bus", DISKS)
def test_it_starts_from_the_disks_of_appliances(disk: SlotDisk, bus: str) -> None:
    name, *models = DISKS[bus]
    said = listed(disk, *devices(*models))
    assert said["root"] == [f"PARTUUID={disk.partition_uuid(4)}"]
    assert name in said["disk"]
    assert said["firmware"] == ["bios"]
    assert said["fault"] == []


def test_cards_find_their_drivers_and_their_qdiscs(disk: SlotDisk) -> None:
    models = [*MODEL_OF_DRIVER.values(), "virtio-net-pci"]
    said = listed(disk, "-smp", "2", *devices("virtio-blk-pci,drive=disk", *models))
    assert said["refused"] == [] and said["fault"] == []
    drivers = [*MODEL_OF_DRIVER, "virtio_net"]
    wanted = [f"{driver} {'mq' if driver in SEVERAL_QUEUES else 'fq'}" for driver in drivers]
    assert sorted(said["card"]) == sorted(wanted)
    assert said["watchdog"] == ["iTCO_wdt"]


@pytest.mark.skipif(not OVMF.exists(), reason="missing: ovmf")
def test_efi_starts_it(disk: SlotDisk, tmp_path: Path) -> None:
    variables = tmp_path / "variables"
    shutil.copy(OVMF / "OVMF_VARS_4M.fd", variables)
    options = [
        "-drive", f"if=pflash,format=raw,unit=0,readonly=on,file={OVMF / 'OVMF_CODE_4M.fd'}",
        "-drive", f"if=pflash,format=raw,unit=1,file={variables}",
        "-kernel", os.fspath(KERNEL),
        "-append", f"root=PARTUUID={disk.partition_uuid(4)} rootwait=15 ro console=ttyS0 no_timer_check",
    ]  # fmt: skip
    said = listed(disk, *devices("virtio-blk-pci,drive=disk"), *options)
    assert said["firmware"] == ["efi"]
    assert said["fault"] == []

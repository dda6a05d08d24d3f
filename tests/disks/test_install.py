# SPDX-License-Identifier: Apache-2.0
"""The installer on disks that are files: what it writes, what it shows before, and what it refuses."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from signal import SIGKILL

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "board/overlay/usr/bin/weir-install"
MEBIBYTE = 1 << 20

pytestmark = pytest.mark.skipif(
    not os.environ.get("WEIR_IN_VM"), reason="it writes onto disks: only in a machine of its own"
)
PARTITIONS = {"bios": 1, "boot": 16, "kernel-A": 2, "system-A": 2, "kernel-B": 2, "system-B": 2, "data": 1}
"""Of the medium, in MiB; its data is nobody's business."""
SAMPLE_BYTES = 100_000
WRITES = 8
"""Table, four slots, boot partition, both parts of the boot code."""
WATCHED_DD = """#!/bin/bash
count=$(($(<"$STATES/count") + 1))
echo "$count" >"$STATES/count"
cp --sparse=always "$STATES/disk" "$STATES/$count"
[ "$count" != "$KILL_AT" ] || { kill -KILL "$PPID"; exit; }
exec /usr/bin/dd "$@"
"""
"""The command that writes: it keeps what a power cut would leave now, and can be that cut."""


def run(*command: str | Path) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def first_bytes(disk: str, count: int) -> bytes:
    with Path(f"/dev/{disk}").open("rb") as device:
        return device.read(count)


class Disks:
    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self.names: dict[str, str] = {}
        self.medium = self.disk("medium", 40)
        table = "label: gpt\n" + "".join(
            f"size={size}MiB, name={name}\n" for name, size in PARTITIONS.items()
        )
        subprocess.run(["sfdisk", "--quiet", f"/dev/{self.medium}"], input=table, text=True, check=True)
        self.content = {
            name: os.urandom(SAMPLE_BYTES)
            for name in ("bios", "kernel-A", "system-A", "kernel-B", "system-B")
        }
        for name, content in self.content.items():
            with self.part(self.medium, name).open("r+b") as device:
                device.write(content)
        self._make_boot()
        with Path(f"/dev/{self.medium}").open("r+b") as device:
            device.write(b"BOOT CODE")

    def disk(self, name: str, mebibytes: int, *options: str) -> str:
        backing = self._folder / f"{name}.img"
        with backing.open("wb") as file:
            file.truncate(mebibytes * MEBIBYTE)
        device = run("losetup", "--find", "--show", "--partscan", *options, backing).strip()
        self._stack.callback(run, "losetup", "--detach", device)
        found = device.removeprefix("/dev/")
        self.names[found] = name
        return found

    def part(self, disk: str, name: str) -> Path:
        return Path(f"/dev/{disk}p{list(PARTITIONS).index(name) + 1}")

    def _make_boot(self) -> None:
        boot = self.part(self.medium, "boot")
        run("mkfs.vfat", "-n", "WEIRBOOT", boot)
        environment = self._folder / "grubenv"
        run("grub-editenv", environment, "create")
        run("grub-editenv", environment, "set", "ORDER=B A", "A_OK=0", "A_TRY=3", "B_OK=1", "B_TRY=1")
        run("mmd", "-i", boot, "::grub")
        for name in ("grubenv", "grubenv.copy"):
            run("mcopy", "-i", boot, environment, f"::grub/{name}")

    def environment(self, disk: str, name: str) -> dict[str, str]:
        copy = self._folder / "read"
        run("mcopy", "-n", "-i", self.part(disk, "boot"), f"::grub/{name}", copy)
        return dict(line.split("=", 1) for line in run("grub-editenv", copy, "list").splitlines())

    def install(self, target: str, typed: str, **environment: str) -> subprocess.CompletedProcess[str]:
        medium = {"WEIR_SOURCE_DISK": self.medium, "WEIR_SOURCE_SLOT": "B"}
        return subprocess.run(
            [str(SCRIPT), target],
            input=f"{typed}\n",
            capture_output=True,
            text=True,
            env={**os.environ, **medium, **environment},
            check=False,
        )

    def watched(self, target: str, kill_at: int = 0) -> tuple[int, list[bytes]]:
        """The status of an installation, and what was on the disk before each of its writes."""
        states = self._folder / "states"
        shutil.rmtree(states, ignore_errors=True)
        states.mkdir()
        (states / "dd").write_text(WATCHED_DD)
        (states / "dd").chmod(0o755)
        (states / "count").write_text("0")
        (states / "disk").symlink_to(self._folder / f"{self.names[target]}.img")
        path = f"{states}:{os.environ['PATH']}"
        done = self.install(target, target, PATH=path, STATES=str(states), KILL_AT=str(kill_at))
        count = int((states / "count").read_text())
        used = sum(PARTITIONS.values()) * MEBIBYTE
        found = []
        for number in range(1, count + 1):
            with (states / str(number)).open("rb") as state:
                found.append(state.read(used))
        return done.returncode, found

    def starts(self, state: bytes) -> bool:
        """Would firmware find something to start: boot code, or a FAT file system where EFI looks."""
        boot = (1 + PARTITIONS["bios"]) * MEBIBYTE
        return any(state[:440]) or b"FAT" in state[boot : boot + 512]

    def slots_are_whole(self, target: str) -> bool:
        return all(
            self.part(target, f"{what}-{slot}").read_bytes()[:SAMPLE_BYTES] == self.content[f"{what}-B"]
            for what in ("kernel", "system")
            for slot in "AB"
        )

    def refusal(self, target: str) -> str:
        """What it says when it does not even ask."""
        done = self.install(target, target)
        assert done.returncode == 1, done.stdout
        assert "will be erased" not in done.stdout
        return done.stderr


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[Disks]:
    for module in ("loop", "ext4", "vfat", "nls_cp437", "nls_ascii"):
        subprocess.run(["modprobe", module], check=False, capture_output=True)
    with ExitStack() as stack:
        yield Disks(tmp_path, stack)


def test_the_running_system_goes_into_both_slots_and_nothing_else_goes_with_it(disks: Disks) -> None:
    target = disks.disk("target", 600)
    done = disks.install(target, target)
    assert done.returncode == 0, done.stderr
    assert f"{target}: " in done.stdout
    assert "600 MiB" in done.stdout
    assert disks.slots_are_whole(target)
    assert disks.part(target, "bios").read_bytes()[:SAMPLE_BYTES] == disks.content["bios"]
    assert first_bytes(target, 9) == b"BOOT CODE"
    for name in ("grubenv", "grubenv.copy"):
        assert disks.environment(target, name) == {
            "ORDER": "A B", "A_OK": "1", "A_TRY": "0", "B_OK": "1", "B_TRY": "0",
        }  # fmt: skip
    data = disks.part(target, "data")
    assert "weir-data" in run("dumpe2fs", "-h", data)
    assert int(run("blockdev", "--getsize64", data)) > 500 * MEBIBYTE
    shown = [run("sfdisk", "--dump", f"/dev/{disk}") for disk in (disks.medium, target)]
    starts = [re.findall(r"start=\s*(\d+)", text)[:6] for text in shown]
    assert starts[0] == starts[1]
    uuids = [{word for word in text.split() if word.startswith("uuid=")} for text in shown]
    assert not uuids[0] & uuids[1], "two disks of one machine are told apart by them"


def test_without_the_disks_name_nothing_is_written(disks: Disks) -> None:
    target = disks.disk("target", 600)
    Path(f"/dev/{target}").write_bytes(os.urandom(4 * MEBIBYTE))
    before = first_bytes(target, 4 * MEBIBYTE)
    for typed in ("", "yes", f"/dev/{target}", disks.medium):
        done = disks.install(target, typed)
        assert done.returncode == 1
        assert "nothing was done" in done.stderr
        assert "NOT FINISHED" not in done.stderr
    assert first_bytes(target, 4 * MEBIBYTE) == before


def test_a_disk_that_does_not_fit_is_refused(disks: Disks) -> None:
    assert "is the disk that this system runs from" in disks.refusal(disks.medium)
    assert "there is no disk" in disks.refusal("nothing")
    assert "there is no disk" in disks.refusal("../../etc/passwd")
    assert "too small: it has 64 MiB, " in disks.refusal(disks.disk("small", 64))
    assert "has sectors of 4096 bytes" in disks.refusal(disks.disk("new", 600, "--sector-size", "4096"))
    assert "is write-protected" in disks.refusal(disks.disk("protected", 600, "--read-only"))


def test_a_disk_in_use_is_refused(disks: Disks, tmp_path: Path) -> None:
    whole, parted = disks.disk("whole", 600), disks.disk("parted", 600)
    subprocess.run(["sfdisk", "--quiet", f"/dev/{parted}"], input="label: gpt\n,\n", text=True, check=True)
    assert "name the whole disk" in disks.refusal(f"{parted}p1")
    (tmp_path / "point").mkdir()
    for device, disk in ((whole, whole), (f"{parted}p1", parted)):
        run("mkfs.ext4", "-q", f"/dev/{device}")
        run("mount", f"/dev/{device}", tmp_path / "point")
        try:
            assert "is in use" in disks.refusal(disk)
        finally:
            run("umount", tmp_path / "point")


def test_an_installation_that_was_cut_does_not_start_and_is_begun_again(disks: Disks) -> None:
    """Firmware finds a system by its boot code or its FAT file system, and then all of it must be there."""
    target = disks.disk("target", 600)
    assert disks.watched(target, kill_at=WRITES)[0] == -SIGKILL
    assert first_bytes(target, 440) == bytes(440)
    code, states = disks.watched(target)
    assert (code, len(states)) == (0, WRITES)
    assert [disks.starts(state) for state in states[1:6]] == [False] * 5, (
        "before the boot partition is written"
    )
    assert [any(state[:440]) for state in states[1:]] == [False] * 7
    assert disks.slots_are_whole(target)
    assert first_bytes(target, 9) == b"BOOT CODE"


def test_a_disk_that_fails_while_it_is_written_is_said(disks: Disks, tmp_path: Path) -> None:
    target = disks.disk("target", 600)
    (tmp_path / "mkfs.ext4").write_text("#!/bin/bash\nexit 1\n")
    (tmp_path / "mkfs.ext4").chmod(0o755)
    done = disks.install(target, target, PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode == 1
    assert "NOT FINISHED" in done.stderr
    assert "is installed" not in done.stdout

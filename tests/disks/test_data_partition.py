# SPDX-License-Identifier: Apache-2.0
"""The image's own script on real ext4 partitions: empty, grown, full, damaged and missing."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from weir.adapters import data_partition

pytestmark = pytest.mark.skipif(
    not os.environ.get("WEIR_IN_VM"), reason="it mounts over /data and /var: only in a machine of its own"
)
ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "board/overlay/usr/libexec/weir/data"
MEBIBYTE = 1 << 20
STATE = Path("/run/weir-data/state")


def run(*command: str | Path) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def start(device: str, then: str = "true") -> str:
    """A start of the system, as far as the data partition goes, and `then` in its mounts."""
    Path("/data").mkdir(exist_ok=True)
    return run(
        "unshare", "--mount", "bash", "-c", f"export WEIR_DATA_DEVICE={device}; {SCRIPT} start && {then}"
    )


def state() -> str:
    return STATE.read_text().splitlines()[0]


@contextmanager
def loop(backing: Path, *options: str) -> Iterator[str]:
    device = run("losetup", "--find", "--show", *options, backing).strip()
    try:
        yield device
    finally:
        run("losetup", "--detach", device)


@contextmanager
def partition(folder: Path, mebibytes: int) -> Iterator[str]:
    """As the image brings it: ext4, with nothing on it."""
    for module in ("loop", "ext4"):
        subprocess.run(["modprobe", module], check=False, capture_output=True)
    backing = folder / "data.img"
    with backing.open("wb") as file:
        file.truncate(mebibytes * MEBIBYTE)
    run("mkfs.ext4", "-q", "-L", "weir-data", "-O", "metadata_csum,64bit", backing)
    with loop(backing) as found:
        yield found


@pytest.fixture
def device(tmp_path: Path) -> Iterator[str]:
    with partition(tmp_path, 128) as found:
        yield found


def test_an_empty_partition_gets_its_folders_and_keeps_what_is_written(device: str) -> None:
    start(device, "mkdir /var/lib/weir && echo kept >/var/lib/weir/file && echo line >/var/log/weir.log")
    assert state() == "ok"
    assert start(device, "cat /data/lib/weir/file /var/log/weir.log") == "kept\nline\n"
    assert start(device, "stat -c '%U %a' /data/lib /data/log") == "root 755\nroot 755\n"


def test_a_power_cut_is_no_damage(device: str, tmp_path: Path) -> None:
    """A copy of the mounted device is what a power cut leaves: its journal waits to be replayed."""
    copy = tmp_path / "cut.img"
    start(device, f"echo kept >/data/lib/file && sync && dd if={device} of={copy} bs=1M status=none")
    with loop(copy) as cut:
        assert start(cut, "cat /data/lib/file") == "kept\n"
    assert state() == "ok"


def test_a_superblock_of_which_the_power_left_one_sector_is_put_right(device: str, tmp_path: Path) -> None:
    """Its checksum is in the other one; the copy that e2fsck finds knows of no journal to replay."""
    copy = tmp_path / "cut.img"
    start(device, f"echo kept >/data/lib/file && sync && dd if={device} of={copy} bs=1M status=none")
    run("dd", "if=/dev/zero", f"of={copy}", "bs=512", "seek=3", "count=1", "conv=notrunc", "status=none")
    with loop(copy) as cut:
        assert start(cut, "cat /data/lib/file") == "kept\n"
    assert state() == "repaired"


def test_a_damaged_partition_is_repaired_and_that_is_said(device: str) -> None:
    start(device, "echo kept >/data/lib/file")
    run("debugfs", "-w", "-R", "clri <7>", device)
    run("dd", "if=/dev/zero", f"of={device}", "bs=1k", "seek=1", "count=1", "conv=notrunc", "status=none")
    assert start(device, "cat /data/lib/file") == "kept\n"
    assert state() == "repaired"
    start(device)
    assert state() == "ok"


def test_what_cannot_be_repaired_is_left_and_memory_takes_its_place(tmp_path: Path) -> None:
    noise = os.urandom(4 * MEBIBYTE)
    backing = tmp_path / "noise.img"
    backing.write_bytes(noise)
    with loop(backing) as device:
        assert "tmpfs" in start(device, "stat -f -c %T /var/lib")
    assert state() == "damaged"
    assert "factory reset" in STATE.read_text()
    assert backing.read_bytes() == noise


def test_a_missing_partition_is_said() -> None:
    assert "tmpfs" in start("''", "stat -f -c %T /var/log")
    assert state() == "missing"


def test_a_full_partition_gives_up_its_reserve_for_the_configuration(device: str) -> None:
    start(device, "mkdir -p /data/lib/weir/uploads && touch /data/lib/weir/uploads/old.raucb")
    assert start(device, "stat -c %s /data/reserve") == f"{16 * MEBIBYTE}\n"
    fill = "dd if=/dev/zero of=/data/log/big bs=1M status=none 2>/dev/null; true"
    start(device, f"chmod 1777 /data/log && setpriv --reuid 1000 --clear-groups bash -c '{fill}'")
    room = start(device, "ls /data /data/lib/weir/uploads; df -Pk /data")
    assert state() == "full"
    assert "reserve" not in room
    assert "old.raucb" not in room
    available = re.search(r"(\d+)\s+\d+%", room)
    assert available is not None
    assert int(available[1]) > 12 << 10
    start(device, "rm /data/log/big")
    assert start(device, "ls /data/reserve") == "/data/reserve\n"
    assert state() == "ok"


def test_a_partition_without_folders_to_work_in_is_left_and_memory_takes_its_place(device: str) -> None:
    start(device, "rm -r /data/lib && echo what >/data/lib")
    assert "tmpfs" in start(device, "stat -f -c %T /var/lib /var/log")
    assert state() == "damaged"
    assert start(device, f"mount {device} /mnt && cat /mnt/lib") == "what\n"
    start(device, f"{SCRIPT} request wipe")
    assert "ext" in start(device, "stat -f -c %T /var/lib")
    assert state() == "ok"


def test_nothing_is_told_before_all_is_mounted(device: str, tmp_path: Path) -> None:
    """A start that fails on its way, or is ended there, has no state: the agent says that it failed."""
    start(device)
    assert state() == "ok"
    stub = tmp_path / "mount"
    stub.write_text(
        f'#!/bin/sh\nls {STATE} >>{tmp_path}/seen\n[ $1 != --bind ] || exit 1\nexec /bin/mount "$@"\n'
    )
    stub.chmod(0o755)
    with patch.dict(os.environ, PATH=f"{tmp_path}:{os.environ['PATH']}"), pytest.raises(AssertionError):
        start(device)
    assert (tmp_path / "seen").read_text() == ""
    found = data_partition.state(STATE)
    assert found is not None
    assert found["state"] == "failed"
    start(device)
    assert state() == "ok"


def test_a_reset_that_the_disk_refuses_is_told_and_tried_again(device: str) -> None:
    filled(device)
    start(device, f"chattr +i /data/lib/weir/weir.db && {SCRIPT} request wipe")
    start(device, "chattr -i /data/lib/weir/weir.db")
    assert state() == "not-reset"
    assert start(device, "ls /var/lib") == ""
    assert state() == "reset"


def test_the_partition_takes_the_rest_of_the_disk_and_nothing_is_lost(tmp_path: Path) -> None:
    disk = tmp_path / "disk.img"
    with disk.open("wb") as file:
        file.truncate(64 * MEBIBYTE)
    table = "label: gpt\nstart=2048, size=65536, name=data\n"
    subprocess.run(["sfdisk", "--quiet", disk], input=table, text=True, check=True, capture_output=True)
    with loop(disk, "--partscan") as small:
        run("mkfs.ext4", "-q", f"{small}p1")
        start(f"{small}p1", "echo kept >/data/lib/file")
    os.truncate(disk, 512 * MEBIBYTE)
    with loop(disk, "--partscan") as large:
        assert start(f"{large}p1", "cat /data/lib/file") == "kept\n"
        size_kib = start(f"{large}p1", "df -Pk /data").splitlines()[1].split()[1]
    assert int(size_kib) > 400 << 10
    assert state() == "ok"


def filled(device: str) -> None:
    """A router with a configuration, logs and a time zone."""
    start(
        device,
        "mkdir -p /data/lib/weir /data/zone /data/rauc && echo queues >/data/lib/weir/weir.db && "
        "echo line >/data/log/weir.log && echo A >/data/rauc/central.status && ln -s x /data/zone/localtime",
    )


def test_a_reset_that_keeps_puts_the_configuration_aside_and_leaves_logs(device: str) -> None:
    filled(device)
    start(device, f"{SCRIPT} request keep")
    found = start(device, "ls /var/lib /data/zone && cat /data/kept/weir/weir.db /var/log/weir.log")
    assert found.split() == ["/data/zone:", "/var/lib:", "queues", "line"]
    assert state() == "reset"
    start(device)
    assert state() == "ok"


def test_a_reset_that_wipes_leaves_nothing_of_the_owner(device: str) -> None:
    filled(device)
    start(device, f"{SCRIPT} request keep")
    start(device, f"echo again >/data/lib/file && {SCRIPT} request wipe")
    found = start(device, "cd /data && find . -type f")
    assert sorted(found.split()) == ["./rauc/central.status", "./reserve"]


def test_a_damaged_partition_is_recreated_when_somebody_decides_so(tmp_path: Path) -> None:
    backing = tmp_path / "noise.img"
    backing.write_bytes(os.urandom(MEBIBYTE) + bytes(31 * MEBIBYTE))
    with loop(backing) as device:
        refused = f"! {SCRIPT} request keep"
        start(device, refused)
        assert backing.read_bytes()[:4] != bytes(4)
        start(device, f"{SCRIPT} request wipe")
        assert "ext" in start(device, "stat -f -c %T /data")
    assert state() == "ok"


def test_raucs_file_of_the_slots_is_there_before_rauc_and_is_kept(device: str) -> None:
    """RAUC waits for the disk only when it replaces a file (tests/kernel/test_power_cut.py)."""
    assert "No slot was written" in start(device, "cat /data/rauc/central.status")
    start(device, "echo '[slot.system.1]' >/data/rauc/central.status")
    assert start(device, "cat /data/rauc/central.status") == "[slot.system.1]\n"


def test_raucs_file_of_the_slots_gets_its_name_when_it_is_on_disk(device: str, tmp_path: Path) -> None:
    """A commit of the journal may come at any time, and of a file without its content leave zeroes."""
    seen = tmp_path / "seen"
    stub = tmp_path / "sync"
    stub.write_text(f"#!/bin/sh\nls /data/rauc | xargs >>{seen}\nexec /bin/sync\n")
    stub.chmod(0o755)
    with patch.dict(os.environ, PATH=f"{tmp_path}:{os.environ['PATH']}"):
        start(device)
    assert seen.read_text().splitlines()[:2] == ["central.status.new", "central.status"]

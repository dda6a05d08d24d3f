# SPDX-License-Identifier: Apache-2.0
"""The journal over many starts: the image's script and limits, the real journald, a real ext4 partition.

A start is a mount namespace with machine and boot ids of its own, which begins with journald in memory as a
start does, and ends with its death, as a power cut ends it. tests/kernel/test_later_start.py has two whole
starts.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.disks.test_data_partition import MEBIBYTE, ROOT, SCRIPT, loop, partition, run

JOURNALD = Path("/lib/systemd/systemd-journald")
pytestmark = [
    pytest.mark.skipif(
        not os.environ.get("WEIR_IN_VM"), reason="it mounts over /data and /var: only in a machine of its own"
    ),
    pytest.mark.skipif(not JOURNALD.exists(), reason="systemd-journald is missing"),
]
LIMITS = ROOT / "board/overlay/etc/systemd/journald.conf.d"
START = f"""
set -euo pipefail
mount -t tmpfs run /run
mkdir -p /run/systemd/journal /run/weir-data
cp -r {LIMITS} /run/systemd/
printf '[Journal]\nReadKMsg=no\n' >/run/systemd/journald.conf.d/zz.conf
eval "$2"
tr -d - </proc/sys/kernel/random/uuid >/run/machine-id
cp /proc/sys/kernel/random/uuid /run/boot-id
mount -t cgroup2 cgroup /sys/fs/cgroup
mount --bind /run/machine-id /etc/machine-id
mount --bind /run/boot-id /proc/sys/kernel/random/boot_id
{JOURNALD} &
trap 'kill -KILL $!' EXIT
until [ -S /run/systemd/journal/stdout ] && [ -S /run/systemd/journal/io.systemd.journal ]; do :; done
say() {{ systemd-cat -t weir-test echo "$1" && journalctl --sync; }}
said() {{ journalctl -q -t weir-test -o cat "$@"; }}
WEIR_DATA_DEVICE=$1 {SCRIPT} start
journalctl --flush
"""
NOISE = "head -c 1500000 /dev/urandom | base64 -w 10000 | systemd-cat -t noise; journalctl --sync"


def start(device: str, then: str, first: str = "true") -> str:
    """A start, what `then` prints in it, and a power cut. `first`: before journald begins."""
    Path("/data").mkdir(exist_ok=True)
    return run("unshare", "--mount", "bash", "-c", START + then, "start", device, first)


@pytest.fixture
def device(tmp_path: Path) -> Iterator[str]:
    with partition(tmp_path, 192) as found:
        yield found


def test_the_starts_before_are_read_under_the_id_of_this_one(device: str) -> None:
    start(device, "say first")
    start(device, "say second")
    told = start(
        device, "said -b -1; said; ls /var/log/journal; journalctl -q --list-boots; journalctl -q -o cat"
    )
    lines = told.splitlines()
    assert lines[:3] == ["second", "first", "second"]
    assert len(lines[3]) == 32
    assert [line.split()[0] for line in lines[4:7]] == ["-2", "-1", "0"]
    assert "corrupted or uncleanly shut down" not in told, "no start is told as a damage"


def test_it_stays_within_its_limit_over_many_starts_and_the_oldest_go_first(device: str) -> None:
    """A smaller limit than the image's, so that few starts reach it; each leaves a file of 1 MiB."""
    limit = "echo SystemMaxUse=2M >>/run/systemd/journald.conf.d/zz.conf"
    sizes_kib = [
        int(start(device, f"say start-{number}; du -sk /var/log/journal | cut -f 1", first=limit))
        for number in range(5)
    ]
    assert sizes_kib[1] > 1 << 10
    assert max(sizes_kib) <= 3100, sizes_kib
    kept = start(device, "said").split()
    assert kept == [f"start-{number}" for number in range(5 - len(kept), 5)]
    assert 1 < len(kept) < 5


def test_on_a_full_partition_it_leaves_what_was_given_up_for_the_configuration(device: str) -> None:
    start(device, "say before")
    full = "dd if=/dev/zero of=/data/lib/big bs=1M status=none 2>/dev/null || true"
    start(device, f"chmod 1777 /data/lib && setpriv --reuid 1000 --clear-groups bash -c '{full}'")
    free_kib = start(device, f"{NOISE}; say here; said | tail -1; df -Pk /data | tail -1").split()
    assert free_kib[0] == "here"
    assert int(free_kib[-3]) > 8 << 10


def test_a_reset_that_keeps_leaves_it_and_one_that_wipes_does_not(device: str) -> None:
    start(device, f"say before; {SCRIPT} request keep")
    assert start(device, f"said -b -1; {SCRIPT} request wipe") == "before\n"
    assert start(device, "said; say after; said") == "after\n"


def test_folders_of_several_starts_come_together_and_others_stay(device: str) -> None:
    """As a release leaves them that did not adopt them."""
    start(device, "say first")
    start(device, "mv /var/log/journal/* /data/aside; mkdir /var/log/journal/notes")
    aside, empty = (f"/var/log/journal/{digit * 32}" for digit in "01")
    start(device, f"say second; mv /data/aside {aside}; mkdir {empty}; touch {empty}/note")
    found = start(device, "said; ls /var/log/journal; ls /var/log/journal/*/note")
    first, second, *folders, note = found.split()
    assert (first, second) == ("first", "second")
    assert len(folders) == 3
    assert {"1" * 32, "notes"} < set(folders)
    assert note == f"{empty}/note"


def test_without_a_partition_it_stays_in_memory(tmp_path: Path) -> None:
    shutil.rmtree("/var/log/journal", ignore_errors=True)
    (tmp_path / "noise.img").write_bytes(os.urandom(4 * MEBIBYTE))
    with loop(tmp_path / "noise.img") as damaged:
        assert (
            start(damaged, "say here; said; ls -d /run/log/journal; ls /data/log")
            == "here\n/run/log/journal\n"
        )

# SPDX-License-Identifier: Apache-2.0
"""What a start finds of the one before, whose power was cut: systemd and the image's units on its kernel.

The data partition, the journal, and the firewall and addresses that come before the agent
(weir-early.service).
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.image.slot_disk import MEBIBYTE, SlotDisk, missing_tools
from tests.kernel.product import KERNEL, ROOT, needs_kernel
from tests.kernel.slot_system import SHARED_FILES, make_system

SYSTEMD = Path("/lib/systemd/systemd")
TOLD = re.compile(rb"later start: (\{.*\})\.")
PORTS = tuple(
    word
    for number in range(2)
    for word in ("-netdev", f"user,id=n{number},restrict=on", "-device", f"virtio-net-pci,netdev=n{number}")
)
MISSING = [*missing_tools(), *([] if SYSTEMD.exists() else ["systemd"])]
STAYING = ["eth0 192.168.88.1/24", "eth1 198.51.100.2/30", "voice 10.88.8.1/24"]
GOING = "eth0 10.88.7.1/24"

pytestmark = [
    needs_kernel,
    pytest.mark.skipif(bool(MISSING), reason=f"missing: {', '.join(MISSING)}"),
]


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Two starts of one disk, each of which ends by a power cut; what each told."""
    folder = tmp_path_factory.mktemp("later")
    data = folder / "data.ext4"
    with data.open("wb") as file:
        file.truncate(128 * MEBIBYTE)
    subprocess.run(["/usr/sbin/mkfs.ext4", "-q", "-O", "metadata_csum,64bit", data], check=True)
    disk = SlotDisk(folder, KERNEL, data)
    program = "/bin/bash tests/kernel/guest/slot_starts_later"
    words = f"--chdir={ROOT} WEIR_DATA_DEVICE=/dev/vda7 {program}"
    disk.write("system-A", make_system(folder, "A", "slot_with_shared_files", words=words))
    told = []
    for _ in range(2):
        disk.set_environment(ORDER="A B", A_OK="1", A_TRY="0")
        found = disk.start(TOLD, "virtio", *SHARED_FILES, *PORTS)
        assert found is not None, disk.console()[-3000:]
        told.append(json.loads(found[1]))
    return told


def test_without_a_file_nothing_comes_before_the_agent(starts: list[dict[str, Any]]) -> None:
    first = starts[0]
    assert (first["start"], first["data"]) == (1, "ok")
    assert (first["early"]["addresses"], first["early"]["up"], first["early"]["firewall"]) == ([], [], False)


def test_firewall_ports_and_vlan_are_there_before_the_agent_which_makes_them_its_own(
    starts: list[dict[str, Any]],
) -> None:
    early, later = starts[1]["early"], starts[1]["later"]
    assert starts[1]["early_unit"] == "success"
    for found in (early, later):
        assert found["addresses"] == sorted([GOING, *STAYING])
        assert found["up"] == ["eth0", "eth1", "voice"]
        assert found["tags"] == [7]
        assert found["firewall"]
    assert (early["forwards"], later["forwards"]) == (False, True)
    assert (early["marked"], later["marked"]) == ([], later["addresses"])


def test_an_address_of_the_early_start_goes_when_it_is_no_longer_configured(
    starts: list[dict[str, Any]],
) -> None:
    changed = starts[1]["changed"]
    assert changed["addresses"] == changed["marked"] == STAYING
    assert changed["up"] == ["eth0", "eth1", "voice"]


def test_the_journal_of_the_start_before_is_read_in_this_one(starts: list[dict[str, Any]]) -> None:
    assert [found["agent_before"] for found in starts] == [False, True]
    assert [found["boots"] for found in starts] == [1, 2]
    assert [found["journals"] for found in starts] == [1, 1]
    assert [found["data"] for found in starts] == ["ok", "ok"]

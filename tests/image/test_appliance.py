# SPDX-License-Identifier: Apache-2.0
"""`make vm`: which image is booted, and how it is attached; `make image-life`: what a console said."""

from __future__ import annotations

import io
import lzma
import os
import socket
from pathlib import Path

import pytest

from lab import appliance, plan
from lab.image_life import starts_of


def image(folder: Path, name: str, age_s: int) -> Path:
    path = folder / name
    path.write_bytes(lzma.compress(b"disk"))
    os.utime(path, (1_000_000 - age_s, 1_000_000 - age_s))
    return path


def test_the_newest_image_is_booted(tmp_path: Path) -> None:
    assert appliance.newest_image(tmp_path / "none") is None
    image(tmp_path, "weir-0.1.0.raucb", 0)
    assert appliance.newest_image(tmp_path) is None
    old = image(tmp_path, "weir-qemu-0.1.0.qcow2", 100)
    assert appliance.newest_image(tmp_path) == old
    packed = image(tmp_path, "weir-appliance-0.2.0.img.xz", 10)
    assert appliance.newest_image(tmp_path) == packed
    same = image(tmp_path, "weir-appliance-0.2.0.qcow2", 10)
    assert appliance.newest_image(tmp_path) == same, "of one build the one that need not be unpacked"


def test_a_packed_disk_is_unpacked_once_and_again_when_it_is_newer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "BUILD", tmp_path / "build")
    packed = image(tmp_path, "weir-appliance-0.2.0.img.xz", 0)
    disk = appliance.unpacked(packed)
    assert disk.read_bytes() == b"disk"
    disk.write_bytes(b"as it was")
    assert appliance.unpacked(packed).read_bytes() == b"as it was"
    packed.write_bytes(lzma.compress(b"newer"))
    assert appliance.unpacked(packed).read_bytes() == b"newer"


def test_the_first_port_is_the_lan_and_the_disk_is_left_as_it_is(tmp_path: Path) -> None:
    words = appliance.qemu(tmp_path / "weir.qcow2", 8443, "stdio")
    assert words.index("virtio-net-pci,netdev=lan,addr=0x5") < words.index(
        "virtio-net-pci,netdev=wan,addr=0x6"
    )
    assert any("hostfwd=tcp:127.0.0.1:8443-192.168.88.1:443" in word for word in words)
    assert any("snapshot=on" in word for word in words)


def test_the_console_has_a_file_when_nobody_is_at_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "qemu-system-x86_64"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\nfor word; do case $word in file:*) echo menu >"${word#file:}" ;; esac; done\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setattr(plan, "BUILD", tmp_path / "build")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setattr("signal.signal", lambda *_: None)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert appliance.run(image(tmp_path, "weir-0.2.0.qcow2", 0), port) == 0
    assert (tmp_path / "build/vm/image-console.log").read_text() == "menu\n"


@pytest.mark.parametrize("terminals", [1, 2])
def test_starts_of_a_slot_are_counted_once_whatever_grub_writes_to(terminals: int) -> None:
    """As the appliance's GRUB has it by EFI: no greeting, and a line for each of its terminals."""
    starts = ["Booting `Weir (slot B)'" * terminals + "\n\n\x1b[!pWeir 0.1.0\n  Slot: B runs"] * 3
    heard = "\n".join([*starts, "Booting `Weir (slot A)'" * terminals])
    assert (starts_of("B", heard), starts_of("A", heard)) == (3, 1)

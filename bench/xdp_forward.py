# SPDX-License-Identifier: Apache-2.0
"""xdp-tools' xdp-forward as a yardstick: its own program, taken out of Debian trixie's package.

The package is downloaded and unpacked below build/bench, never installed. Its program is attached directly,
without the dispatcher that its loader puts before it, which can only make it faster.
"""

from __future__ import annotations

import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.forwarding import Port, Prepare
from bench.rows import OUT
from lab import netns, plan
from weir.adapters.bpffs import mount_bpffs, unmount_bpffs

FOLDER = OUT / "xdp-tools"
OBJECT = FOLDER / "xdp_forward.bpf.o"
PROGRAM, DEVICES = "xdp_fwd_fib_full", "xdp_tx_ports"
_ELF, _MACHINE_BPF = b"\x7fELF\x02\x01\x01", 247


def fetch() -> Path:
    """The object file with the program; raises LabError where the package cannot be had."""
    if OBJECT.exists():
        return OBJECT
    suite = str(plan.ROOT / "lab" / "setup" / "suite.sh")
    netns.run([suite, "download", "trixie", str(FOLDER), "xdp-tools"])
    package = sorted(FOLDER.glob("xdp-tools_*.deb"))[-1]
    netns.run(["dpkg", "-x", str(package), str(FOLDER / "root")])
    tool = (FOLDER / "root" / "usr" / "sbin" / "xdp-forward").read_bytes()
    for found in embedded(tool):
        if PROGRAM.encode() in found:
            OBJECT.write_bytes(found)
            return OBJECT
    raise netns.LabError(f"{package.name} has no program {PROGRAM}")


def embedded(tool: bytes) -> Iterator[bytes]:
    """BPF object files inside an executable: from each ELF header to the end of its section table."""
    at = tool.find(_ELF, 1)
    while at > 0:
        (machine,) = struct.unpack_from("<H", tool, at + 18)
        (sections_at,) = struct.unpack_from("<Q", tool, at + 40)
        size, count = struct.unpack_from("<HH", tool, at + 58)
        if machine == _MACHINE_BPF:
            yield tool[at : at + sections_at + size * count]
        at = tool.find(_ELF, at + 1)


@contextmanager
def loaded(program: Path) -> Iterator[Prepare]:
    """Puts the program on both links of a configuration, for both to forward to each other."""
    with TemporaryDirectory() as folder:
        mount = Path(folder)
        mount_bpffs(mount)
        try:
            netns.run(
                [
                    "bpftool",
                    "prog",
                    "loadall",
                    str(program),
                    f"{mount}/p",
                    "type",
                    "xdp",
                    "pinmaps",
                    f"{mount}/m",
                ]
            )
            yield lambda port: attach(port, mount)
        finally:
            subprocess.run(["rm", "-rf", f"{mount}/p", f"{mount}/m"], check=True)
            unmount_bpffs(mount)


def attach(port: Port, mount: Path) -> None:
    for device in (port.ingress, port.egress):
        index = " ".join(str(byte) for byte in socket.if_nametoindex(device).to_bytes(4, "little"))
        key = f"key {index} value {index}".split()
        netns.run(["bpftool", "map", "update", "pinned", f"{mount}/m/{DEVICES}", *key])
        netns.run(["bpftool", "net", "attach", "xdpdrv", "pinned", f"{mount}/p/{PROGRAM}", "dev", device])

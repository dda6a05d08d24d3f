# SPDX-License-Identifier: Apache-2.0
"""The newest built image in a virtual machine, as an appliance stands in a rack: two cables and a console.

Its first port is the LAN, where this machine is the client (QEMU's user network forwards one port to the web
interface); its second is the WAN, with a network behind it that leads nowhere. What the machine writes to its
disk is gone at the end.
"""

from __future__ import annotations

import lzma
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from lab import plan, ports, process
from lab.netns import LabError

IMAGES = plan.BUILD / "images"
ROUTER = "192.168.88.1"


def newest_image(folder: Path = IMAGES) -> Path | None:
    """The disk image that was built last; None when there is none."""
    found = [path for pattern in ("weir-*.qcow2", "weir-*.img.xz") for path in folder.glob(pattern)]
    return max(found, key=lambda path: (path.stat().st_mtime_ns, path.suffix == ".qcow2"), default=None)


def run(image: Path, port: int) -> int:
    """Until the machine is switched off, or Ctrl-A X; QEMU's status. Raises LabError."""
    if shutil.which("qemu-system-x86_64") is None:
        raise LabError("qemu-system-x86_64 is missing: `make vm-image` installs it")
    if not ports.port_is_free("127.0.0.1", port):
        raise LabError(f"port {port} is taken; choose another one with PORT=")
    disk = unpacked(image)
    log = plan.BUILD / "vm" / "image-console.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    here = sys.stdin.isatty()
    print(f"booting {image.name}; its processors are emulated, so give it a minute or two")
    print(f"  https://127.0.0.1:{port} leads to the router, whose certificate is its own")
    print(
        "  its console follows (Ctrl-A X switches it off)" if here else f"  its console goes to {log}",
        flush=True,
    )
    console = "mon:stdio" if here else f"file:{log}"
    with subprocess.Popen(qemu(disk, port, console), preexec_fn=process.die_with_parent) as machine:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: machine.terminate())
        return machine.wait()


def unpacked(image: Path) -> Path:
    """QEMU's own format as it is; a compressed disk beside the virtual machine's files."""
    if image.suffix == ".qcow2":
        return image
    disk = plan.BUILD / "vm" / image.with_suffix("").name
    if not disk.exists() or disk.stat().st_mtime_ns < image.stat().st_mtime_ns:
        disk.parent.mkdir(parents=True, exist_ok=True)
        draft = disk.with_suffix(".new")
        with lzma.open(image) as packed, draft.open("wb") as plain:
            shutil.copyfileobj(packed, plain, 1 << 20)
        draft.rename(disk)
    return disk


def qemu(disk: Path, port: int, console: str) -> list[str]:
    kind = "qcow2" if disk.suffix == ".qcow2" else "raw"
    return [*machine(port, console), "-drive", f"file={disk},format={kind},if=virtio,snapshot=on"]


def machine(port: int, console: str, *, hurry: bool = False, counted: bool = False) -> list[str]:
    """QEMU's words but for disks. `hurry`: one processor, and a clock that skips idle time. `counted`: one
    whose clock counts its instructions, and goes as fast as this machine's where it waits.

    An emulated `rep movsb` copies byte by byte: the kernel takes another way when the processor does not
    call it fast.
    """
    forward = f"hostfwd=tcp:127.0.0.1:{port}-{ROUTER}:443"
    lan = f"user,id=lan,net=192.168.88.0/24,host=192.168.88.2,dns=192.168.88.3,{forward}"
    several = ("-accel", "tcg,thread=multi", "-smp", "2")
    one = ("-accel", "tcg,thread=single", "-smp", "1", "-icount", f"shift=0,sleep={'off' if hurry else 'on'}")
    return [
        *("qemu-system-x86_64", "-nodefaults", "-display", "none"),
        *("-machine", "q35", "-cpu", "max,-erms,-fsrm"),
        *(one if hurry or counted else several),
        *("-m", "1G", "-device", "virtio-rng-pci", "-serial", console),
        *("-netdev", lan, "-device", "virtio-net-pci,netdev=lan,addr=0x5"),
        *("-netdev", "user,id=wan,restrict=on,net=198.51.100.0/24,host=198.51.100.1"),
        *("-device", "virtio-net-pci,netdev=wan,addr=0x6"),
    ]

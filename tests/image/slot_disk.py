# SPDX-License-Identifier: Apache-2.0
"""A small disk with the image's layout and the real GRUB files, and the boots of it in QEMU.

The kernel is one of our own that says on the console what it was told, and that is all these tests need:
which slot GRUB chose, and what it wrote into its environment before.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMAGE = ROOT / "board" / "image"
KERNEL = Path(__file__).with_name("telling_kernel.s")
TOOLS = (
    "grub-mkimage", "grub-editenv", "mcopy", "mkfs.vfat", "mksquashfs", "sfdisk", "qemu-system-x86_64",
    "as", "objcopy",
)  # fmt: skip
GRUB_BIOS = Path("/usr/lib/grub/i386-pc")
SECTOR = 512
MEBIBYTE = 2**20
BIOS_AT, BOOT_AT, BOOT_SIZE, SYSTEM_SIZE = 2 * MEBIBYTE, 3 * MEBIBYTE, 16 * MEBIBYTE, 4 * MEBIBYTE
CHOSEN = re.compile(rb"ommand line: BOOT_IMAGE=\(hd0,(\w+)\)\S* root=PARTUUID=(\S+) .*rauc\.slot=([AB]) ")


def missing_tools() -> list[str]:
    missing = [tool for tool in TOOLS if shutil.which(tool, path="/usr/sbin:/sbin:/usr/bin:/bin") is None]
    return missing if GRUB_BIOS.exists() else [*missing, "grub-pc-bin"]


def modules() -> list[str]:
    config = (ROOT / "configs/weir_x86_64_defconfig").read_text(encoding="utf-8")
    found = re.search(r'BUILTIN_MODULES_PC="([^"]*)"', config)
    assert found is not None
    return found[1].split()


def run(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)


def pack(folder: Path, image: Path, compression: str) -> None:
    run("mksquashfs", folder, image, "-comp", compression, "-noappend", "-quiet", "-no-progress")


def make_core(core: Path, *words: str | Path) -> None:
    """GRUB's part for a BIOS, of the configuration and modules that `words` name."""
    run("grub-mkimage", "-O", "i386-pc", "-p", "/grub", "-o", core, *words)


class SlotDisk:
    """`folder` holds the disk and the boot partition's files; both slots have the kernel.

    `kernel` is another one than that which tells, `data` the content of a data partition, `microcode` that of
    the file beside the kernel.
    """

    def __init__(
        self,
        folder: Path,
        kernel: Path | None = None,
        data: Path | None = None,
        microcode: bytes | None = None,
    ) -> None:
        self.disk = folder / "disk.img"
        self.kernel = self.system = ""
        """Of the last boot: the partition that the kernel came from, and its root by its GUID."""
        self.log = folder / "console.log"
        self._folder = folder
        self._boot = folder / "boot.vfat"
        self._make_boot_partition()
        kernels = folder / "kernel"
        kernels.mkdir()
        if kernel is not None:
            shutil.copy(kernel, kernels / "bzImage")
        else:
            run("as", "--32", KERNEL, "-o", folder / "kernel.o")
            run("objcopy", "-O", "binary", "-j", ".text", folder / "kernel.o", kernels / "bzImage")
        if microcode is not None:
            (kernels / "microcode.img").write_bytes(microcode)
        pack(kernels, folder / "kernel.squashfs", "gzip")
        self._assemble(data)

    def _make_boot_partition(self) -> None:
        environment = self._folder / "grubenv"
        run("grub-editenv", environment, "create")
        run("grub-editenv", environment, "set", "ORDER=A B", "A_OK=1", "A_TRY=0", "B_OK=1", "B_TRY=0")
        self._boot.write_bytes(bytes(BOOT_SIZE))
        run("mkfs.vfat", "-n", "WEIRBOOT", self._boot)
        run("mmd", "-i", self._boot, "::grub")
        menu = (IMAGE / "grub.cfg").read_text(encoding="utf-8")
        quick = self._folder / "grub.cfg"
        # A kernel that finds its emulated timer late, because others have the processors, would panic.
        loud = menu.replace(" quiet ", " no_timer_check ")
        quick.write_text(loud.replace("timeout=2", "timeout=0"))
        run("mcopy", "-i", self._boot, quick, "::grub/grub.cfg")
        for name in ("grubenv", "grubenv.copy"):
            run("mcopy", "-i", self._boot, environment, f"::grub/{name}")

    def _assemble(self, data: Path | None) -> None:
        core, boot = self._folder / "core.img", GRUB_BIOS / "boot.img"
        make_core(core, "-c", IMAGE / "grub-start.cfg", *modules())
        new_boot, new_core = self._folder / "bios-boot.img", self._folder / "bios-core.img"
        run(sys.executable, IMAGE / "bios_boot.py", boot, core, str(BIOS_AT // SECTOR), new_boot, new_core)
        parts = [("bios", BIOS_AT, MEBIBYTE), ("boot", BOOT_AT, BOOT_SIZE)]
        at = BOOT_AT + BOOT_SIZE
        kernel_size = -(-(self._folder / "kernel.squashfs").stat().st_size // MEBIBYTE) * MEBIBYTE
        for slot in "AB":
            parts += [(f"kernel-{slot}", at, kernel_size), (f"system-{slot}", at + kernel_size, SYSTEM_SIZE)]
            at += kernel_size + SYSTEM_SIZE
        if data is not None:
            parts.append(("data", at, data.stat().st_size))
            at += data.stat().st_size
        self.parts = {name: (start, size) for name, start, size in parts}
        """Of each partition: where it begins and how large it is, in bytes."""
        with self.disk.open("wb") as disk:
            disk.truncate(at + MEBIBYTE)
        table = "label: gpt\n" + "".join(
            f"start={start // SECTOR}, size={size // SECTOR}, name={name}\n" for name, start, size in parts
        )
        subprocess.run(
            ["/usr/sbin/sfdisk", "--quiet", self.disk],
            input=table,
            text=True,
            check=True,
            capture_output=True,
        )
        with self.disk.open("r+b") as disk:
            disk.write(new_boot.read_bytes()[:440])
            for offset, source in ((BIOS_AT, new_core), (BOOT_AT, self._boot)):
                disk.seek(offset)
                disk.write(source.read_bytes())
            for name, start, _ in parts:
                if name.startswith("kernel-"):
                    disk.seek(start)
                    disk.write((self._folder / "kernel.squashfs").read_bytes())
            if data is not None:
                disk.seek(self.parts["data"][0])
                disk.write(data.read_bytes())

    def write(self, part: str, content: bytes) -> None:
        with self.disk.open("r+b") as disk:
            disk.seek(self.parts[part][0])
            disk.write(content)

    @property
    def _boot_option(self) -> str:
        return f"{self.disk}@@{BOOT_AT}"

    def damage(self, name: str, content: bytes) -> None:
        """What a power cut or a bad sector leaves of an environment file."""
        copy = self._folder / "damaged"
        copy.write_bytes(content)
        run("mcopy", "-o", "-i", self._boot_option, copy, f"::grub/{name}")

    def environment(self, name: str = "grubenv") -> dict[str, str]:
        copy = self._folder / "grubenv.read"
        copy.unlink(missing_ok=True)
        run("mcopy", "-n", "-i", self._boot_option, f"::grub/{name}", copy)
        listed = subprocess.run(
            ["grub-editenv", copy, "list"], check=True, capture_output=True, text=True
        ).stdout
        return dict(line.split("=", 1) for line in listed.splitlines())

    def partition_uuid(self, number: int) -> str:
        shown = subprocess.run(
            ["/usr/sbin/sfdisk", "--part-uuid", self.disk, str(number)],
            check=True,
            capture_output=True,
            text=True,
        )
        return shown.stdout.strip().lower()

    def set_environment(self, name: str = "grubenv", **values: str) -> None:
        """What an installation into a slot does, or marking one good."""
        self.environment(name)
        copy = self._folder / "grubenv.read"
        run("grub-editenv", copy, "set", *(f"{key}={value}" for key, value in values.items()))
        run("mcopy", "-o", "-i", self._boot_option, copy, f"::grub/{name}")

    def boot(self) -> str:
        """Power on, and off again when the kernel says what it was told. Returns the slot, or ""."""
        found = self.start(CHOSEN, "ide")
        if found is None:
            return ""
        self.kernel, self.system, slot = (part.decode() for part in found.groups())
        return slot

    def console(self) -> str:
        """What the last boot wrote to its serial line."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def start(
        self, wanted: re.Pattern[bytes], bus: str, *options: str, timeout_s: float = 600
    ) -> re.Match[bytes] | None:
        """Power on, and off again when the console says what is wanted. `bus`, `options`: QEMU's words."""
        self.log.unlink(missing_ok=True)
        command = ["qemu-system-x86_64", "-nodefaults", "-display", "none", "-no-reboot", "-machine", "q35"]
        command += ["-accel", "tcg", "-cpu", "max", "-m", "512", "-serial", f"file:{self.log}"]
        command += ["-drive", f"file={self.disk},format=raw,if={bus}", *options]
        deadline = time.monotonic() + timeout_s
        with subprocess.Popen(command, stdin=subprocess.DEVNULL) as machine:
            try:
                while time.monotonic() < deadline:
                    found = wanted.search(self.log.read_bytes()) if self.log.exists() else None
                    if found is not None:
                        return found
                    with suppress(subprocess.TimeoutExpired):
                        machine.wait(timeout=0.2)
                        break
            finally:
                machine.kill()
        return wanted.search(self.log.read_bytes()) if self.log.exists() else None

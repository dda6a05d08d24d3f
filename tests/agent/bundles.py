# SPDX-License-Identifier: Apache-2.0
"""Update bundles made by the real RAUC with keys of a test's own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IMAGE = ROOT / "board" / "image"
BOOT_CHOICE = ROOT / "board/overlay/usr/libexec/weir/boot-choice"
TOOLS = ("rauc", "mksquashfs", "openssl", "grub-editenv")


def missing_tools() -> list[str]:
    return [tool for tool in TOOLS if shutil.which(tool) is None]


class Bundler:
    """`make` a bundle below `folder`, signed by the authority that `keyring` names or by another one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keyring = self._keys("ours") / "keyring.pem"

    def _keys(self, name: str) -> Path:
        keys = self.folder / name
        subprocess.run([str(IMAGE / "keys.sh"), str(keys)], check=True)
        return keys

    def make(
        self,
        version: str = "0.2.0",
        *,
        compatible: str = "weir-x86_64",
        signer: str = "ours",
        size: int = 50_000,
        system: bytes | None = None,
        kernel: bytes | None = None,
    ) -> Path:
        """A bundle with `size` random bytes as the system and half as many as the kernel when not given."""
        keys = self._keys(signer)
        content = self.folder / f"content-{version}-{compatible}-{signer}"
        content.mkdir()
        (content / "rootfs.squashfs").write_bytes(system or os.urandom(size))
        (content / "kernel.squashfs").write_bytes(kernel or os.urandom(size // 2))
        manifest = (IMAGE / "manifest.raucm.in").read_text(encoding="utf-8")
        text = manifest.replace("@VERSION@", version).replace("weir-x86_64", compatible)
        (content / "manifest.raucm").write_text(text, encoding="utf-8")
        bundle = self.folder / f"{content.name}.raucb"
        subprocess.run(
            [
                "rauc",
                "bundle",
                f"--cert={keys / 'signer.pem'}",
                f"--key={keys / 'signer.key'}",
                content,
                bundle,
            ],
            check=True,
            capture_output=True,
        )
        return bundle

    def config(self, **devices: Path) -> Path:
        """The product's system.conf with this test's keyring, and files for devices.

        GRUB's environment is where `WEIR_BOOT_FOLDER` says.
        """
        text = (ROOT / "board/overlay/etc/rauc/system.conf").read_text(encoding="utf-8")
        text = text.replace("/etc/rauc/keyring.pem", str(self.keyring))
        text = text.replace("/data/rauc/central.status", str(self.folder / "central.status"))
        text = text.replace("/usr/libexec/weir/boot-choice", str(BOOT_CHOICE))
        for partition, path in devices.items():
            device = f"/dev/weir/{partition.replace('_', '-')}"
            assert f"device={device}\n" in text, f"system.conf has no slot on {device}"
            text = text.replace(device, str(path))
        config = self.folder / "system.conf"
        config.write_text(text, encoding="utf-8")
        return config

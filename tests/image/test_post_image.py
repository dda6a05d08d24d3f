# SPDX-License-Identifier: Apache-2.0
"""What `make image` leaves behind, by the real scripts and tools on a system of a few bytes."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.image.slot_disk import make_core

ROOT = Path(__file__).resolve().parents[2]
IMAGE = ROOT / "board/image"
GRUB = Path("/usr/lib/grub/i386-pc/boot.img")
TOOLS = (
    *("genimage", "bmaptool", "qemu-img", "rauc", "mksquashfs", "grub-editenv", "grub-mkimage", "sfdisk"),
    *("mcopy", "mkfs.vfat", "mke2fs", "openssl", "cpio"),
)
PATH = "/usr/sbin:/sbin:/usr/bin:/bin"
missing = [tool for tool in TOOLS if shutil.which(tool, path=PATH) is None]
pytestmark = pytest.mark.skipif(
    bool(missing) or not GRUB.exists(), reason=f"board/image/packages.txt: missing {missing}"
)
MICROCODE = {
    "images/intel-ucode/06-3a-09": b"one",
    "images/intel-ucode/06-55-04": b"two",
    "images/intel-ucode/list": b"of no processor",
    "target/usr/lib/firmware/amd-ucode/microcode_amd.bin": b"three",
    "target/usr/lib/firmware/amd-ucode/microcode_amd_fam16h.bin": b"four",
    "target/usr/lib/firmware/amd-ucode/microcode_amd.bin.asc": b"a signature",
}
"""As Buildroot leaves it: Intel's among the images, AMD's in the system."""
NUMPY = tuple(
    f"usr/lib/python3.14/site-packages/numpy/{name}.pyc"
    for name in ("__init__", "tests/test_public", "_core/numeric", "_core/tests/test_umath")
)
SMALLER = (("size = 512M", "size = 8M"), ("size = 48M", "size = 1M"), ("size = 64M", "size = 2M"))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": PATH, **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of images after post-build.sh and post-image.sh, on what Buildroot would have left."""
    root = tmp_path_factory.mktemp("repository")
    shutil.copytree(ROOT / "board", root / "board", symlinks=True)
    layout = (IMAGE / "genimage.cfg").read_text(encoding="utf-8")
    for old, new in SMALLER:
        assert old in layout
        layout = layout.replace(old, new)
    (root / "board/image/genimage.cfg").write_text(layout, encoding="utf-8")
    images, target = root / "images", root / "target"
    (images / "efi-part/EFI/BOOT").mkdir(parents=True)
    (images / "efi-part/EFI/BOOT/bootx64.efi").write_bytes(b"EFI")
    (images / "bzImage").write_bytes(b"kernel" * 1000)
    make_core(images / "grub.img", "biosdisk", "part_gpt", "fat")
    (target / "usr/lib/grub/i386-pc").mkdir(parents=True)
    shutil.copy(GRUB, target / "usr/lib/grub/i386-pc/boot.img")
    for name in NUMPY:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(b"code")
    (target / "etc").mkdir()
    for name, content in MICROCODE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    run(root / "board/image/post-build.sh", target, "qemu", BINARIES_DIR=str(images))
    run("mksquashfs", target, images / "rootfs.squashfs", "-quiet", "-no-progress")
    # As Buildroot calls it, which builds the same bytes whenever it is.
    run(root / "board/image/post-image.sh", images, "qemu", BINARIES_DIR=str(images), SOURCE_DATE_EPOCH="1")
    return root / "build/images"


def test_the_disk_for_flashing_has_the_slots_and_a_map_of_its_blocks(made: Path) -> None:
    disk = made / "disk.img"
    disk.write_bytes(lzma.decompress((made / "weir-qemu-0.1.0.img.xz").read_bytes()))
    table = json.loads(run("sfdisk", "--json", disk))["partitiontable"]["partitions"]
    names = [part["name"] for part in table]
    assert names == ["bios", "boot", "kernel-A", "system-A", "kernel-B", "system-B", "data"]
    start = {part["name"]: part["start"] * 512 for part in table}
    plain = disk.read_bytes()
    system = (made.parents[1] / "images/rootfs.squashfs").read_bytes()
    for slot in "AB":
        assert plain[start[f"system-{slot}"] :].startswith(system)
    assert plain[start["bios"] :].startswith((made.parents[1] / "images/bios-core.img").read_bytes())
    block_map = (made / "weir-qemu-0.1.0.img.bmap").read_text(encoding="utf-8")
    size = re.search(r"<ImageSize>\s*(\d+)\s*</ImageSize>", block_map)
    assert size is not None
    assert int(size[1]) == len(plain)


def test_the_tests_of_numpy_are_not_on_the_router(made: Path) -> None:
    target = made.parents[1] / "target"
    kept = [name for name in NUMPY if (target / name).exists()]
    assert kept == [name for name in NUMPY if "tests" not in name]


def test_qemu_gets_the_same_disk(made: Path) -> None:
    """With as much room behind it as a small real disk has, which the data partition takes."""
    disk = made / "copy.qcow2"
    shutil.copyfile(made / "weir-qemu-0.1.0.qcow2", disk)
    assert json.loads(run("qemu-img", "info", "--output=json", disk))["virtual-size"] == 4 << 30
    plain = lzma.decompress((made / "weir-qemu-0.1.0.img.xz").read_bytes())
    run("qemu-img", "resize", "--shrink", disk, str(len(plain)))
    run("qemu-img", "convert", "-O", "raw", disk, made / "again.img")
    assert (made / "again.img").read_bytes() == plain


def test_the_same_parts_give_the_same_disk_in_another_folder_and_at_another_time(
    made: Path, tmp_path: Path
) -> None:
    """A bundle differs by its signature and the salt of its hash tree; what is in it does not."""
    first, root = made.parents[1], tmp_path / "repository"
    shutil.copytree(first / "board", root / "board", symlinks=True)
    shutil.copytree(first / "build/keys", root / "build/keys")
    images = root / "images"
    shutil.copytree(first / "images/efi-part", images / "efi-part")
    for folder in ("intel-ucode", "amd-ucode"):
        shutil.copytree(first / "images" / folder, images / folder)
    for name in ("bzImage", "rootfs.squashfs", "boot.img", "grub.img"):
        shutil.copyfile(first / "images" / name, images / name)
    run(root / "board/image/post-image.sh", images, "qemu", BINARIES_DIR=str(images), SOURCE_DATE_EPOCH="1")
    for name in ("img.xz", "img.bmap", "qcow2"):
        file = f"weir-qemu-0.1.0.{name}"
        assert sha256(root / "build/images" / file) == sha256(made / file)
    for bundle, out in ((made, "first"), (root / "build/images", "second")):
        run("unsquashfs", "-quiet", "-no-progress", "-dest", tmp_path / out, bundle / "weir-0.1.0.raucb")
    assert run("diff", "--recursive", tmp_path / "first", tmp_path / "second") == ""


def test_the_bundle_is_accepted_with_the_key_that_the_system_has_and_no_other(made: Path) -> None:
    keyring, bundle = made.parents[1] / "target/etc/rauc/keyring.pem", made / "weir-0.1.0.raucb"
    assert "weir-x86_64" in run("rauc", "info", "--keyring", keyring, bundle)
    run(IMAGE / "keys.sh", made.parent / "others")
    with pytest.raises(AssertionError, match="signature verification failed"):
        run("rauc", "info", "--keyring", made.parent / "others/keyring.pem", bundle)


def test_the_system_keeps_none_of_the_boot_loaders_folders(made: Path) -> None:
    target = made.parents[1] / "target"
    assert not (target / "usr/lib/grub").exists()
    assert (made.parents[1] / "images/boot.img").read_bytes() == GRUB.read_bytes()


def test_the_microcode_is_beside_the_kernel_and_not_in_the_system(made: Path, tmp_path: Path) -> None:
    """Without folders: a kernel unpacks what is in a folder that the archive names, and keeps it."""
    root = made.parents[1]
    assert not (root / "target/usr/lib/firmware/amd-ucode").exists()
    slot, out = tmp_path / "slot", tmp_path / "out"
    out.mkdir()
    run("unsquashfs", "-quiet", "-no-progress", "-dest", slot, root / "images/kernel.squashfs")
    assert sorted(path.name for path in slot.iterdir()) == ["bzImage", "microcode.img"]
    archive = str(slot / "microcode.img")
    files = [f"kernel/x86/microcode/{vendor}.bin" for vendor in ("AuthenticAMD", "GenuineIntel")]
    assert run("cpio", "--quiet", "-t", "-F", archive).split() == files
    run("cpio", "--quiet", "-id", "-D", out.as_posix(), "-F", archive)
    assert [(out / name).read_bytes() for name in files] == [b"threefour", b"onetwo"]

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make image-check`: what can be said about the image without building it.

With BUILDROOT_DIR= (a checkout of the pinned release) the external tree is loaded, both defconfigs make the
round trip through Buildroot's Kconfig without losing an option, every package of ours parses, and
Buildroot's own style check passes. With the source of Linux (LINUX_SOURCE_DIR=, or that of an earlier `make
kernel`) every option of the kernel's fragments is looked for behind its Kconfig. Without them the files are
checked against each other.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXTERNAL = ROOT / "buildroot-external"
OUTPUT = ROOT / "build" / "image-check"
RELEASE = "2026.02.3"
DEFCONFIGS = ("weir_x86_64_defconfig", "weir_qemu_x86_64_defconfig")
PACKAGES = ("kea", "weir-api", "weir-datapath", "weir-webui")

# The QEMU image is the appliance's without what an emulated machine cannot have.
QEMU_MAY_DIFFER = re.compile(
    r"BR2_(PACKAGE_(LINUX_FIRMWARE|INTEL_MICROCODE|LM_SENSORS)|ROOTFS_POST_SCRIPT_ARGS|LINUX_KERNEL_CONFIG_FRAGMENT_FILES)"
)
# Programs that our code starts, and the option by which the image has each.
PROGRAMS = {
    **dict.fromkeys(("systemctl", "journalctl"), "BR2_INIT_SYSTEMD"),
    **dict.fromkeys(("cat", "env", "true"), "BR2_PACKAGE_BUSYBOX"),
    **dict.fromkeys(("ip", "tc"), "BR2_PACKAGE_IPROUTE2"),
    **dict.fromkeys(("vtysh", "bgpd", "ospfd"), "BR2_PACKAGE_FRR"),
    **dict.fromkeys(("chronyd", "chronyc"), "BR2_PACKAGE_CHRONY"),
    **dict.fromkeys(("unbound", "unbound-checkconf"), "BR2_PACKAGE_UNBOUND"),
    "bash": "BR2_PACKAGE_BASH",
    "bfdd": "BR2_PACKAGE_FRR_BFD",
    "conntrack": "BR2_PACKAGE_CONNTRACK_TOOLS",
    "curl": "BR2_PACKAGE_LIBCURL_CURL",
    "dehydrated": "BR2_PACKAGE_DEHYDRATED",
    "iperf3": "BR2_PACKAGE_IPERF3",
    **dict.fromkeys(("kea-dhcp4", "kea-dhcp6"), "BR2_PACKAGE_KEA"),
    "modprobe": "BR2_PACKAGE_KMOD_TOOLS",
    "nft": "BR2_PACKAGE_NFTABLES",
    "nginx": "BR2_PACKAGE_NGINX",
    "openssl": "BR2_PACKAGE_LIBOPENSSL_BIN",
    "pppd": "BR2_PACKAGE_PPPD",
    "python3": "BR2_PACKAGE_PYTHON3",
    "radvd": "BR2_PACKAGE_RADVD",
    "rauc": "BR2_PACKAGE_RAUC",
    "setpriv": "BR2_PACKAGE_UTIL_LINUX_SETPRIV",  # busybox's gives a program no other user
    "ssh-keygen": "BR2_PACKAGE_OPENSSH_KEY_UTILS",
    "sshd": "BR2_PACKAGE_OPENSSH_SERVER",
}
# Of these the ones that no defconfig names: Buildroot sets them itself.
IMPLIED = {
    *("BR2_PACKAGE_BUSYBOX", "BR2_PACKAGE_KMOD_TOOLS", "BR2_PACKAGE_LIBCURL_CURL"),
    *("BR2_PACKAGE_OPENSSH_KEY_UTILS", "BR2_PACKAGE_OPENSSH_SERVER"),
}
# Modules that Buildroot's Python lacks without an option (in place of decimal it has one in Python, which
# is slow), and those that it never has.
MODULES = {
    "BZIP2": "bz2",
    "CURSES": "curses",
    "DECIMAL": "decimal",
    "PYEXPAT": "xml",
    "READLINE": "readline",
    "SQLITE": "sqlite3",
    "SSL": "ssl",
    "UNICODEDATA": "unicodedata",
    "XZ": "lzma",
    "ZLIB": "zlib",
}
NEVER = ("idlelib", "pydoc", "tkinter")
# Commands that busybox leaves out and a package brings; what a script asks of a command beyond having it.
BROUGHT = {"BLOCKDEV"}
APPLET_OPTIONS = {
    r"\bstat\b.* -c": "FEATURE_STAT_FORMAT",
    r"\bstat -f": "FEATURE_STAT_FILESYSTEM",
    r"\bsync \"": "FEATURE_SYNC_FANCY",
}
_APPLET = re.compile(r"^(# )?CONFIG_(\w+)(?:=y| is not set)$", re.MULTILINE)
_CALLED = re.compile(
    r"(?:^|[|;&!({]|\b(?:if|then|elif|else|do|while|until))[ \t]*([a-z][a-z0-9_.-]*)\b", re.MULTILINE
)
_PACKED = re.compile(r"^CONFIG_(KERNEL|MODULE_COMPRESS)_(ZSTD|XZ)=y$", re.MULTILINE)
_IMPORT = """import importlib, sys
sys.modules.update(dict.fromkeys(sys.argv[1].split(",")))
for name in sys.argv[2:]:
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(f"import {name}: {error}")
"""
_OPTION = re.compile(r"(?:# )?(BR2_\w+)(?:=(.*)| is not set)")
_USER = re.compile(r"^User=(\S+)$", re.MULTILINE)
_PATH = re.compile(r"\$\(BR2_EXTERNAL_WEIR_PATH\)/([^\s\"]+)")


def options(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _OPTION.fullmatch(line.strip())
        if match:
            found[match[1]] = match[2] if match[2] is not None else "n"
    return found


def wanted(defconfig: str) -> dict[str, str]:
    return options((ROOT / "configs" / defconfig).read_text(encoding="utf-8"))


def check_paths() -> list[str]:
    """Files that a defconfig names exist; folders of downloads and caches are made by the build."""
    problems = []
    for defconfig in DEFCONFIGS:
        for name, value in wanted(defconfig).items():
            for path in _PATH.findall(value):
                if name not in ("BR2_DL_DIR", "BR2_CCACHE_DIR") and not (EXTERNAL / path).exists():
                    problems.append(f"{defconfig}: {name} names {path}, which does not exist")
    return problems


def check_variants() -> list[str]:
    appliance, qemu = (wanted(name) for name in DEFCONFIGS)
    return [
        f"{name} differs between the defconfigs: {appliance.get(name)} and {qemu.get(name)}"
        for name in sorted(appliance.keys() | qemu.keys())
        if appliance.get(name) != qemu.get(name) and not QEMU_MAY_DIFFER.match(name)
    ]


def check_fragments() -> list[str]:
    """The appliance's kernel takes every fragment that `board/kernel/kernel` does."""
    shown = subprocess.run(
        [sys.executable, "-c", f"import runpy; m = runpy.run_path({str(ROOT / 'board/kernel/kernel')!r}); "
         "print(*(p.name for p in m['fragments']('appliance')))"],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    config = wanted(DEFCONFIGS[0])
    listed = (
        config["BR2_LINUX_KERNEL_CUSTOM_CONFIG_FILE"] + " " + config["BR2_LINUX_KERNEL_CONFIG_FRAGMENT_FILES"]
    )
    names = [Path(path).name for path in _PATH.findall(listed)]
    return [] if names == shown else [f"the defconfig lists the fragments {names}, the kernel takes {shown}"]


def check_compression() -> list[str]:
    """Buildroot packs the kernel by an option of its own, and kmod reads packed modules if it was built to.

    A depmod or a kmod that was not leaves a router without the drivers of its ports.
    """
    command = [ROOT / "board/kernel/kernel", "show", "appliance"]
    fragments = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    needed = []
    for what, packing in _PACKED.findall(fragments):
        names = ("LINUX_KERNEL",) if what == "KERNEL" else ("PACKAGE", "PACKAGE_HOST_KMOD")
        needed += [(f"CONFIG_{what}_{packing}", f"BR2_{name}_{packing}") for name in names]
    return [
        f"{defconfig}: {setting} of the kernel needs {option}"
        for defconfig in DEFCONFIGS
        for setting, option in needed
        if wanted(defconfig).get(option) != "y"
    ]


def check_kernel_options() -> list[str] | None:
    """What Kconfig drops of either variant; None without a source of Linux, for none is fetched here."""
    source = Path(os.environ.get("LINUX_SOURCE_DIR") or ROOT / "build/kernel/src")
    if not (source / "Kconfig").exists():
        return None
    found = []
    for variant in ("vm", "appliance"):
        command = [ROOT / "board/kernel/kernel", "config", variant]
        environment = {**os.environ, "LINUX_SOURCE_DIR": str(source)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            found.append(f"{variant}: {(done.stderr or done.stdout).strip()}")
    return found


def check_overlay() -> list[str]:
    """Links with systemd: Buildroot refuses an overlay that brings one, after it has built all the rest."""
    overlay = ROOT / "board" / "overlay"
    return [
        f"board/overlay/{name} is a link to another folder in the image: programs belong to usr/bin"
        for name in ("bin", "sbin", "lib", "lib64", "usr/sbin", "usr/lib64")
        if (overlay / name).exists()
    ]


def check_applets(buildroot: Path) -> list[str]:
    """Plain commands of our scripts are busybox's; what its configuration leaves out is not on the router."""
    known: dict[str, bool] = {}
    for path in (buildroot / "package/busybox/busybox.config", ROOT / "board/busybox.config"):
        for off, name in _APPLET.findall(path.read_text(encoding="utf-8")):
            known[name] = not off
    problems = []
    for path in sorted(path for path in (ROOT / "board/overlay/usr").rglob("*") if path.is_file()):
        script = path.read_text(encoding="utf-8")
        if not script.startswith("#!/bin/"):
            continue
        script = re.sub(r"^\s*#.*", "", script, flags=re.MULTILINE)
        needed = {name.upper() for name in _CALLED.findall(script)} - BROUGHT
        needed |= {option for way, option in APPLET_OPTIONS.items() if re.search(way, script)}
        missing = sorted(name for name in needed if known.get(name) is False)
        problems += [
            f"{path.relative_to(ROOT)} needs CONFIG_{name} in board/busybox.config" for name in missing
        ]
    return problems


def check_library_versions(buildroot: Path) -> list[str]:
    """api/requirements.in pins what Buildroot has (docs/adr/0003)."""
    problems = []
    for line in (ROOT / "api/requirements.in").read_text(encoding="utf-8").splitlines():
        name, equals, version = line.partition("==")
        recipe = buildroot / "package" / f"python-{name}" / f"python-{name}.mk"
        if not equals or not recipe.exists():
            continue
        has = re.search(r"_VERSION = (\S+)", recipe.read_text(encoding="utf-8"))
        if has is None or has[1] != version:
            problems.append(f"{name} is {version} in requirements.in and {has and has[1]} in Buildroot")
    return problems


def imported() -> list[str]:
    """The modules that our code imports of others, within functions, too."""
    names = set()
    for path in (ROOT / "api/weir").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module)
    return sorted(name for name in names if name.partition(".")[0] not in ("__future__", "weir"))


def check_modules(have: Mapping[str, str]) -> list[str]:
    """What our code imports is there, and what that imports: with the modules away that the image lacks."""
    lacking = [name for option, name in MODULES.items() if have.get(f"BR2_PACKAGE_PYTHON3_{option}") != "y"]
    tried = subprocess.run(
        [sys.executable, "-c", _IMPORT, ",".join((*lacking, *NEVER)), *imported()],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [f"Python on the image cannot {line}" for line in tried.stdout.splitlines()]


def check_users(table: str, skeleton: str) -> list[str]:
    """Each user that a unit runs as is made, by one package: of two lines the later one stands silently.

    `table` is Buildroot's PACKAGES_USERS (makeusers syntax), `skeleton` its /etc/passwd.
    """
    made = [words[0] for line in table.splitlines() if len(words := line.split()) > 7]
    units = [path for folder in ("board/overlay", "package") for path in (ROOT / folder).rglob("*.service")]
    needed = {user for unit in units for user in _USER.findall(unit.read_text(encoding="utf-8"))}
    known = {*made, *(line.partition(":")[0] for line in skeleton.splitlines())}
    twice = sorted({user for user in made if user not in "#-" and made.count(user) > 1})
    return [f"no package makes the user {user}, which a unit runs as" for user in sorted(needed - known)] + [
        f"more than one package makes the user {user}" for user in twice
    ]


def make(buildroot: Path, output: Path, *targets: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "-C", str(buildroot), f"O={output}", f"BR2_EXTERNAL={EXTERNAL}", *targets],
        capture_output=True,
        text=True,
        check=False,
    )


def check_defconfig(buildroot: Path, defconfig: str) -> list[str]:
    output = OUTPUT / defconfig
    loaded = make(buildroot, output, defconfig)
    if loaded.returncode:
        return [f"{defconfig} does not load: {loaded.stderr.strip()[-400:]}"]
    problems = [
        f"{defconfig}: {line.strip()}"
        for line in (loaded.stdout + loaded.stderr).splitlines()
        if "warning" in line.lower()
    ]
    have = options((output / ".config").read_text(encoding="utf-8"))
    for name, value in wanted(defconfig).items():
        if have.get(name, "n") != value and not (value == '""' and name not in have):
            problems.append(f"{defconfig}: {name}={value} became {have.get(name, 'n')}")
    problems += [
        f"{defconfig}: {option} is not set, so there is no {program}"
        for program, option in PROGRAMS.items()
        if have.get(option) != "y"
    ]
    problems += [f"{defconfig}: {text}" for text in check_modules(have)]
    if not problems:
        parsed = make(buildroot, output, *(f"{package}-show-info" for package in PACKAGES))
        if parsed.returncode:
            problems.append(f"our packages do not parse: {parsed.stderr.strip()[-400:]}")
        table = make(buildroot, output, "-s", "printvars", "VARS=PACKAGES_USERS").stdout
        passwd = (buildroot / "system/skeleton/etc/passwd").read_text(encoding="utf-8")
        problems += [f"{defconfig}: {text}" for text in check_users(table.partition("=")[2], passwd)]
    return problems


def check_style(buildroot: Path) -> list[str]:
    """Buildroot's check-package; it needs python-magic and flake8, of the environment or of the system."""
    has_magic = (
        python
        for python in (sys.executable, "/usr/bin/python3")
        if Path(python).exists()
        and not subprocess.run([python, "-c", "import magic, flake8"], capture_output=True).returncode
    )
    python = next(has_magic, None)
    if python is None:
        print(
            "image-check: check-package was not run: its libraries are missing (Debian: python3-magic flake8)"
        )
        return []
    files = [path for folder in ("package", "buildroot-external") for path in (ROOT / folder).rglob("*")]
    names = [str(path) for path in files if path.suffix == ".mk" or path.name == "Config.in"]
    done = subprocess.run(
        [python, str(buildroot / "utils/check-package"), "-b", *names],
        capture_output=True,
        text=True,
        check=False,
    )
    said = (done.stdout + done.stderr).strip().splitlines()
    return [f"check-package: {line}" for line in said[-20:]] if done.returncode else []


def main() -> int:
    problems = [*check_paths(), *check_variants(), *check_fragments(), *check_compression(), *check_overlay()]
    given = os.environ.get("BUILDROOT_DIR")
    buildroot = Path(given) if given else ROOT / "build" / "buildroot"
    if (buildroot / "Config.in").exists():
        version = re.search(r"BR2_VERSION := (\S+)", (buildroot / "Makefile").read_text(encoding="utf-8"))
        if version is None or version[1] != RELEASE:
            problems.append(f"{buildroot} is not Buildroot {RELEASE}")
        problems += check_library_versions(buildroot)
        problems += check_applets(buildroot)
        for defconfig in DEFCONFIGS:
            problems += check_defconfig(buildroot, defconfig)
        problems += check_style(buildroot)
        what = f"with Buildroot {RELEASE}"
    else:
        what = "without Buildroot (give BUILDROOT_DIR= to load the defconfigs)"
    options = check_kernel_options()
    problems += options or []
    what += ", without a source of Linux" if options is None else ", with Linux"
    for problem in problems:
        print(f"image-check: {problem}", file=sys.stderr)
    print(f"image-check {what}: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

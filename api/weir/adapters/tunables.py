# SPDX-License-Identifier: Apache-2.0
"""Settings of the kernel and of network cards, by the keys of board/tuning.toml. None: not on this machine.

Sysctls are those of this process's network namespace; one that only the machine's first namespace has does
not exist in another, and cannot be changed from there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from weir.adapters.process import run
from weir.model.problem import ApplyFailed, Problem, Unsupported

Run = Callable[[Sequence[str]], str]
_RING = re.compile(r"^RX:\s+(\d+)$", re.MULTILINE)
_FEATURE = r"^{}: (on|off)( \[fixed\])?$"
_FEATURES = {"offload.lro": ("large-receive-offload", "lro"), "offload.gro-hw": ("rx-gro-hw", "rx-gro-hw")}
"""As `ethtool -k` prints them, and as `-K` takes them."""
_ADAPTIVE = re.compile(r"^Adaptive RX: (on|off)\b", re.MULTILINE)
_PAUSE = re.compile(r"^[RT]X:\s+(on|off)$", re.MULTILINE)


class Tunables:
    """`root` is where /proc and /sys are; `execute` runs ethtool and systemctl."""

    def __init__(self, root: Path = Path("/"), execute: Run = run) -> None:
        self._root = root
        self._execute = execute

    # -- the whole machine -----------------------------------------------------------------------------

    def sysctl(self, key: str) -> str | None:
        """`net.core.somaxconn` -> its value; blanks between several numbers become one."""
        return _words(_read(self._sysctl_path(key)))

    def set_sysctl(self, key: str, value: str) -> None:
        """Raises `ApplyFailed` when the kernel refuses the value."""
        _write(self._sysctl_path(key), value, key)

    def memory_bytes(self) -> int:
        found = re.search(r"^MemTotal:\s+(\d+) kB", _read(self._root / "proc/meminfo") or "", re.MULTILINE)
        return int(found[1]) * 1024 if found else 0

    def boot_parameter(self, key: str) -> str | None:
        """The last value of `key=value` on the kernel's command line."""
        words = (_read(self._root / "proc/cmdline") or "").split()
        return next((word.partition("=")[2] for word in reversed(words) if word.startswith(f"{key}=")), None)

    def unit_property(self, unit: str, key: str) -> str | None:
        """What the control group of a systemd unit holds: `CPUWeight`, `MemoryHigh` (bytes)."""
        file = {"CPUWeight": "cpu.weight", "MemoryHigh": "memory.high"}.get(key)
        return file and _words(_read(self._root / "sys/fs/cgroup/system.slice" / unit / file))

    def set_unit_property(self, unit: str, key: str, value: str) -> None:
        """Until the machine starts again. Raises `ApplyFailed` with systemd's words."""
        self._execute(["systemctl", "set-property", "--runtime", unit, f"{key}={value}"])

    # -- one network card ------------------------------------------------------------------------------

    def driver(self, ifname: str) -> str | None:
        """Of the card's device, as the kernel names it: `igb`; None for devices without one."""
        link = self._device(ifname) / "device" / "driver"
        return link.resolve().name if link.is_symlink() else None

    def card(self, key: str, ifname: str) -> str | None:
        """The value of a key of scope `interface`."""
        device = self._device(ifname)
        if key == "threaded":
            return _words(_read(device / "threaded"))
        if key in ("xps", "rps"):
            return self._masks(device, key)
        if key == "irq":
            return _words(" ".join(_read(path) or "?" for path in self._affinities(ifname))) or None
        if key == "ring.rx":
            found = _RING.findall(self._ethtool("-g", ifname))
            return found[1] if len(found) == 2 else None
        if key == "coalesce.adaptive-rx":
            return _first(_ADAPTIVE, self._ethtool("-c", ifname))
        if key in _FEATURES:
            pattern = re.compile(_FEATURE.format(_FEATURES[key][0]), re.MULTILINE)
            return _first(pattern, self._ethtool("-k", ifname))
        if key == "pause":
            found = _PAUSE.findall(self._ethtool("-a", ifname))
            return ("on" if "on" in found else "off") if found else None
        return None

    def set_card(self, key: str, ifname: str, value: str) -> None:
        """Raises `ApplyFailed` with the driver's words, `Unsupported` for a key that is not known."""
        device = self._device(ifname)
        commands = {
            "ring.rx": ["-G", ifname, "rx", value],
            "coalesce.adaptive-rx": ["-C", ifname, "adaptive-rx", value],
            **{feature: ["-K", ifname, name, value] for feature, (_, name) in _FEATURES.items()},
            "pause": ["-A", ifname, "rx", value, "tx", value],
        }
        if key == "threaded":
            _write(device / "threaded", value, f"{ifname}: {key}")
        elif key in ("xps", "rps", "irq"):
            files = self._affinities(ifname) if key == "irq" else self._mask_files(device, key)
            for path, part in zip(files, value.split(), strict=False):
                _write(path, part, f"{ifname}: {key}")
        elif key in commands:
            self._execute(["ethtool", *commands[key]])
        else:
            raise Unsupported(f"{key!r} is no setting of an interface", code="no-such-setting")

    def largest_ring(self, ifname: str) -> int | None:
        found = _RING.findall(self._ethtool("-g", ifname))
        return int(found[0]) if len(found) == 2 else None

    def queue_count(self, key: str, ifname: str) -> int:
        """Queues that `xps` (transmit) or `rps` (receive) is about; of `irq` the interrupts of the queues."""
        if key == "irq":
            return len(self._affinities(ifname))
        return len(self._mask_files(self._device(ifname), key))

    def processors(self) -> int:
        listed = _read(self._root / "sys/devices/system/cpu/online")
        return len(_numbers(listed)) if listed else os.cpu_count() or 1

    def interrupted_processors(self, ifname: str) -> set[int]:
        """Where the card's interrupts may go now."""
        found: set[int] = set()
        for path in self._affinities(ifname):
            found |= _numbers(_read(path) or "")
        return found

    def _affinities(self, ifname: str) -> list[Path]:
        """The files of the interrupts of the card's queues, by number; the first queue's first."""
        lines = (_read(self._root / "proc/interrupts") or "").splitlines()
        ours = re.compile(rf"\s*(\d+):.*\b{re.escape(ifname)}(-\S*\d\S*)?$")
        found = [match[1] for line in lines if (match := ours.match(line))]
        several = [match[1] for line in lines if (match := ours.match(line)) and match[2]]
        return [self._root / f"proc/irq/{number}/smp_affinity_list" for number in several or found]

    def _sysctl_path(self, key: str) -> Path:
        return self._root / "proc/sys" / key.replace(".", "/")

    def _device(self, ifname: str) -> Path:
        return self._root / "sys/class/net" / ifname

    def _masks(self, device: Path, key: str) -> str | None:
        masks = [_read(path) for path in self._mask_files(device, key)]
        if not masks or None in masks:
            return None  # a driver with one queue has none to choose
        return " ".join(_mask(int((mask or "0").replace(",", ""), 16)) for mask in masks)

    def _mask_files(self, device: Path, key: str) -> list[Path]:
        way = "tx" if key == "xps" else "rx"
        found = (device / "queues").glob(f"{way}-*/{key}_cpus")
        return sorted(found, key=lambda path: int(path.parent.name.removeprefix(f"{way}-")))

    def _ethtool(self, flag: str, ifname: str) -> str:
        """What it prints, "" when the driver has no such thing."""
        try:
            return self._execute(["ethtool", flag, ifname])
        except Problem:
            return ""


def mask_of(processors: Iterable[int]) -> str:
    """A set of processors as the kernel writes it: hexadecimal words of 32 bits."""
    return _mask(sum(1 << number for number in processors))


def _mask(bits: int) -> str:
    """Without leading zeros, so that two may be compared."""
    words = []
    while True:
        words.append(f"{bits & 0xFFFF_FFFF:08x}" if bits >> 32 else f"{bits:x}")
        bits >>= 32
        if not bits:
            return ",".join(reversed(words))


def _numbers(text: str) -> set[int]:
    """`0-3,8` -> {0, 1, 2, 3, 8}."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found[1] if found else None


def _words(text: str | None) -> str | None:
    return None if text is None else " ".join(text.split())


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None


def _write(path: Path, value: str, what: str) -> None:
    try:
        path.write_text(value, encoding="ascii")
    except OSError as error:
        raise ApplyFailed(f"{what} = {value}: {error.strerror}", code="setting-refused") from error
    except UnicodeEncodeError as error:
        raise ApplyFailed(f"{what}: {value!r} is not plain text", code="setting-refused") from error

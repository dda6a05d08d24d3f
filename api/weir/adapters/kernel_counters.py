# SPDX-License-Identifier: Apache-2.0
"""Counters that the kernel keeps anyway, as files: what its cores, tables and sockets do.

Each function raises `Unavailable` with the reason where the kernel has no such file. Formats:
Documentation/filesystems/proc.rst, net/core/net-procfs.c, Documentation/accounting/psi.rst.
"""

from __future__ import annotations

import ctypes
import ipaddress
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from weir.diagnosis.sample import Core, CoreTime, Socket, Table
from weir.model.problem import Unavailable

_SYS_MEMBARRIER, _MEMBARRIER_GLOBAL = 324, 1  # x86-64; linux/membarrier.h
_IDLE_FIELD, _IO_WAIT_FIELD, _SOFTIRQ_FIELD, _STOLEN_FIELD = 3, 4, 6, 7
_CPU_COLUMN = 12
_NEIGHBOURS = (("neighbours-v4", "arp_cache", "ipv4"), ("neighbours-v6", "ndisc_cache", "ipv6"))
_LIMIT = "sys/net/{}/neigh/default/gc_thresh3"


class Counters:
    """`root` is where /proc and /sys are."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._proc = root / "proc"
        self._groups = root / "sys/fs/cgroup/system.slice"
        self._conf = root / "proc/sys/net/ipv4/conf"

    def cores(self) -> tuple[Core, ...]:
        """Each core that is online, by its number; the machine's, in whatever network namespace."""
        received = {
            int(row[_CPU_COLUMN], 16) if len(row) > _CPU_COLUMN else number: row
            for number, row in enumerate(self._rows("net/softnet_stat"))
        }
        found = []
        for number, ticks in self._ticks():
            if number in received:
                packets, drops, squeezed = (int(value, 16) for value in received[number][:3])
                found.append(Core(packets, drops, squeezed, ticks[_SOFTIRQ_FIELD], sum(ticks)))
        return tuple(found)

    def core_times(self) -> dict[int, CoreTime]:
        """What each core that is online did since the start, by its number."""
        return {
            number: CoreTime(
                softirq=ticks[_SOFTIRQ_FIELD],
                stolen=ticks[_STOLEN_FIELD],
                idle=ticks[_IDLE_FIELD] + ticks[_IO_WAIT_FIELD],
                total=sum(ticks),
            )
            for number, ticks in self._ticks()
        }

    def _ticks(self) -> Iterator[tuple[int, list[int]]]:
        """Of each core that is online, by what it did."""
        for row in self._rows("stat"):
            if not row[0].startswith("cpu"):
                break
            if number := row[0].removeprefix("cpu"):
                yield int(number), [int(value) for value in row[1:9]]  # guest time is part of user time

    def neighbours(self) -> dict[str, Table]:
        """The tables of both families, which all network namespaces share; only the first can see them."""
        found = {}
        for name, file, family in _NEIGHBOURS:
            entries, fulls = self._counted(f"net/stat/{file}", "entries", ("table_fulls",))
            found[name] = Table(entries, int(self._text(_LIMIT.format(family))), fulls)
        return found

    def connections(self) -> dict[str, Table]:
        """Tracked connections of this network namespace; empty where none are tracked."""
        folder = "sys/net/netfilter/nf_conntrack_"
        if not (self._proc / f"{folder}count").exists():
            return {}
        refused = None
        if (self._proc / "net/stat/nf_conntrack").exists():
            refused = self._counted("net/stat/nf_conntrack", "entries", ("drop", "early_drop"))[1]
        entries, limit = int(self._text(f"{folder}count")), int(self._text(f"{folder}max"))
        return {"connections": Table(entries, limit, refused)}

    def stalled_us(self, units: Iterable[str]) -> dict[str, int]:
        """How long threads of each unit waited for a core since it started; units that do not run are left
        out. Raises `Unavailable` where there is none of them."""
        found = {}
        for unit in units:
            try:
                first = (self._groups / unit / "cpu.pressure").read_text(encoding="ascii").partition("\n")[0]
            except OSError:
                continue
            found[unit] = int(first.rpartition("=")[2])
        if not found:
            raise Unavailable("there are no control groups of routing, agent and API with cpu.pressure here")
        return found

    def overflows(self) -> int:
        """TCP connections that their listening socket had no room for, in this network namespace."""
        rows = self._rows("net/netstat")
        for names, values in zip(rows, rows, strict=False):
            if names[0] == "TcpExt:" and "ListenOverflows" in names:
                return int(values[names.index("ListenOverflows")])
        raise Unavailable("/proc/net/netstat has no ListenOverflows")

    def sockets(self) -> tuple[Socket, ...]:
        """UDP sockets of this network namespace."""
        found = []
        for file in ("net/udp", "net/udp6"):
            if file == "net/udp6" and not (self._proc / file).exists():
                continue  # no IPv6
            rows = self._rows(file)
            next(rows, None)
            found += [Socket(_address(row[1]), int(row[12])) for row in rows]
        return tuple(found)

    def reverse_path(self, names: Iterable[str]) -> tuple[str, ...]:
        """`all`, or which of the interfaces have rp_filter on (1 strict, 2 loose)."""
        if int(self._text("sys/net/ipv4/conf/all/rp_filter")) > 0:
            return ("all",)
        on = []
        for name in names:
            try:
                value = int((self._conf / name / "rp_filter").read_text(encoding="ascii"))
            except OSError:
                continue  # it went meanwhile
            if value > 0:
                on.append(name)
        return tuple(on)

    def _counted(self, file: str, total: str, summed: tuple[str, ...]) -> tuple[int, int]:
        """Of a file of /proc/net/stat: a total, which each core's line repeats, and the sum of counters."""
        rows = list(self._rows(file))
        head = rows[0]
        columns = [head.index(name) for name in summed if name in head]
        lines = rows[1:]
        whole = int(lines[0][head.index(total)], 16) if lines else 0
        return whole, sum(int(line[column], 16) for line in lines for column in columns)

    def _rows(self, file: str) -> Iterator[list[str]]:
        return (line.split() for line in self._text(file).splitlines() if line)

    def _text(self, file: str) -> str:
        try:
            return (self._proc / file).read_text(encoding="ascii")
        except OSError as error:
            raise Unavailable(f"/proc/{file} cannot be read: {error.strerror}") from error


def grace_s() -> float:
    """How long a grace period of RCU takes now: `membarrier(2)` returns after one, and uses no processor
    meanwhile. Raises `Unavailable`."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    begun = time.monotonic()
    if call(_SYS_MEMBARRIER, _MEMBARRIER_GLOBAL, 0) < 0:
        raise Unavailable(f"membarrier is refused: {os.strerror(ctypes.get_errno())}")
    return time.monotonic() - begun


def _address(text: str) -> str:
    """`0100007F:0035` -> `127.0.0.1:53`. Words are in the order of the machine (x86: little endian)."""
    host, _, port = text.partition(":")
    words = bytes.fromhex(host)
    ordered = b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4))
    return written(ordered, int(port, 16))


def written(address: bytes, port: int) -> str:
    """An address in network byte order with its port."""
    host = ipaddress.ip_address(address)
    return f"[{host}]:{port}" if host.version == 6 else f"{host}:{port}"

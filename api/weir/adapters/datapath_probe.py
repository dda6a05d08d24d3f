# SPDX-License-Identifier: Apache-2.0
"""What this kernel can do for the datapath, found by trying it in a network namespace of its own.

`probe()` runs this module as a child process, so that nothing is left behind whatever happens; the
child makes a veth pair, loads the programs, attaches them in every way and sends packets through them.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from weir.adapters.datapath import Datapath
from weir.adapters.datapath_records import Capability, ClassRecord, LineRecord, Role
from weir.model.problem import Problem, Unavailable

PROBE_TIMEOUT_S = 120.0

_CLONE_NEWNET = 0x4000_0000
_SYS_BPF = 321  # x86-64
_BPF_PROG_LOAD, _BPF_LINK_CREATE = 5, 28
_PROG_TYPE_XDP, _ATTACH_XDP = 6, 37
_XDP_GENERIC, _XDP_NATIVE = 1 << 1, 1 << 2
_RETURN_XDP_PASS = struct.pack("<BBhiBBhi", 0xB7, 0, 0, 2, 0x95, 0, 0, 0)

_PACED_BPS, _PACED_BYTES, _PACED_PACKETS = 500_000, 1000, 5


def probe(lib: Path | None = None) -> list[Capability]:
    """Try everything, in about half a second. Raises `Unavailable` when the child cannot run (not root)."""
    command = [sys.executable, "-m", __name__, *([str(lib)] if lib else [])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"the kernel's features cannot be probed: {error}", code="no-probe") from error
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise Unavailable(f"the kernel's features cannot be probed: {last[0]}", code="no-probe")
    return [Capability(*found) for found in json.loads(done.stdout)]


class _Refused(Exception):
    """What was tried does not work; the text says why."""


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        text = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        raise _Refused(text.removeprefix("RTNETLINK answers: ").removeprefix("Error: ").rstrip("."))


def _bpf(command: int, attributes: bytes) -> int:
    buffer = ctypes.create_string_buffer(attributes, 128)
    result: int = ctypes.CDLL(None, use_errno=True).syscall(_SYS_BPF, command, buffer, 128)
    if result < 0:
        raise _Refused(os.strerror(ctypes.get_errno()))
    return result


def _try_xdp(ifname: str, flags: int) -> str:
    code = ctypes.create_string_buffer(_RETURN_XDP_PASS)
    license_text = ctypes.create_string_buffer(b"GPL")
    code_at, license_at = ctypes.addressof(code), ctypes.addressof(license_text)
    program = _bpf(_BPF_PROG_LOAD, struct.pack("<IIQQ", _PROG_TYPE_XDP, 2, code_at, license_at))
    try:
        ifindex = socket.if_nametoindex(ifname)
        os.close(_bpf(_BPF_LINK_CREATE, struct.pack("<IIII", program, ifindex, _ATTACH_XDP, flags)))
    finally:
        os.close(program)
    return "works"


def _try_hook(datapath: Datapath, wanted: str) -> str:
    datapath.attach("probe0", mode="none")
    used = datapath.attached()["probe0"].hook
    datapath.detach("probe0")
    if used != wanted:
        raise _Refused(f"the kernel has no {wanted}; {used} works")
    return "works"


def _try_vlan() -> str:
    _run("ip", "link", "add", "link", "probe0", "name", "probe0.5", "type", "vlan", "id", "5")
    return "works"


def _try_flow_table(datapath: Datapath) -> str:
    if reason := datapath.flow_reason():
        raise _Refused(reason)
    return "the fast path asks the kernel's flow table"


def _try_kept_routes(datapath: Datapath) -> str:
    if reason := datapath.hops_reason():
        raise _Refused(reason)
    return "the fast path keeps what the kernel's FIB said while it is so"


def _try_pacing(datapath: Datapath) -> str:
    """Of five packets at once, of 16 ms each at 500 kbit/s, the last has to take four times that."""
    _run("tc", "qdisc", "replace", "dev", "probe0", "root", "fq")
    line = LineRecord.of(_PACED_BPS, 0, 1_000_000_000)
    datapath.write_classes([(1, ClassRecord(1, 0, line, line))])
    datapath.change_prefixes([(0, 4, 0xC0000202, 32, 1)])
    datapath.attach("probe0", Role.SHAPE, "edt")
    took_s = _time_packets()
    needed_s = (_PACED_PACKETS - 1) * (_PACED_BYTES + 28) * 8 / _PACED_BPS
    if took_s < needed_s * 0.9:
        raise _Refused(f"fq let packets go after {took_s * 1000:.0f} ms instead of {needed_s * 1000:.0f} ms")
    return f"works: {_PACED_PACKETS} packets took {took_s * 1000:.0f} ms of {needed_s * 1000:.0f} ms"


def _time_packets() -> float:
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800)) as taken,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        taken.bind(("probe1", 0x0800))
        taken.settimeout(1.0)
        began = time.monotonic()
        for _ in range(_PACED_PACKETS):
            sender.sendto(bytes(_PACED_BYTES), ("192.0.2.2", 9))
        arrived = 0
        try:
            while arrived < _PACED_PACKETS:
                arrived += len(taken.recv(2048)) > _PACED_BYTES
        except TimeoutError as error:
            raise _Refused(f"only {arrived} of {_PACED_PACKETS} packets arrived") from error
    return time.monotonic() - began


def _prepare() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) != 0:
        raise _Refused(f"no network namespace: {os.strerror(ctypes.get_errno())}")
    _run("ip", "link", "add", "probe0", "type", "veth", "peer", "name", "probe1")
    _run("ip", "address", "add", "192.0.2.1/24", "dev", "probe0")
    _run("ip", "link", "set", "probe0", "up")
    _run("ip", "link", "set", "probe1", "up")
    _run("ip", "neighbour", "add", "192.0.2.2", "lladdr", "02:00:00:00:00:02", "dev", "probe0")


def _tried(name: str, attempt: Callable[[], str]) -> Capability:
    try:
        return Capability(name, True, attempt())
    except _Refused as refused:
        return Capability(name, False, str(refused))
    except Problem as problem:
        return Capability(name, False, problem.message)


def _with_programs(lib: Path | None) -> list[Capability]:
    """Loading takes most of the time, above all in an emulated machine: once for each way to attach."""
    tries: list[tuple[bool, str, Callable[[Datapath], str]]] = [
        (True, "tcx", lambda datapath: _try_hook(datapath, "tcx")),
        (True, "edt-pacing", _try_pacing),
        (True, "xdp-flow-lookup", _try_flow_table),
        (True, "xdp-kept-routes", _try_kept_routes),
        (False, "clsact", lambda datapath: _try_hook(datapath, "clsact")),
    ]
    found: list[Capability] = []
    for tcx in (True, False):
        names = [(name, attempt) for wanted, name, attempt in tries if wanted == tcx]
        try:
            with Datapath.open(None, lib, 16, tcx=tcx) as datapath:
                for name, attempt in names:
                    found.append(_tried(name, partial(attempt, datapath)))
        except Problem as problem:
            found += [Capability(name, False, problem.message) for name, _ in names]
    return found


def probe_here(lib: Path | None) -> list[Capability]:
    """What the child does, in a namespace of its own that it has moved to."""
    return [
        *_with_programs(lib),
        _tried("xdp-native", lambda: _try_xdp("probe0", _XDP_NATIVE)),
        _tried("xdp-generic", lambda: _try_xdp("lo", _XDP_GENERIC)),
        _tried("vlan", _try_vlan),
    ]


def main() -> int:
    try:
        _prepare()
    except _Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    found = probe_here(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    print(json.dumps([(item.id, item.available, item.reason) for item in found]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

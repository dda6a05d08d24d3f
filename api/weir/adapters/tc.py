# SPDX-License-Identifier: Apache-2.0
"""Queueing disciplines and HTB classes, through iproute2's `tc` (JSON out, batches in).

pyroute2 has no encoders for fq and mq; one `tc -batch` per change costs about 5 ms
and is never needed for a changed queue outside HTB ports.

Ours are marked by their handles: an mq, fq or htb with one of the majors below is Weir's, any other
qdisc is somebody else's and is replaced only where a port of ours needs the place.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from weir.adapters.htb_classes import HtbClass
from weir.adapters.process import run
from weir.model.problem import ApplyFailed, Problem, Unavailable

HTB_MAJOR = 0xFFFE
MQ_MAJOR = 0xFFFD
FQ_MAJOR = 0xFFFC
"""An fq that is the root itself, on a device with one queue."""
HTB_OWN = 0x8000
"""The bit of a leaf's minor: a queue's packets go to `HTB_OWN | slot`, its children hang below `slot`."""
MAX_HTB_SLOT = 0x6FFF
"""A leaf's qdisc takes its class's minor as its major, so the majors of our roots and of fq stay free."""

FQ_LEAF_MAJOR = 0xF000
"""The fq below transmit queue n (from 1) of our mq has this major + n."""
MAX_FQ_LEAVES = 0x0FF0

HTB_QUANTUM_BYTES = 3028
"""Given, because HTB derives one from the rate and complains below 10 kbit/s and above 1 Gbit/s."""

FQ_HORIZON_MS = 10_000
FQ_FLOW_LIMIT = 10_000
FQ_LIMIT = 100_000
"""Ours drop first: a class's limit is far below the horizon, and its backlog below the flow limit."""
FQ_ORPHAN_MASK = 0xFFFFF
"""By how much of a forwarded packet's flow hash fq tells flows apart. With fq's own 10 bits, the waiting
flows of two customers share one of 1,024 queues, where one that may leave earlier stands behind another."""

BATCH_TIMEOUT_S = 120.0
_REMEMBERED_S = 10.0
_batches: dict[int, float] = {}
"""When each process that ran a batch ended, infinity while it runs: its events may be read later."""
_CLONE_NEWNET = 0x4000_0000


@dataclass(frozen=True, slots=True)
class Qdisc:
    """`major` 0 = made by the kernel; `parent` is the text after `parent`, "" at the root."""

    ifname: str
    kind: str
    major: int
    parent: str
    options: dict[str, Any]

    @property
    def is_root(self) -> bool:
        return self.parent == ""


def qdiscs(ifname: str | None = None) -> list[Qdisc]:
    """The qdiscs of one interface or of all. Raises `ApplyFailed` for an unknown interface."""
    where = ["dev", ifname] if ifname else []
    return [_qdisc(item, ifname) for item in _json(["tc", "-j", "qdisc", "show", *where])]


def batch(lines: Sequence[str]) -> None:
    """Run tc commands in one process; stops at the first that fails. Raises `ApplyFailed`."""
    if not lines:
        return
    pids: list[int] = []

    def remember(pid: int) -> None:
        pids.append(pid)
        _batches[pid] = math.inf

    try:
        run(["tc", "-batch", "-"], text="\n".join(lines) + "\n", timeout_s=BATCH_TIMEOUT_S, started=remember)
    finally:
        now_s = time.monotonic()
        _batches.update(dict.fromkeys(pids, now_s))
        for pid, ended_s in list(_batches.items()):
            if now_s - ended_s > _REMEMBERED_S:
                _batches.pop(pid, None)


def is_own_batch(port_id: int) -> bool:
    """Whether a netlink message was caused by a batch of ours: the kernel gives a program's first socket its
    process's number (netlink(7))."""
    return port_id in _batches and time.monotonic() - _batches.get(port_id, 0.0) <= _REMEMBERED_S


def fq_lines(ifname: str, tx_queues: int) -> list[str]:
    """Commands that make the root an fq, or an mq with fq below every transmit queue."""
    options = (
        f"fq limit {FQ_LIMIT} flow_limit {FQ_FLOW_LIMIT} orphan_mask {FQ_ORPHAN_MASK} "
        f"horizon {FQ_HORIZON_MS}ms horizon_drop"
    )
    if tx_queues <= 1:
        return [f"qdisc replace dev {ifname} root handle {FQ_MAJOR:x}: {options}"]
    root = [f"qdisc replace dev {ifname} root handle {MQ_MAJOR:x}: mq"]
    leaves = range(1, min(tx_queues, MAX_FQ_LEAVES) + 1)
    return root + [
        f"qdisc replace dev {ifname} parent {MQ_MAJOR:x}:{n:x} handle {FQ_LEAF_MAJOR + n:x}: {options}"
        for n in leaves
    ]


def htb_root_lines(ifname: str) -> list[str]:
    """A tree whose unclassified packets pass unshaped (default 0)."""
    return [f"qdisc replace dev {ifname} root handle {HTB_MAJOR:x}: htb default 0 direct_qlen 1000"]


def htb_class_line(ifname: str, verb: str, item: HtbClass) -> str:
    parent = f"{HTB_MAJOR:x}:" + (f"{item.parent_minor:x}" if item.parent_minor else "")
    return (
        f"class {verb} dev {ifname} parent {parent} classid {HTB_MAJOR:x}:{item.minor:x} htb "
        f"rate {item.rate_bps}bit ceil {item.ceil_bps}bit burst {item.burst_bytes}b "
        f"cburst {item.cburst_bytes}b prio {item.priority} quantum {HTB_QUANTUM_BYTES}"
    )


def htb_delete_line(ifname: str, minor: int) -> str:
    return f"class del dev {ifname} classid {HTB_MAJOR:x}:{minor:x}"


def htb_leaf_line(ifname: str, minor: int, kind: str, *, is_first: bool) -> str:
    """A leaf qdisc below a class. The first one's handle is the class's minor; what takes its place gets
    one from the kernel, which refuses another kind under a handle that is in use."""
    handle = f"handle {minor:x}: " if is_first else ""
    return f"qdisc replace dev {ifname} parent {HTB_MAJOR:x}:{minor:x} {handle}{kind}"


def htb_leaves(qdiscs: Iterable[Qdisc]) -> dict[int, Qdisc]:
    """Of one interface's qdiscs those below a class of our tree, by the class's minor."""
    prefix = f"{HTB_MAJOR:x}:"
    return {
        int(qdisc.parent.removeprefix(prefix), 16): qdisc
        for qdisc in qdiscs
        if qdisc.parent.startswith(prefix)
    }


def delete_root_line(ifname: str) -> str:
    return f"qdisc del dev {ifname} root"


def probe(kinds: Iterable[str]) -> dict[str, str]:
    """Try each qdisc on the loopback of a network namespace made for it: "" = works, else the reason."""
    found: dict[str, str] = {}
    thread = threading.Thread(target=_probe_in_new_namespace, args=(list(kinds), found), name="tc-probe")
    thread.start()
    thread.join()
    return found


def _probe_in_new_namespace(kinds: list[str], found: dict[str, str]) -> None:
    """Only this thread enters the namespace, and the namespace ends with it."""
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) != 0:
        reason = f"no network namespace can be made to try it: {os.strerror(ctypes.get_errno())}"
        found.update(dict.fromkeys(kinds, reason))
        return
    with suppress(Problem):  # all in one process, which is what the product's own kernel takes
        batch([f"qdisc replace dev lo root {kind}" for kind in kinds])
        found.update(dict.fromkeys(kinds, ""))
        return
    for kind in kinds:
        try:
            run(["tc", "qdisc", "replace", "dev", "lo", "root", *kind.split()])
            found[kind] = ""
        except Problem as problem:
            found[kind] = problem.message


def _json(argv: Sequence[str]) -> list[dict[str, Any]]:
    printed = run(argv)
    try:
        parsed = json.loads(printed or "[]")
    except ValueError as error:
        raise Unavailable(f"{' '.join(argv)} printed no JSON: {error}", code="bad-answer") from error
    return [item for item in parsed if isinstance(item, dict) and item]


def _qdisc(item: dict[str, Any], ifname: str | None) -> Qdisc:
    return Qdisc(
        ifname=str(item.get("dev", ifname or "")),
        kind=str(item.get("kind", "")),
        major=_number(str(item.get("handle", "0:")).partition(":")[0]),
        parent="" if item.get("root") else str(item.get("parent", "")),
        options=dict(item.get("options") or {}),
    )


def _number(text: str) -> int:
    try:
        return int(text or "0", 16)
    except ValueError as error:
        raise ApplyFailed(f"tc printed an unreadable handle {text!r}", code="bad-answer") from error

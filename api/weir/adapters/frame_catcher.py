# SPDX-License-Identifier: Apache-2.0
"""Giving a frame to a port, and catching it behind our programs on another one (datapath/loader/prove.c)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_uint8, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass

from weir.adapters.datapath import Datapath
from weir.adapters.proof_frame import ProofFrame

MOST_LINES = 4
_HEAD_BYTES = 64


class _Asked(Structure):
    _fields_ = [
        ("nonce", c_uint64),
        ("nonce_at", c_uint32),
        ("line_count", c_uint32),
        ("lines", c_uint32 * MOST_LINES),
    ]


class _Seen(Structure):
    _fields_ = [
        ("now_ns", c_uint64),
        ("tstamp_ns", c_uint64),
        ("packets", c_uint64 * MOST_LINES),
        ("mark", c_uint32),
        ("priority", c_uint32),
        ("ifindex", c_uint32),
        ("times", c_uint32),
        ("mac", c_uint8 * 6),
        ("has_mac", c_uint8),
        ("reserved", c_uint8),
        ("head", c_uint8 * _HEAD_BYTES),
    ]


@dataclass(frozen=True, slots=True)
class Caught:
    """`passed`: it came out behind the port's programs. `counted`: by how many packets each line that was
    asked for went up meanwhile. `waits_ns`: so long our program has it wait. `mac`: of the next station, "" =
    none."""

    passed: bool
    ifindex: int
    counted: tuple[int, ...]
    waits_ns: int
    priority: int
    mac: str
    header: bytes


class FrameCatcher:
    """The programs are loaded once; attached they are between `attach` and `detach`. For one frame at a
    time."""

    def __init__(self, datapath: Datapath) -> None:
        """Raises `OSError`."""
        self._library, handle = datapath.native()
        self._library.weir_error.restype = c_char_p
        for name, types in (
            ("weir_proof_close", [c_void_p]),
            ("weir_proof_attach", [c_void_p, c_uint32]),
            ("weir_proof_detach", [c_void_p]),
            ("weir_proof_ask", [c_void_p, POINTER(_Asked)]),
            ("weir_proof_send", [c_void_p, c_char_p, c_uint32, c_uint32]),
            ("weir_proof_seen", [c_void_p, POINTER(_Seen), POINTER(_Seen)]),
        ):
            getattr(self._library, name).argtypes = types
            getattr(self._library, name).restype = c_int if name[11:] in ("attach", "send") else None
        self._proof = c_void_p()
        self._lines = 0
        self._check(self._library.weir_proof_open(handle, byref(self._proof)))

    def _check(self, result: int) -> None:
        if result < 0:
            text = (self._library.weir_error() or b"").decode(errors="replace")
            raise OSError(-result, text or os.strerror(-result))

    def ask(self, frame: ProofFrame, lines: Sequence[int]) -> None:
        """Catch this frame from now on, and look at these lines' counters."""
        self._lines = min(len(lines), MOST_LINES)
        nonce = int.from_bytes(frame.nonce, "little")
        held = (c_uint32 * MOST_LINES)(*lines[:MOST_LINES])
        asked = _Asked(nonce, frame.head_bytes + frame.nonce_at, self._lines, held)
        self._library.weir_proof_ask(self._proof, byref(asked))

    def attach(self, ifindex: int) -> str:
        """Why it cannot be caught there, "" = it can. Takes a grace period of RCU."""
        try:
            self._check(self._library.weir_proof_attach(self._proof, ifindex))
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def detach(self) -> None:
        self._library.weir_proof_detach(self._proof)

    def send(self, frame: bytes, ifindex: int) -> None:
        """As if it came in there; 0: it is sent otherwise, right afterwards. Raises `OSError`, ENETDOWN where
        the interface is down."""
        self._check(self._library.weir_proof_send(self._proof, frame, len(frame), ifindex))

    def seen(self) -> Caught:
        before, after = _Seen(), _Seen()
        self._library.weir_proof_seen(self._proof, byref(before), byref(after))
        pairs = list(zip(before.packets, after.packets, strict=True))[: self._lines]
        passed = after.times > 0
        return Caught(
            passed,
            after.ifindex,
            tuple(late - early for early, late in pairs) if passed else (),
            max(after.tstamp_ns - after.now_ns, 0) if after.tstamp_ns else 0,
            after.priority,
            bytes(after.mac).hex(":") if after.has_mac else "",
            bytes(after.head),
        )

    def close(self) -> None:
        if self._proof:
            self._library.weir_proof_close(self._proof)
            self._proof = c_void_p()

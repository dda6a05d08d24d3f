# SPDX-License-Identifier: Apache-2.0
"""ctypes declarations of libweir.so (datapath/loader/weir.h) and its errors as Problems."""

from __future__ import annotations

import ctypes
import errno
import os
from ctypes import (
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_int,
    c_int32,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from pathlib import Path

from weir.model.problem import ApplyFailed, Invalid, NotFound, Problem, Unavailable, Unsupported


class Options(Structure):
    _fields_ = [
        ("slots", c_uint32),
        ("prefixes", c_uint32),
        ("v4_units", c_uint32),
        ("domains", c_uint32),
        ("no_tcx", c_uint32),
        ("no_flow", c_uint32),
        ("no_hops", c_uint32),
        ("reserved", c_uint32),
    ]


class PortSpec(Structure):
    _fields_ = [
        ("name", c_char * 16),
        ("ifindex", c_uint32),
        ("mode", c_uint32),
        ("roles", c_uint32),
        ("target_slot", c_uint32),
        ("domain", c_uint32),
        ("overhead_bytes", c_int32),
        ("alive", c_uint32),
        ("hook", c_uint32),
        ("xdp", c_uint32),
        ("mac", c_uint8 * 6),
        ("tag", c_uint16),
        ("tag_protocol", c_uint32),
        ("lower", c_uint32),
        ("above", c_uint32),
        ("above_slot", c_uint32),
        ("largest", c_uint32),
        ("packets", c_uint64 * 8),
        ("bytes", c_uint64 * 8),
        ("up", c_uint64 * 8),
        ("refused", c_uint64),
        ("checked_packets", c_uint64 * 5),
        ("checked_bytes", c_uint64 * 5),
    ]


class GuardSpec(Structure):
    _fields_ = [("mended", c_uint32), ("words", c_char * 500)]


class UsageSpec(Structure):
    _fields_ = [
        ("slots", c_uint32),
        ("slots_used", c_uint32),
        ("prefixes", c_uint32),
        ("prefixes4_used", c_uint32),
        ("prefixes6_used", c_uint32),
        ("v4_units", c_uint32),
        ("v4_units_used", c_uint32),
        ("v6_lengths", c_uint32),
        ("v6_lengths_used", c_uint32),
        ("flow_lookup", c_uint32),
        ("subqueues", c_uint32),
        ("subqueues_used", c_uint32),
        ("hosts", c_uint32),
        ("hosts_used", c_uint32),
        ("kernel_bytes", c_uint64),
    ]


class SubqueuesStateSpec(Structure):
    _fields_ = [
        ("rate_bps", c_uint64),
        ("evicted", c_uint64),
        ("shared_packets", c_uint64),
        ("active", c_uint32),
        ("reserved", c_uint32),
    ]


class RoundTripSpec(Structure):
    _fields_ = [("count", c_uint32), ("age_ms", c_uint32), ("samples_ns", c_uint64 * 5)]


class LossSpec(Structure):
    _fields_ = [
        ("age_ms", c_uint32),
        ("seen_bytes", c_uint32),
        ("before_bytes", c_uint32),
        ("after_bytes", c_uint32),
        ("before_packets", c_uint32),
        ("after_packets", c_uint32),
    ]


class RoundTripsBelowSpec(Structure):
    _fields_ = [
        ("classes", c_uint32),
        ("age_ms", c_uint32),
        ("least_ns", c_uint64),
        ("median_ns", c_uint64),
    ]


class BoundedSpec(Structure):
    _fields_ = [
        ("address", c_uint8 * 16),
        ("bits", c_uint32),
        ("reserved", c_uint32),
        ("cost_ns", c_uint64),
        ("burst_ns", c_uint64),
        ("passed", c_uint64),
        ("dropped", c_uint64),
    ]


_PROTOTYPES = {
    "weir_open": [c_char_p, POINTER(Options), POINTER(c_void_p), POINTER(c_int)],
    "weir_destroy": [c_void_p],
    "weir_attach": [c_void_p, POINTER(PortSpec)],
    "weir_detach": [c_void_p, c_char_p],
    "weir_ports": [c_void_p, c_void_p, c_uint32],
    "weir_guard": [c_void_p, POINTER(GuardSpec)],
    "weir_bounded_write": [c_void_p, c_void_p, c_uint32],
    "weir_bounded_read": [c_void_p, c_void_p, c_uint32],
    "weir_sources_write": [c_void_p, c_void_p, c_uint32],
    "weir_refused_watch": [c_void_p],
    "weir_routes_look": [c_void_p],
    "weir_routes_plain": [c_void_p, c_char_p],
    "weir_used_take": [c_void_p, c_void_p, c_uint32],
    "weir_classes_write": [c_void_p, c_void_p, c_uint32],
    "weir_classes_read": [c_void_p, c_void_p, c_uint32],
    "weir_class_clear": [c_void_p, c_uint32],
    "weir_subqueues_write": [c_void_p, c_void_p, c_uint32],
    "weir_subqueues_read": [c_void_p, c_void_p, c_uint32],
    "weir_subqueues_state": [c_void_p, c_uint32, c_uint32, POINTER(SubqueuesStateSpec)],
    "weir_round_trips": [c_void_p, c_uint32, c_uint32, POINTER(RoundTripSpec)],
    "weir_losses": [c_void_p, c_uint32, c_uint32, POINTER(LossSpec)],
    "weir_round_trips_below": [c_void_p, c_uint32, c_uint32, c_uint32, POINTER(RoundTripsBelowSpec)],
    "weir_prefixes_change": [c_void_p, c_void_p, c_uint32, c_void_p, c_uint32],
    "weir_prefixes_read": [c_void_p, c_void_p, c_uint32],
    "weir_far_change": [c_void_p, c_void_p, c_uint32, c_void_p, c_uint32],
    "weir_far_read": [c_void_p, c_void_p, c_uint32],
    "weir_lookup": [c_void_p, c_void_p],
    "weir_usage": [c_void_p, POINTER(UsageSpec)],
    "weir_rest": [c_void_p],
    "weir_map_fd": [c_void_p, c_char_p, c_int],
    "weir_reader_fd": [c_void_p],
    "weir_program_fd": [c_void_p, c_char_p],
}

_DEFAULT_PATHS = ("/usr/lib/libweir.so", "/usr/local/lib/libweir.so")


def find_library() -> Path:
    """$WEIR_LIBRARY, else the source tree's build, else the installed one. Raises `Unavailable`."""
    named = os.environ.get("WEIR_LIBRARY")
    built = Path(__file__).resolve().parents[3] / "build" / "datapath" / "libweir.so"
    candidates = [Path(named)] if named else [built, *map(Path, _DEFAULT_PATHS)]
    for candidate in candidates:
        if candidate.exists():
            return candidate
    raise Unavailable(
        f"libweir.so is not at {' or '.join(map(str, candidates))}; build it with `make -C datapath`",
        code="datapath-not-built",
    )


def load_library(path: Path) -> ctypes.CDLL:
    """Raises `Unavailable` when the library or what it links to cannot be loaded."""
    try:
        library = ctypes.CDLL(str(path), use_errno=True)
    except OSError as error:
        raise Unavailable(f"{path} cannot be loaded: {error}", code="datapath-not-built") from error
    for name, arguments in _PROTOTYPES.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = c_int
    library.weir_close.argtypes = [c_void_p]
    library.weir_close.restype = None
    library.weir_fast_hold.argtypes = [c_void_p]
    library.weir_fast_hold.restype = None
    library.weir_error.argtypes = []
    library.weir_error.restype = c_char_p
    library.weir_flow_reason.argtypes = [c_void_p]
    library.weir_flow_reason.restype = c_char_p
    library.weir_hops_reason.argtypes = [c_void_p]
    library.weir_hops_reason.restype = c_char_p
    return library


_PROBLEMS: dict[int, tuple[type[Problem], str]] = {
    errno.EINVAL: (Invalid, "invalid"),
    errno.ENOENT: (NotFound, "not-found"),
    errno.ENODEV: (NotFound, "no-such-interface"),
    errno.ENOSPC: (Unavailable, "datapath-full"),
    errno.EPROTO: (Unsupported, "datapath-version"),
    errno.EPERM: (Unavailable, "not-permitted"),
    errno.EOPNOTSUPP: (Unsupported, "unsupported"),
}


def problem_of(library: ctypes.CDLL, result: int) -> Problem:
    """The Problem for a negative errno of libweir, with its sentence."""
    number = -result
    text = (library.weir_error() or b"").decode(errors="replace")
    kind, code = _PROBLEMS.get(number, (ApplyFailed, "datapath-failed"))
    return kind(text or os.strerror(number), code=code)

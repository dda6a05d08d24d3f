# SPDX-License-Identifier: Apache-2.0
"""The options of queue types that have an effect, read from RouterOS' texts into numbers.

Names, units and defaults: RouterOS v7 manual, "queue types". An option that is not here is kept and
exported, and a finding says that it does nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from weir.model.objects import QueueType
from weir.model.problem import Invalid
from weir.model.units import parse_duration_ms, parse_rate_bps

Value = int | str
MAX_COUNT = 1_000_000
MAX_SIZE_BYTES = 1 << 30
MAX_TIME_US = 60_000_000

_SIZE = re.compile(r"([0-9]{1,10})\s*(KiB|MiB|k|M|B|)", re.ASCII)
_SCALE = {"": 1, "B": 1, "k": 1000, "M": 10**6, "KiB": 1024, "MiB": 1 << 20}
_TIME = re.compile(r"([0-9]{1,9})\s*(us|ms|s|)", re.ASCII)
_UNIT_US = {"us": 1, "ms": 1000, "s": 10**6, "": 10**6}


def _count(text: str) -> int:
    return _bounded(int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1, MAX_COUNT)


def _size_bytes(text: str) -> int:
    match = _SIZE.fullmatch(text)
    return _bounded(int(match[1]) * _SCALE[match[2]] if match else -1, MAX_SIZE_BYTES)


def _time_us(text: str) -> int:
    match = _TIME.fullmatch(text)
    return _bounded(int(match[1]) * _UNIT_US[match[2]] if match else -1, MAX_TIME_US)


def _bounded(value: int, highest: int) -> int:
    if not 0 <= value <= highest:
        raise ValueError(f"is not a number from 0 to {highest}")
    return value


def _one_of(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"is not one of {', '.join(choices)}")
        return text

    return read


def _classifier(text: str) -> str:
    """Addresses only: ports would be a sub-queue for every connection."""
    names = [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in _ADDRESSES | _PORTS]
    if unknown:
        raise ValueError(f"names {unknown[0]!r}, which is none of {', '.join(sorted(_ADDRESSES | _PORTS))}")
    if not _ADDRESSES & set(names):
        raise ValueError("names neither src-address nor dst-address")
    return ",".join(names)


def _mask(bits: int) -> Callable[[str], int]:
    return lambda text: _bounded(_count(text), bits)


_flag = _one_of("yes", "no")
_ADDRESSES, _PORTS = frozenset({"src-address", "dst-address"}), frozenset({"src-port", "dst-port"})
_V4_BITS, _V6_BITS = 32, 128
_MASKS = {"pcq-{}-address-mask": _V4_BITS, "pcq-{}-address6-mask": _V6_BITS}

OPTIONS: Mapping[str, Mapping[str, Callable[[str], Value]]] = {
    "pfifo": {"pfifo-limit": _count},
    "mq-pfifo": {"mq-pfifo-limit": _count},
    "bfifo": {"bfifo-limit": _size_bytes},
    "sfq": {"sfq-perturb": _count, "sfq-allot": _size_bytes},
    "red": {
        "red-limit": _count,
        "red-min-threshold": _count,
        "red-max-threshold": _count,
        "red-burst": _count,
        "red-avg-packet": _size_bytes,
    },
    "codel": {
        "codel-limit": _count,
        "codel-target": _time_us,
        "codel-interval": _time_us,
        "codel-ecn": _flag,
    },
    "fq-codel": {
        "fq-codel-limit": _count,
        "fq-codel-flows": _count,
        "fq-codel-target": _time_us,
        "fq-codel-interval": _time_us,
        "fq-codel-quantum": _size_bytes,
        "fq-codel-memlimit": _size_bytes,
        "fq-codel-ecn": _flag,
    },
    "cake": {
        "cake-flowmode": _one_of(
            "flowblind",
            "srchost",
            "dsthost",
            "hosts",
            "flows",
            "dual-srchost",
            "dual-dsthost",
            "triple-isolate",
        ),
        "cake-diffserv": _one_of("besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"),
        "cake-ack-filter": _one_of("none", "filter", "aggressive"),
        "cake-nat": _flag,
        "cake-wash": _flag,
        "cake-rtt": _time_us,
        "cake-memlimit": _size_bytes,
    },
    "pcq": {
        "pcq-classifier": _classifier,
        "pcq-rate": parse_rate_bps,
        "pcq-limit": _size_bytes,
        "pcq-burst-rate": parse_rate_bps,
        "pcq-burst-threshold": parse_rate_bps,
        "pcq-burst-time": parse_duration_ms,
        **{option.format(end): _mask(bits) for option, bits in _MASKS.items() for end in ("src", "dst")},
    },
    "none": {},
}
"""By kind: what an option's text means. A kind's own default holds where an option is left out."""


@lru_cache(maxsize=1024)
def values_of(queue_type: QueueType) -> tuple[tuple[str, Value], ...]:
    """The options that have an effect, in the order of the type; unreadable ones are left out."""
    return tuple((name, value) for name, value, _ in _read(queue_type) if value is not None)


def faults_of(queue_type: QueueType) -> list[tuple[str, str]]:
    """(option, why it, or a part of it, has no effect)."""
    faults = [(name, fault) for name, _, fault in _read(queue_type) if fault]
    return [*faults, *_beside_the_key(dict(values_of(queue_type)))] if queue_type.type == "pcq" else faults


def _beside_the_key(values: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    """What a pcq type says of ends that its sub-queues are not made by."""
    if "pcq-classifier" not in values:
        return
    names = set(str(values["pcq-classifier"]).split(","))
    if names & _PORTS:
        yield "pcq-classifier", "has ports in it, which have no effect: sub-queues are by address"
    end = "dst" if names & _ADDRESSES == {"dst-address"} else "src"
    other = "src" if end == "dst" else "dst"
    for option, bits in _MASKS.items():
        used = values.get(option.format(end), bits)
        mask = values.get(option.format(other), bits)
        if names >= _ADDRESSES and mask != used:
            yield option.format(other), f"has no effect: {option.format(end)} holds for both ends"
        elif not names >= _ADDRESSES and mask != bits:
            yield option.format(other), f"has no effect: the classifier has no {other}-address"


def _read(queue_type: QueueType) -> Iterator[tuple[str, Value | None, str]]:
    known = OPTIONS[queue_type.type]
    for name, text in queue_type.options:
        read = known.get(name)
        if read is None:
            yield name, None, f"has no effect on the kind {queue_type.type}"
            continue
        try:
            yield name, read(text.strip()), ""
        except (ValueError, Invalid) as error:
            yield name, None, f"is {text!r}, which {error}: the default holds"

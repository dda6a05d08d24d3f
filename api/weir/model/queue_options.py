# SPDX-License-Identifier: Apache-2.0
"""The options of queue types that have an effect, read from RouterOS' texts into numbers.

Names, units and defaults: RouterOS v7 manual, "queue types". An option that is not here is kept and
exported, and a finding says that it does nothing. Each is declared once: how its text is read, and how a form
asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from weir.fields import Choice, Field, Quantity, Whole
from weir.model.limits import MAX_NAME_CHARS
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


def _read_count(text: str) -> int:
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


_ADDRESSES, _PORTS = frozenset({"src-address", "dst-address"}), frozenset({"src-port", "dst-port"})
_V4_BITS, _V6_BITS = 32, 128
_MASKS = {"pcq-{}-address-mask": _V4_BITS, "pcq-{}-address6-mask": _V6_BITS}


@dataclass(frozen=True, slots=True)
class Option:
    """What an option's text means (`read` raises `ValueError` or `Invalid`), and its field in a form."""

    read: Callable[[str], Value]
    field: Field


def _said(label: str, otherwise: str, rest: str = "", **said: Any) -> dict[str, Any]:
    """`otherwise` is what holds where the option is left out."""
    return {"label": label, "help": f"{rest} Left out: {otherwise}.".strip(), **said}


def _count(label: str, otherwise: str) -> Option:
    return Option(_read_count, Whole(0, MAX_COUNT, **_said(label, otherwise)))


def _size(label: str, otherwise: str) -> Option:
    said = _said(label, otherwise, example="50KiB")
    return Option(_size_bytes, Quantity(MAX_NAME_CHARS, pattern=_SIZE.pattern, **said))


def _time(label: str, otherwise: str) -> Option:
    said = _said(label, otherwise, example="5ms")
    return Option(_time_us, Quantity(MAX_NAME_CHARS, pattern=_TIME.pattern, **said))


def _rate(label: str, otherwise: str, **said: Any) -> Option:
    return Option(parse_rate_bps, Quantity(MAX_NAME_CHARS, unit="bps", **_said(label, otherwise, **said)))


def _choice(label: str, otherwise: str, *choices: str) -> Option:
    return Option(_one_of(*choices), Choice(*choices, **_said(label, otherwise)))


def _yes_no(label: str, otherwise: str) -> Option:
    return _choice(label, otherwise, "yes", "no")


def _mask(label: str, bits: int) -> Option:
    help_ = "How many addresses share a sub-queue: the bits that they have in common."
    field = Whole(0, bits, **_said(label, str(bits), help_, importance="folded"))
    return Option(lambda text: _bounded(_read_count(text), bits), field)


_ENDS = {"src": "Source", "dst": "Destination"}
_FAMILIES = {_V4_BITS: "IPv4", _V6_BITS: "IPv6"}
_FOLDED = {"importance": "folded"}

_PCQ: Mapping[str, Option] = {
    "pcq-classifier": Option(
        _classifier,
        Choice(
            "src-address",
            "dst-address",
            "src-address,dst-address",
            **_said(
                "A sub-queue for each",
                "src-address",
                "`src-address` is each customer's upload, `dst-address` each one's download.",
            ),
        ),
    ),
    "pcq-rate": _rate("Limit of each sub-queue", "equal shares of the queue's limit"),
    "pcq-limit": _size("Bytes that may wait in each", "50KiB"),
    "pcq-burst-rate": _rate("Burst rate of each", "no burst", **_FOLDED),
    "pcq-burst-threshold": _rate("Burst threshold", "no burst", **_FOLDED),
    "pcq-burst-time": Option(
        parse_duration_ms,
        Quantity(
            MAX_NAME_CHARS,
            unit="ms",
            **_said("Burst time", "no burst", "The time over which the average is taken.", **_FOLDED),
        ),
    ),
    **{
        option.format(end): _mask(f"{words}, {_FAMILIES[bits]} bits", bits)
        for option, bits in _MASKS.items()
        for end, words in _ENDS.items()
    },
}

OPTIONS: Mapping[str, Mapping[str, Option]] = {
    "pfifo": {"pfifo-limit": _count("Packets that may wait", "50")},
    "mq-pfifo": {"mq-pfifo-limit": _count("Packets that may wait", "50")},
    "bfifo": {"bfifo-limit": _size("Bytes that may wait", "15000")},
    "sfq": {
        "sfq-perturb": _count("Seconds until a new hash", "5"),
        "sfq-allot": _size("Bytes of each flow in a turn", "1514"),
    },
    "red": {
        "red-limit": _count("Packets that may wait", "60"),
        "red-min-threshold": _count("Drops begin at so many packets", "10"),
        "red-max-threshold": _count("All are dropped at so many packets", "50"),
        "red-burst": _count("Packets of a burst that is let through", "20"),
        "red-avg-packet": _size("Average packet, bytes", "1000"),
    },
    "codel": {
        "codel-limit": _count("Packets that may wait", "1000"),
        "codel-target": _time("Delay that is accepted", "5ms"),
        "codel-interval": _time("Time over which it is watched", "100ms"),
        "codel-ecn": _yes_no("Marks instead of drops where a flow can (ECN)", "no"),
    },
    "fq-codel": {
        "fq-codel-limit": _count("Packets that may wait", "10240"),
        "fq-codel-flows": _count("Flows that are told apart", "1024"),
        "fq-codel-target": _time("Delay that is accepted", "5ms"),
        "fq-codel-interval": _time("Time over which it is watched", "100ms"),
        "fq-codel-quantum": _size("Bytes of each flow in a turn", "1514"),
        "fq-codel-memlimit": _size("Memory", "32MiB"),
        "fq-codel-ecn": _yes_no("Marks instead of drops where a flow can (ECN)", "yes"),
    },
    "cake": {
        "cake-flowmode": _choice(
            "What is treated fairly",
            "triple-isolate",
            "flowblind",
            "srchost",
            "dsthost",
            "hosts",
            "flows",
            "dual-srchost",
            "dual-dsthost",
            "triple-isolate",
        ),
        "cake-diffserv": _choice(
            "Classes by DSCP",
            "diffserv3",
            "besteffort",
            "precedence",
            "diffserv3",
            "diffserv4",
            "diffserv8",
        ),
        "cake-ack-filter": _choice(
            "Drops needless TCP acknowledgements", "none", "none", "filter", "aggressive"
        ),
        "cake-nat": _yes_no("Looks behind NAT", "no"),
        "cake-wash": _yes_no("Clears DSCP", "no"),
        "cake-rtt": _time("Round trip that is expected", "100ms"),
        "cake-memlimit": _size("Memory", "what CAKE chooses"),
    },
    "pcq": _PCQ,
    "none": {},
}
"""By kind. A kind's own default holds where an option is left out."""


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
        option = known.get(name)
        if option is None:
            yield name, None, f"has no effect on the kind {queue_type.type}"
            continue
        try:
            yield name, option.read(text.strip()), ""
        except (ValueError, Invalid) as error:
            yield name, None, f"is {text!r}, which {error}: the default holds"

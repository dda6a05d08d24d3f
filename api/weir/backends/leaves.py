# SPDX-License-Identifier: Apache-2.0
"""The qdisc below a class of an HTB tree: the one that the queue's type names, or what comes nearest here.

Texts are for tc, made of known words and of numbers that the model has read; never of a configured text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from weir.adapters.tc import Qdisc
from weir.compiler.types import PACKET_BYTES, Waiting

OWN_PFIFO_PACKETS = 100
"""Below a class whose queue names no type, where the kernel has no fq_codel."""

_Values = Mapping[str, int | str]


@dataclass(frozen=True, slots=True)
class Leaf:
    """`arguments` follow the kind on tc's line; `reason` says why it is not the kind that was asked for."""

    kind: str
    arguments: str = ""
    reason: str = ""
    checked: tuple[tuple[str, int], ...] = field(default=(), compare=False)
    """Options as tc prints them that must be there when it is read back."""

    @property
    def text(self) -> str:
        return f"{self.kind} {self.arguments}".rstrip()

    def is_held(self, qdisc: Qdisc | None) -> bool:
        if qdisc is None or qdisc.kind != self.kind:
            return False
        return all(qdisc.options.get(name, value) == value for name, value in self.checked)


def leaf_of(waiting: Waiting, refusals: Mapping[str, str]) -> Leaf:
    """`refusals`: qdisc kind -> why it does not work on this kernel, "" or absent when it does."""
    wanted = _asked(waiting)
    if wanted is None:
        return _own(refusals, "no qdisc shares by address as PCQ does" if waiting.kind == "pcq" else "")
    refusal = refusals.get(wanted.kind, "")
    return _own(refusals, f"this kernel has no {wanted.kind}: {refusal}") if refusal else wanted


def _own(refusals: Mapping[str, str], reason: str) -> Leaf:
    if refusals.get("fq_codel", ""):
        return _fifo("pfifo", OWN_PFIFO_PACKETS, reason)
    return Leaf("fq_codel", reason=reason)


def _fifo(kind: str, limit: int, reason: str = "") -> Leaf:
    return Leaf(kind, f"limit {limit}", reason, (("limit", limit),))


def _asked(waiting: Waiting) -> Leaf | None:
    """None when the type names no qdisc of Linux."""
    values = dict(waiting.options)
    if waiting.kind in ("pfifo", "mq-pfifo"):
        return _fifo("pfifo", (waiting.backlog_bytes or 0) // PACKET_BYTES)
    if waiting.kind == "bfifo":
        return _fifo("bfifo", waiting.backlog_bytes or 0)
    if waiting.kind == "none":
        return _fifo("pfifo", 1)
    made = {"sfq": _sfq, "red": _red, "codel": _codel, "fq-codel": _fq_codel, "cake": _cake}.get(waiting.kind)
    return None if made is None else made(values)


def _sfq(values: _Values) -> Leaf:
    return Leaf("sfq", _words(values, ("sfq-perturb", "perturb", ""), ("sfq-allot", "quantum", "b")))


def _red(values: _Values) -> Leaf:
    """RouterOS counts packets of `red-avg-packet` bytes, tc bytes; defaults are RouterOS'."""

    def number(name: str, default: int) -> int:
        return max(int(values.get(name, default)), 1)

    size, least = number("red-avg-packet", 1000), number("red-min-threshold", 10)
    most = max(number("red-max-threshold", 50), least + 1)
    limit, burst = max(number("red-limit", 60), most), max(number("red-burst", 20), least)
    sizes = f"limit {limit * size} min {least * size} max {most * size} avpkt {size}"
    return Leaf("red", f"{sizes} burst {burst} probability 0.1")


def _codel(values: _Values) -> Leaf:
    words = _words(
        values,
        ("codel-limit", "limit", ""),
        ("codel-target", "target", "us"),
        ("codel-interval", "interval", "us"),
    )
    return Leaf("codel", f"{words} {_ecn(values, 'codel-ecn')}".strip())


def _fq_codel(values: _Values) -> Leaf:
    words = _words(
        values,
        ("fq-codel-limit", "limit", ""),
        ("fq-codel-flows", "flows", ""),
        ("fq-codel-target", "target", "us"),
        ("fq-codel-interval", "interval", "us"),
        ("fq-codel-quantum", "quantum", ""),
        ("fq-codel-memlimit", "memory_limit", "b"),
    )
    return Leaf("fq_codel", f"{words} {_ecn(values, 'fq-codel-ecn')}".strip())


def _cake(values: _Values) -> Leaf:
    """Without a rate of its own: the class above it has one."""
    ack_filter = {"filter": "ack-filter", "aggressive": "ack-filter-aggressive"}
    words = [
        "unlimited",
        str(values.get("cake-flowmode", "")),
        str(values.get("cake-diffserv", "")),
        "nat" if values.get("cake-nat") == "yes" else "",
        "wash" if values.get("cake-wash") == "yes" else "",
        ack_filter.get(str(values.get("cake-ack-filter", "")), ""),
        _words(values, ("cake-rtt", "rtt", "us"), ("cake-memlimit", "memlimit", "b")),
    ]
    return Leaf("cake", " ".join(filter(None, words)))


def _ecn(values: _Values, name: str) -> str:
    return {"yes": "ecn", "no": "noecn"}.get(str(values.get(name, "")), "")


def _words(values: _Values, *given: tuple[str, str, str]) -> str:
    """tc's words for the options that are given: (option, tc's name, tc's unit)."""
    return " ".join(f"{word} {values[name]}{unit}" for name, word, unit in given if name in values)

# SPDX-License-Identifier: Apache-2.0
"""A PCQ type's options as the datapath's sub-queues (RouterOS v7 manual, "PCQ")."""

from __future__ import annotations

from functools import lru_cache

from weir.adapters.subqueue_records import LIMIT_BYTES, SubqueueKey, SubqueuesRecord
from weir.compiler.types import Waiting

_KEYS: dict[frozenset[str], SubqueueKey] = {
    frozenset({"src-address"}): "source",
    frozenset({"dst-address"}): "destination",
    frozenset({"src-address", "dst-address"}): "both",
}
_V4_BITS, _V6_BITS = 32, 128


@lru_cache(maxsize=1024)
def subqueues_of(waiting: Waiting) -> SubqueuesRecord | None:
    """None for other kinds, and for a classifier without an address. Ports in it are left out: hosts share.

    With both addresses the source's masks hold for both.
    """
    if waiting.kind != "pcq":
        return None
    values = dict(waiting.options)
    names = frozenset(str(values.get("pcq-classifier", "")).replace(" ", "").split(","))
    key = _KEYS.get(names & {"src-address", "dst-address"})
    if key is None:
        return None

    def number(name: str, default: int, highest: int | None = None) -> int:
        value = int(values.get(name, default))
        return value if highest is None else min(value, highest)

    end = "dst" if key == "destination" else "src"
    return SubqueuesRecord.of(
        key,
        number(f"pcq-{end}-address-mask", _V4_BITS, _V4_BITS),
        number(f"pcq-{end}-address6-mask", _V6_BITS, _V6_BITS),
        number("pcq-rate", 0),
        number("pcq-limit", LIMIT_BYTES),
        number("pcq-burst-rate", 0),
        number("pcq-burst-threshold", 0),
        number("pcq-burst-time", 0),
    )

# SPDX-License-Identifier: Apache-2.0
"""A value per direction."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")

_MAX_CACHED_PAIRS = 1 << 12
"""A billing system that turns rates up and down makes another pair with each change: 65,536 took 15 MB."""


class Pair(NamedTuple, Generic[T]):
    """One value per direction, as seen by the target. A tuple: what queues share is found by its hash."""

    upload: T
    download: T


_pairs: dict[tuple[Any, Any], Pair[Any]] = {}


def shared_pair(upload: T, download: T) -> Pair[T]:
    """The one `Pair` of these values: most of 100,000 queues share a handful of rates and types."""
    key = (upload, download)
    pair = _pairs.get(key)
    if pair is None:
        if len(_pairs) >= _MAX_CACHED_PAIRS:
            _pairs.clear()
        pair = _pairs[key] = Pair(upload, download)
    return pair

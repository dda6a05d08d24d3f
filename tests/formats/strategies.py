# SPDX-License-Identifier: Apache-2.0
"""Documents as the model allows them: what the exporters must be able to write and read back."""

from __future__ import annotations

from hypothesis import strategies as st

from weir.model.document import Document
from weir.model.limits import (
    DAYS,
    MAX_BUCKET_SIZE_MS,
    MAX_BURST_TIME_MS,
    MAX_POSITION,
    MAX_QUEUE_LEVELS,
    MAX_RATE_BPS,
    QUEUE_TYPE_KINDS,
)
from weir.model.objects import NO_TOTAL, Pair, Queue, QueueType, TimeWindow, Total
from weir.model.prefix import Prefix
from weir.model.schedule import ALWAYS

AWKWARD = st.sampled_from(
    [" ", '"', "\\", "$", "?", "/", ";", "=", ",", "<", ">", "'", "@", "✅", "é", "Ж", "{", "#", "!"]
)
NAMES = (
    st.text(st.one_of(AWKWARD, st.characters(exclude_categories=("Cc", "Cs"))), min_size=1, max_size=40)
    .filter(lambda name: name.strip() != "" and name != "none")
)  # fmt: skip
COMMENTS = st.text(
    st.one_of(AWKWARD, st.sampled_from("\n\t"), st.characters(exclude_categories=("Cc", "Cs")))
)
RATES = st.one_of(st.integers(0, MAX_RATE_BPS), st.integers(0, 999).map(lambda value: value * 10**6))
LIMITS = RATES.filter(lambda rate: rate == 0 or rate >= 20_000)
TYPE_IDS = st.sampled_from(["default-small", "default", "pcq-upload-default", "Plan 10M", "cake.up"])


def pairs(values: st.SearchStrategy[int]) -> st.SearchStrategy[Pair[int]]:
    return st.builds(Pair, values, values)


@st.composite
def prefixes(draw: st.DrawFn) -> str:
    family, width = draw(st.sampled_from([(4, 32), (6, 128)]))
    length = draw(st.integers(0, width))
    value = draw(st.integers(0, 2**width - 1)) >> (width - length) << (width - length)
    return Prefix(family, value, length).text


TARGETS = st.lists(st.one_of(prefixes(), st.sampled_from(["lan0", "wan0.100"])), max_size=3, unique=True)


@st.composite
def windows(draw: st.DrawFn) -> TimeWindow | None:
    start = draw(st.integers(0, 1439))
    end = draw(st.integers(start + 1, 1440))
    days = draw(st.sets(st.sampled_from(DAYS), min_size=1))
    window = TimeWindow(start, end, tuple(day for day in DAYS if day in days))
    return None if window == ALWAYS else window


TOTALS = st.one_of(
    st.just(NO_TOTAL),
    st.builds(
        Total,
        max_limit_bps=LIMITS,
        limit_at_bps=st.integers(0, 20_000),
        burst_limit_bps=st.just(0),
        burst_threshold_bps=RATES,
        burst_time_ms=st.integers(0, MAX_BURST_TIME_MS),
        priority=st.integers(1, 8),
        queue_type=TYPE_IDS,
        bucket_size_ms=st.integers(0, MAX_BUCKET_SIZE_MS),
    ),
)
BURSTS = st.just(Pair(MAX_RATE_BPS, MAX_RATE_BPS)) | st.just(Pair(0, MAX_RATE_BPS)) | st.just(Pair(0, 0))


def queues(object_id: str, name: str, parent: str | None) -> st.SearchStrategy[Queue]:
    return st.builds(
        Queue,
        id=st.just(object_id),
        name=st.just(name),
        target=TARGETS.map(tuple),
        dst=st.one_of(st.none(), prefixes().filter(lambda text: text != "0.0.0.0/0"), st.just("wan0")),
        parent=st.just(parent),
        position=st.one_of(st.integers(0, 30), st.integers(0, MAX_POSITION)),
        max_limit_bps=pairs(LIMITS),
        limit_at_bps=pairs(st.integers(0, 20_000)),
        burst_limit_bps=BURSTS,
        burst_threshold_bps=pairs(RATES),
        burst_time_ms=pairs(st.integers(0, MAX_BURST_TIME_MS)),
        priority=pairs(st.integers(1, 8)),
        queue_type=st.builds(Pair, TYPE_IDS, TYPE_IDS),
        bucket_size_ms=pairs(st.integers(0, MAX_BUCKET_SIZE_MS)),
        time=windows(),
        total=TOTALS,
        comment=COMMENTS,
        disabled=st.booleans(),
    )


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """A tree of up to eight queues, with the queue types that they name."""
    document = Document(
        QueueType(own_id, draw(st.sampled_from(QUEUE_TYPE_KINDS)), (("pcq-rate", "5M"),), "a comment")
        for own_id in ("Plan 10M", "cake.up")
    )
    levels: dict[str | None, int] = {None: 0}
    for number, name in enumerate(draw(st.lists(NAMES, max_size=8, unique=True))):
        above = [item for item, level in levels.items() if level < MAX_QUEUE_LEVELS]
        parent = draw(st.sampled_from(above))
        own_id = draw(st.sampled_from([f"q{number}", f"a.{number}", f"{number}-x"]))
        levels[own_id] = levels[parent] + 1
        document.put(draw(queues(own_id, name, parent)))
    return document

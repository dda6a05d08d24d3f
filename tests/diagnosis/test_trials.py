# SPDX-License-Identifier: Apache-2.0
"""Whether a remedy helped is said only when that is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.diagnosis.samples import cores, judged, unseen, well
from weir.diagnosis.sample import Port, Sample
from weir.diagnosis.trial import LOOKS, MISSED, Trial

SICK = {"softirq": 95, "squeezed": 500, "packets": 900_000}
WELL = {"softirq": 60, "packets": 300_000}
QUIET = {"softirq": 1, "packets": 10}
BEGUN = 6
NO_CARD = {"eth0": Port(4, "mq", 0, 0)}


def tried(after: Callable[[int], Sample], looks: int = LOOKS + 1, remedy: str = "spread") -> Trial:
    """A remedy against one core that does all the work, and what the looks after it show."""
    sick = [well(step, cores=cores(step, SICK, QUIET, QUIET), ports=NO_CARD) for step in range(1, BEGUN)]
    found = judged(sick)
    (held,) = found.raised()
    trial = found.begin_trial(held, remedy, 7, 1)
    for step in range(looks):
        found.take(after(step))
    return trial


def then(*kinds: dict[str, int], card: int = 0) -> Callable[[int], Sample]:
    """Counters that go on growing, each by its new rate; `card`: what a card receives in a period."""
    base = cores(BEGUN - 1, SICK, QUIET, QUIET)

    def sample(step: int) -> Sample:
        grown = cores(step + 1, *kinds)
        summed: Any = tuple(
            type(new)(*(a + b for a, b in zip(_fields(old), _fields(new), strict=True)))
            for old, new in zip(base, grown, strict=True)
        )
        return well(BEGUN + step, cores=summed, ports={"eth0": Port(4, "mq", card * (step + 1), 0)})

    return sample


def _fields(core: Any) -> list[int]:
    return [getattr(core, name) for name in core.__dataclass_fields__]


def test_it_helped_when_it_is_gone_under_the_same_load() -> None:
    assert tried(then(WELL, WELL, WELL)).outcome == "helped"


def test_there_is_no_change_when_it_is_still_seen() -> None:
    trial = tried(then(SICK, QUIET, QUIET))
    assert trial.outcome == "no-change" and "taken back" in trial.sentence


def test_it_is_not_known_when_the_load_is_gone_as_well() -> None:
    trial = tried(then(QUIET, QUIET, QUIET))
    assert trial.outcome == "unknown" and "so is the load" in trial.sentence


def test_what_xdp_takes_is_load_although_no_core_counts_it() -> None:
    assert tried(then(QUIET, QUIET, QUIET, card=10_000_000)).outcome == "helped"


def test_it_is_not_known_where_the_remedy_hides_the_sign() -> None:
    """The kernel books the work of threaded NAPI as a thread's: the share of soft interrupts says nothing."""
    trial = tried(then(WELL, WELL, WELL), remedy="threaded-napi")
    assert trial.outcome == "unknown" and "threads" in trial.sentence
    assert tried(then(SICK, QUIET, QUIET), remedy="threaded-napi").outcome == "no-change"


def test_it_is_measured_for_six_looks_after_the_change() -> None:
    assert tried(then(WELL, WELL, WELL), LOOKS).outcome == "measuring"


def test_it_is_not_known_when_it_cannot_be_looked_at() -> None:
    trial = tried(lambda step: unseen(well(BEGUN + step), "softnet is gone", "cores"), MISSED)
    assert trial.outcome == "unknown" and "softnet is gone" in trial.sentence

# SPDX-License-Identifier: Apache-2.0
"""What is asked of a plan is asked of each of its parts, also of one that comes later."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from weir.compiler.plan import Delta, OverridesDelta, Plan, RulesDelta
from weir.compiler.types import Counts, FirewallRule

RULE = FirewallRule("input", "drop", "all")


@dataclass(slots=True)
class Wider(Plan):
    """A plan with a part that this release does not have."""

    mirrors: Delta[str] = field(default_factory=Delta)


def test_a_new_part_is_seen_counted_and_undone() -> None:
    plan = Wider(mirrors=Delta([(None, "new")], ["old", "older"]))
    assert plan and not Wider()
    assert plan.counts() == Counts(1, 0, 2)
    undone = plan.inverse()
    assert isinstance(undone, Wider)
    assert undone.mirrors == Delta([(None, "older"), (None, "old")], ["new"])


def test_a_part_that_cannot_be_undone_is_an_error() -> None:
    plan = Wider()
    plan.mirrors = "something"  # type: ignore[assignment]
    with pytest.raises(AttributeError, match="inverse"):
        plan.inverse()


def test_what_is_replaced_as_one_is_counted_and_undone() -> None:
    plan = Plan(firewall=RulesDelta((), (RULE,)), tuning=OverridesDelta({"a": "1", "b": "1"}, {"a": "2"}))
    assert plan.counts() == Counts(1, 1, 1)
    assert plan.inverse().firewall == RulesDelta((RULE,), ())
    assert plan.inverse().inverse() == plan

# SPDX-License-Identifier: Apache-2.0
"""HTB serves each class its rate whatever the limits above: no tree may promise more than a limit is."""

from __future__ import annotations

import pytest

from weir.adapters.tc import HTB_OWN
from weir.backends.htb_tree import reduced_rates, tree_of
from weir.compiler.types import ClassSpec, ClockSpec, PortSpec

M = 1_000_000
LAN = PortSpec("lan0", "lan", "htb", 0, 0)


def spec(slot: int, parent: int, depth: int, limit_bps: int, guarantee_bps: int = 0) -> ClassSpec:
    clock = ClockSpec(limit_bps, 100_000, guarantee_bps)
    return ClassSpec(slot, f"q{slot}", parent, depth, clock, clock)


def tree(*specs: ClassSpec) -> dict[int, ClassSpec]:
    return {item.slot: item for item in specs}


def test_what_fits_is_as_asked() -> None:
    specs = tree(spec(1, 0, 0, 10 * M), spec(2, 1, 1, 10 * M, 6 * M), spec(3, 1, 1, 10 * M, 4 * M))
    assert reduced_rates(specs, LAN) == {}
    assert tree_of(specs, LAN)[HTB_OWN | 2].rate_bps == 6 * M


def test_promises_above_a_limit_scale_on_every_level() -> None:
    """The manual's fourth example: about 3, 1 and 6 of 10."""
    specs = tree(
        spec(1, 0, 0, 10 * M),
        spec(2, 1, 1, 10 * M, 4 * M),
        spec(3, 1, 1, 10 * M, 6 * M),
        spec(4, 2, 2, 10 * M, 2 * M),
        spec(5, 2, 2, 15 * M, 12 * M),
    )
    classes = tree_of(specs, LAN)
    assert [classes[HTB_OWN | slot].rate_bps for slot in (3, 4, 5)] == [3 * M, 1 * M, 6 * M]
    assert classes[2].rate_bps == 4 * M
    assert classes[HTB_OWN | 5].ceil_bps == 15 * M


@pytest.mark.parametrize("guarantee_bps", [0, 1 * M])
def test_very_many_children_stay_below_their_parents_limit(guarantee_bps: int) -> None:
    """Also without guarantees: HTB wants a rate of everybody."""
    children = [spec(slot, 1, 1, 50 * M, guarantee_bps) for slot in range(2, 4002)]
    classes = tree_of(tree(spec(1, 0, 0, 100 * M), *children), LAN)
    leaves = [item.rate_bps for minor, item in classes.items() if minor & HTB_OWN and minor != HTB_OWN | 1]
    assert len(leaves) == 4000
    assert 95 * M < sum(leaves) <= 100 * M

# SPDX-License-Identifier: Apache-2.0
"""No change makes a packet cost more instructions unnoticed (lab/vm/run --count-instructions pytest ...)."""

from __future__ import annotations

import os
import platform
import warnings
from contextlib import closing

import pytest

from bench import instructions
from weir.adapters.datapath_lib import find_library
from weir.probes.softirq_rows import SoftirqRows

pytestmark = pytest.mark.skipif(
    not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine that counts instructions"
)
TOLERANCE = 1.02


WATCHED_SHARE = 1 / 16
"""Of the time, by the agent."""
MOST = 0.02
"""Of a packet's instructions, for looking at softirqs so often."""


@pytest.fixture(scope="module")
def figures() -> dict[str, float]:
    figures = instructions.measured(instructions.GATED)
    print(figures)
    return figures


@pytest.fixture(scope="module")
def found(figures: dict[str, float]) -> dict[str, float]:
    return instructions.ratios(figures)


def test_watching_softirqs_a_sixteenth_of_the_time_costs_at_most_two_percent(
    figures: dict[str, float],
) -> None:
    with closing(SoftirqRows(str(find_library()))) as rows:
        rows.watch(True)
        watched = instructions.measured(instructions.GATED)
        rows.watch(False)
        assert sum(row.packets for row in rows.read()) > 0
    print({"watched": watched})
    costs = {name: watched[name] / figures[name] - 1 for name in figures}
    assert max(costs.values()) * WATCHED_SHARE <= MOST, costs


@pytest.mark.parametrize("gate", instructions.GATES)
def test_a_packet_costs_no_more_than_the_table_says(found: dict[str, float], gate: str) -> None:
    kernel, compiler, committed = instructions.committed()
    words = f"{gate} is {found[gate]}, docs/instructions.md says {committed[gate]}"
    if (kernel, compiler) == (platform.release(), instructions.compiler()):
        assert found[gate] <= committed[gate] * TOLERANCE, words
    elif found[gate] > committed[gate] * TOLERANCE:
        warnings.warn(f"{words} for {kernel} and {compiler}", stacklevel=1)

# SPDX-License-Identifier: Apache-2.0
"""No change makes a packet cost more instructions unnoticed (lab/vm/run --count-instructions pytest ...)."""

from __future__ import annotations

import os
import platform
import warnings

import pytest

from bench import instructions

pytestmark = pytest.mark.skipif(
    not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine that counts instructions"
)
TOLERANCE = 1.02


@pytest.fixture(scope="module")
def found() -> dict[str, float]:
    figures = instructions.measured(instructions.GATED)
    print(figures)
    return instructions.ratios(figures)


@pytest.mark.parametrize("gate", instructions.GATES)
def test_a_packet_costs_no_more_than_the_table_says(found: dict[str, float], gate: str) -> None:
    kernel, compiler, committed = instructions.committed()
    words = f"{gate} is {found[gate]}, docs/instructions.md says {committed[gate]}"
    if (kernel, compiler) == (platform.release(), instructions.compiler()):
        assert found[gate] <= committed[gate] * TOLERANCE, words
    elif found[gate] > committed[gate] * TOLERANCE:
        warnings.warn(f"{words} for {kernel} and {compiler}", stacklevel=1)

# SPDX-License-Identifier: Apache-2.0
"""docs/bpf-programs.md is current, and no program has grown unnoticed."""

from __future__ import annotations

import platform
import warnings

from tests.datapath import program_table

TOLERANCE = 1.02


def test_programs_are_no_larger_than_the_table_says(own_namespace: None) -> None:
    kernel, compiler, expected = program_table.committed()
    found = program_table.measured()
    assert set(expected) == set(found)
    grown = {
        name: (expected[name], figures)
        for name, figures in found.items()
        if any(now > before * TOLERANCE for before, now in zip(expected[name], figures, strict=True))
    }
    if (kernel, compiler) == (platform.release(), program_table.compiler()):
        assert grown == {}, (
            "larger than docs/bpf-programs.md says (was, is): make the table anew if it must be"
        )
    elif grown:
        warnings.warn(f"larger than on {kernel} with {compiler}: {grown}", stacklevel=1)
    assert all(walked < 100_000 for _, _, walked in found.values())

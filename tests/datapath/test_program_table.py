# SPDX-License-Identifier: Apache-2.0
"""docs/bpf-programs.md is current, and no program has grown unnoticed."""

from __future__ import annotations

import warnings

from tests.datapath import program_table

TOLERANCE = 1.02


def test_programs_are_no_larger_than_the_table_says(own_namespace: None) -> None:
    compare_with_table(strict=True)


def compare_with_table(*, strict: bool) -> None:
    """Load everything and compare with the running kernel's section; strict: growth is an error."""
    found = program_table.measured()
    expected = program_table.committed()[found.series]
    missing = set(expected.figures) - set(found.figures)
    assert set(found.figures) <= set(expected.figures)
    if missing:
        assert missing == set(program_table.READ), missing
        warnings.warn(f"{found.kernel} refuses {', '.join(missing)}", stacklevel=1)
    grown = {
        name: (expected.figures[name], figures)
        for name, figures in found.figures.items()
        if any(now > before * TOLERANCE for before, now in zip(expected.figures[name], figures, strict=True))
    }
    if strict and (expected.kernel, expected.compiler) == (found.kernel, found.compiler):
        assert grown == {}, (
            "larger than docs/bpf-programs.md says (was, is): write the table again if it must be"
        )
    elif grown:
        warnings.warn(f"larger than on {expected.kernel} with {expected.compiler}: {grown}", stacklevel=1)
    assert all(figures.walked < 250_000 for figures in found.figures.values())


def test_the_table_has_every_program_on_both_kernels() -> None:
    sections = program_table.committed()
    assert set(sections) >= {"6.12", "6.18"}
    assert set(sections["6.12"].figures) == {
        *program_table.TC,
        *program_table.FAST,
        *program_table.READ,
        *program_table.WATCH,
    }

# SPDX-License-Identifier: Apache-2.0
"""What the bench measures the datapath's tables with is built from its sources, and changes with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import groups, trie


def test_the_datapath_is_built_with_the_kernels_trie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Since tables are sections of data it had not been."""
    monkeypatch.setattr(trie, "FOLDER", tmp_path)
    assert trie.build().stat().st_size > 0


def test_lookups_are_timed_that_find_a_class() -> None:
    """Since then they had been of empty tables: 1 ns for a lookup that takes 23."""
    found = {row.id: row for row in groups.tables()}
    assert found.keys() == set(groups.GROUPS["tables"].ids)

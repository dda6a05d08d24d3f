# SPDX-License-Identifier: Apache-2.0
"""No change makes a packet touch more memory unnoticed (lab/vm/run --count-instructions --plugin
build/bench/touched.so pytest ...)."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench import forwarding, touched
from bench.touched import LEAVES, PLUGIN, Touches

pytestmark = pytest.mark.skipif(
    os.environ.get("WEIR_PLUGIN") != PLUGIN.name,
    reason="needs the virtual machine that tells what is touched",
)
MOST_LINES, MOST_PAGES = 2.0, 1.2
"""That none of the 64 packets before touched: the class's own line, and a third of a tower's two."""
MOST_IN_ALL = 18
"""Lines: of our tables 9, of the stack 2, and what the hook and the clock need; 11 to 15 have been seen, as
records of the kernel share lines or do not."""


@pytest.fixture(scope="module")
def more() -> Touches:
    """What three levels of clocks touch beyond mq with fq leaves."""
    forwarding.build()
    with ExitStack() as stack:
        seen = touched.measured(Path(os.environ["WEIR_RUN"]), touched.paced(stack, 2 * LEAVES))
    found = seen["edt"].touches - seen["mq-fq"].touches
    print(found)
    return found


def test_a_customers_packet_fetches_its_line_and_little_else(more: Touches) -> None:
    assert 0.9 <= more.near_lines <= MOST_LINES
    assert 0.9 <= more.near_pages <= MOST_PAGES


def test_shaping_touches_few_lines_in_all(more: Touches) -> None:
    assert more.lines <= MOST_IN_ALL

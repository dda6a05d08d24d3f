# SPDX-License-Identifier: Apache-2.0
"""Every program in every configuration loads on Linux 6.12, no larger than docs/bpf-programs.md says."""

from __future__ import annotations

import os

import pytest

from tests.datapath.test_program_table import check_against_table

pytestmark = pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel")


def test_programs_are_no_larger_than_the_table_says() -> None:
    check_against_table()

# SPDX-License-Identifier: Apache-2.0
"""Every program in every configuration loads on Linux 6.12, far within the verifier's limits.

Growth is an error on the developer's kernel, where the table is easily recreated; here it is reported.
"""

from __future__ import annotations

import os

import pytest

from tests.datapath.test_program_table import compare_with_table

pytestmark = pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel")


def test_programs_load_in_every_configuration_of_the_table() -> None:
    compare_with_table(strict=False)

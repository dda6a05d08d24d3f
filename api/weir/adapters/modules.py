# SPDX-License-Identifier: Apache-2.0
"""Kernel modules that must be there before programs are loaded which call them."""

from __future__ import annotations

import logging

from weir.adapters.process import run
from weir.model.problem import Problem

log = logging.getLogger(__name__)


def load_flow_tables() -> None:
    """Load nf_flow_table where it is a module; without it the fast path cannot ask for connections."""
    try:
        run(["modprobe", "-q", "nf_flow_table"])
    except Problem as problem:
        log.debug("no flow tables: %s", problem.message)

# SPDX-License-Identifier: Apache-2.0
"""Kernel modules that must be there before they are asked for something."""

from __future__ import annotations

import logging

from weir.adapters.process import run
from weir.model.problem import Problem

log = logging.getLogger(__name__)


def load_bonds() -> None:
    """Load bonding where it is a module; loaded on demand it would make a bond0 of its own."""
    try:
        run(["modprobe", "-q", "bonding", "max_bonds=0"])
    except Problem as problem:
        log.debug("no bonds: %s", problem.message)


def load_pppoe() -> None:
    """Load PPPoE where it is a module, and with it what makes /dev/ppp."""
    try:
        run(["modprobe", "-q", "pppoe"])
    except Problem as problem:
        log.debug("no PPPoE: %s", problem.message)


def load_helper(helper: str) -> None:
    """Load conntrack's helper for a protocol (`ftp`) and what translates its words, where they are modules: a
    rule that names a helper makes the kernel load the former alone. The image's kernel has both built in."""
    try:
        run(["modprobe", "-q", f"nf_nat_{helper}"])
    except Problem as problem:
        log.debug("no helper: %s", problem.message)


def load_flow_tables() -> None:
    """Load nf_flow_table where it is a module; without it the fast path cannot ask for connections."""
    try:
        run(["modprobe", "-q", "nf_flow_table"])
    except Problem as problem:
        log.debug("no flow tables: %s", problem.message)

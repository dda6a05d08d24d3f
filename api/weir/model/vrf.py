# SPDX-License-Identifier: Apache-2.0
"""Routing tables of VRFs: the one that was given, or one by the name, which stays the same."""

from __future__ import annotations

from hashlib import blake2b

from weir.model.interface import Interface
from weir.model.limits import MAX_VRF_TABLE

RESERVED_TABLES = (253, 254, 255)
"""The kernel's own: default, main, local."""

_FIRST_CHOSEN = 10_000
"""Below are the numbers that people write."""


def vrf_of(interface: Interface) -> str | None:
    """Where an interface's addresses are: the VRF that it is in, or is."""
    return interface.vrf if interface.vrf_table is None else interface.id


def is_vrf(interface: Interface) -> bool:
    return interface.vrf_table is not None


def table_of(interface: Interface) -> int | None:
    """The table of a VRF; None for another interface. Two names may have one number: then a rule says so."""
    if interface.vrf_table != 0:
        return interface.vrf_table
    digest = int.from_bytes(blake2b(interface.id.encode(), digest_size=8).digest(), "little")
    return _FIRST_CHOSEN + digest % (MAX_VRF_TABLE - _FIRST_CHOSEN + 1)

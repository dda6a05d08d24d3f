# SPDX-License-Identifier: Apache-2.0
"""Which interfaces lead outside, where services are not offered."""

from __future__ import annotations

from weir.model.interface import Interface


def is_outside(interface: Interface) -> bool:
    """Whether strangers are behind it: a service never answers there."""
    return interface.role == "wan"


def is_inside(interface: Interface) -> bool:
    """Whether the hosts behind it are the router's own network, which it serves without being told."""
    return interface.role == "lan"

# SPDX-License-Identifier: Apache-2.0
"""From where something of the router's may be reached, said the same of everything that can be bounded so."""

from __future__ import annotations

from weir.fields import Many, Prefix

MAX_SOURCES = 64


def networks(help_text: str) -> Many:
    """The field `sources`. Empty means everybody whom the firewall lets in."""
    return Many(Prefix(), MAX_SOURCES, help=help_text, example="192.168.88.0/24")

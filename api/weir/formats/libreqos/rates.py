# SPDX-License-Identifier: Apache-2.0
"""Mbit/s as LibreQoS writes them, in files where DOWNLOAD comes first."""

from __future__ import annotations

import re

from weir.formats.quantity import rate_bps
from weir.model.objects import Pair
from weir.model.pair import shared_pair

_MBPS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,12})?")


def mbps_to_bps(text: str) -> int:
    """`2.5` is 2,500,000 bit/s. Raises `ValueError`."""
    stripped = text.strip()
    if not _MBPS.fullmatch(stripped):
        raise ValueError("expected a number of Mbit/s such as 25 or 2.5")
    return rate_bps(stripped, 6)


def pair_bps(download_mbps: str, upload_mbps: str) -> Pair[int]:
    """Weir's order of two rates in LibreQoS' order. Raises `ValueError`."""
    return shared_pair(mbps_to_bps(upload_mbps), mbps_to_bps(download_mbps))

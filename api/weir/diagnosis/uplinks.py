# SPDX-License-Identifier: Apache-2.0
"""Uplinks that do not work."""

from __future__ import annotations

from collections.abc import Iterator

from weir.diagnosis.symptom import Number, Span, Symptom


def down(span: Span) -> Iterator[Symptom]:
    """All checks of an uplink have failed (`weir.agent.uplink_rounds`)."""
    for name, look in (span.now.uplinks or {}).items():
        if look.down_s is not None:
            yield Symptom("uplink-down", name, (Number("down_s", look.down_s, "s", 0),))

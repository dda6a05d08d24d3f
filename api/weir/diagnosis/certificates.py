# SPDX-License-Identifier: Apache-2.0
"""Certificates in use whose time is nearly over, or that are not good now."""

from __future__ import annotations

from collections.abc import Iterator

from weir.diagnosis.symptom import Number, Span, Symptom

SOON_DAYS = 14
"""One that is renewed by itself has been by then."""


def ending(span: Span) -> Iterator[Symptom]:
    """By the router's clock."""
    for name, look in (span.now.certificates or {}).items():
        if not look.wrong_days and look.left_days < SOON_DAYS:
            late = Number("late", SOON_DAYS - look.left_days, "days", 0)
            yield Symptom("certificate-ending", name, (late, Number("left", look.left_days, "days")))


def invalid(span: Span) -> Iterator[Symptom]:
    for name, look in (span.now.certificates or {}).items():
        if look.wrong_days:
            yield Symptom("certificate-invalid", name, (Number("wrong", look.wrong_days, "days", 0),))

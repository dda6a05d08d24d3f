# SPDX-License-Identifier: Apache-2.0
"""Sets that are fetched, and whose list cannot be had; and sets of names that nobody answers."""

from __future__ import annotations

from collections.abc import Iterator

from weir.diagnosis.symptom import Number, Span, Symptom

EMPTY_S = 120.0
"""A start has its first tries behind it by then."""
OLD_S = 2 * 86_400.0
"""One that is fetched once a day has failed twice by then."""
UNANSWERED_S = 1800.0
"""A name server that was away for some minutes is back by then, and what a name had stays twice as long."""


def empty(span: Span) -> Iterator[Symptom]:
    for name, look in (span.now.sets or {}).items():
        if look.empty_s is not None and look.empty_s > EMPTY_S:
            yield Symptom("set-not-fetched", name, (Number("empty_s", look.empty_s, "s", EMPTY_S),))


def outdated(span: Span) -> Iterator[Symptom]:
    for name, look in (span.now.sets or {}).items():
        if look.old_s is not None and look.old_s > OLD_S:
            yield Symptom("set-outdated", name, (Number("old_s", look.old_s, "s", OLD_S),))


def unanswered(span: Span) -> Iterator[Symptom]:
    for name, look in (span.now.sets or {}).items():
        if look.unanswered_s is not None and look.unanswered_s > UNANSWERED_S:
            since = Number("unanswered_s", look.unanswered_s, "s", UNANSWERED_S)
            yield Symptom("set-names-unanswered", name, (since, Number("names", look.unanswered, "")))

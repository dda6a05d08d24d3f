# SPDX-License-Identifier: Apache-2.0
"""Changes from several commits, and from two documents, as one change per object."""

from __future__ import annotations

from collections.abc import Iterable

from weir.model.document import Change, Document


def merged(changes: Iterable[Change]) -> list[Change]:
    """One change per object, from the first `old` to the last `new`; those that cancel out vanish."""
    by_object: dict[tuple[str, str], Change] = {}
    for change in changes:
        first = by_object.pop((change.kind, change.id), None)
        old = change.old if first is None else first.old
        if old != change.new:
            by_object[change.kind, change.id] = Change(change.kind, change.id, old, change.new)
    return list(by_object.values())


def differences(before: Document, after: Document) -> list[Change]:
    """What turns one document into another."""
    changes = [
        Change(item.kind, item.id, old, item)
        for item in after
        if (old := before.get(item.kind, item.id)) != item
    ]
    gone = (item for item in before if after.get(item.kind, item.id) is None)
    return [*(Change(item.kind, item.id, item, None) for item in gone), *changes]

# SPDX-License-Identifier: Apache-2.0
"""Deleting what others still name: said at the deleted object, where the user is looking."""

from __future__ import annotations

from collections.abc import Iterator

from weir.kinds import DECLARED
from weir.kinds.references import still_named
from weir.model.document import Change, Document
from weir.model.interface import Interface, members_of
from weir.model.objects import Kind
from weir.model.problem import Finding


def kinds_that_are_named() -> set[Kind]:
    """Those whose objects others can name: of others nobody has to look who does."""
    references = (ref for declaration in DECLARED.values() for ref in declaration.references.values())
    return {"queue", "queue-type", "interface", *(ref.kind for ref in references)}


def removal_findings(document_after: Document, change: Change) -> Iterator[Finding]:
    """Errors, or a warning where the reference may dangle (an interface as a queue's target or dst)."""
    if change.new is not None or change.old is None or document_after.get(change.kind, change.id) is not None:
        return
    for declaration in DECLARED.values():
        yield from still_named(declaration, document_after, change)
    if change.kind == "queue":
        users = sorted(document_after.children_of(change.id))
        if users:
            yield _finding("error", change, f"is still the parent of {_queues(document_after, users)}")
    elif change.kind == "queue-type" and document_after.queue_type(change.id) is None:
        users = sorted(document_after.queue_ids_by_type.get(change.id, ()))
        if users:
            yield _finding("error", change, f"is still used by {_queues(document_after, users)}")
    elif change.kind == "interface":
        vlans = sorted(
            item.id for item in document_after.interfaces() if item.vlan and item.vlan.parent == change.id
        )
        if vlans:
            yield _finding("error", change, f"is still the parent of the VLAN {_some(vlans)}")
        masters = [item.id for item in document_after.interfaces() if change.id in members_of(item)]
        if masters and isinstance(change.old, Interface) and (change.old.vlan or change.old.bond):
            yield _finding("error", change, f"still belongs to {_some(sorted(masters))}")
        members = sorted(item.id for item in document_after.interfaces() if item.vrf == change.id)
        if members:
            yield _finding("error", change, f"is still the VRF of {_some(members)}")
        users = sorted(document_after.queue_ids_by_interface.of(change.id))
        if users:
            yield _finding("warning", change, f"is still the target of {_queues(document_after, users)}")
        users = sorted(
            queue_id
            for queue_id in document_after.far_interface_queue_ids
            if (queue := document_after.queue(queue_id)) is not None and queue.dst == change.id
        )
        if users:
            yield _finding("warning", change, f"is still the dst of {_queues(document_after, users)}")


def _finding(severity: str, change: Change, why: str) -> Finding:
    assert change.old is not None
    what = f"{change.kind.replace('-', ' ')} {change.old.name!r} {why}"
    return Finding(
        "error" if severity == "error" else "warning", "still-referenced", what, change.kind, change.id
    )


def _queues(document: Document, ids: list[str]) -> str:
    found = (document.queue(queue_id) for queue_id in ids[:3])
    names = [repr(queue.name) for queue in found if queue is not None]
    return f"queue {_some(names, len(ids))}"


def _some(names: list[str], count: int | None = None) -> str:
    count = len(names) if count is None else count
    more = f" and {count - 3} more" if count > 3 else ""
    return ", ".join(names[:3]) + more

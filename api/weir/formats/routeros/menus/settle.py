# SPDX-License-Identifier: Apache-2.0
"""From what a file describes to objects that can be committed together."""

from __future__ import annotations

from weir.formats.positions import Placed, assign_positions
from weir.formats.routeros.menus.router import Router, Wanted
from weir.kinds import DECLARED
from weir.model.codec import from_json
from weir.model.document import Change, Document
from weir.model.limits import MAX_POSITION
from weir.model.objects import ConfigObject
from weir.model.problem import Finding, Invalid
from weir.model.rules import validate

MAX_ROUNDS = 12
"""An object that is left out may leave others without what they name."""


def settled(router: Router) -> list[ConfigObject]:
    """The objects. What cannot be is disabled or left out, and its lines say why."""
    _place(router)
    objects: dict[tuple[str, str], ConfigObject] = {}
    for key, wanted in router.wanted.items():
        found = _made(wanted)
        if found is not None:
            objects[key] = found
    document = router.existing.copy()
    for item in objects.values():
        document.put(item)
    disabled: dict[tuple[str, str], Finding] = {}
    for number in range(MAX_ROUNDS):
        bad = _errors(router.existing, document, objects)
        if not bad:
            break
        for key, finding in bad.items():
            if number < MAX_ROUNDS // 2 and _disable(router.wanted[key], document, objects):
                disabled[key] = finding
            else:
                _leave_out(router, document, objects, key, finding)
    for key, finding in disabled.items():
        for line in router.wanted[key].lines if key in objects else ():
            line.note("warning", finding.code, f"It is imported disabled: {finding.message}.")
    return list(objects.values())


def _made(wanted: Wanted) -> ConfigObject | None:
    try:
        return from_json(wanted.kind, {**wanted.body, "id": wanted.id}, is_stored=True)
    except Invalid as problem:
        first = problem.findings[0] if problem.findings else None
        text = f"{first.field}: {first.message}" if first is not None else problem.message
        for line in wanted.lines:
            line.note("left-out", problem.code, f"Weir cannot take it: {text}.")
        return None


def _errors(
    existing: Document, document: Document, objects: dict[tuple[str, str], ConfigObject]
) -> dict[tuple[str, str], Finding]:
    """The first error of each object of the file."""
    changes = [Change(kind, id_, existing.get(kind, id_), item) for (kind, id_), item in objects.items()]
    found: dict[tuple[str, str], Finding] = {}
    for finding in validate(document, changes, errors_only=True):
        key = (finding.kind, finding.id)
        if key in objects:
            found.setdefault(key, finding)
    return found


def _disable(wanted: Wanted, document: Document, objects: dict[tuple[str, str], ConfigObject]) -> bool:
    """False for an object that is disabled already, or cannot be."""
    can = any(member.name == "disabled" for member in DECLARED[wanted.kind].members)
    if not can or wanted.body.get("disabled"):
        return False
    wanted.body["disabled"] = True
    fixed = _made(wanted)
    if fixed is None:
        return False
    objects[wanted.kind, wanted.id] = fixed
    document.put(fixed)
    return True


def _leave_out(
    router: Router,
    document: Document,
    objects: dict[tuple[str, str], ConfigObject],
    key: tuple[str, str],
    finding: Finding,
) -> None:
    for line in router.wanted[key].lines:
        line.note("left-out", finding.code, f"Weir cannot take it: {finding.message}.")
    del objects[key]
    present = router.existing.get(*key)
    if present is None:
        document.remove(*key)
    else:
        document.put(present)


def _place(router: Router) -> None:
    """Positions in the order of the file; rules that the router has already keep theirs where they can."""
    for (kind, within), items in router.order.items():
        present = {item.id: item for item in router.existing.of_kind(kind).values()}
        highest = max((getattr(item, "position", 0) for item in present.values()), default=0)
        placed = []
        for wanted in items:
            old = present.get(wanted.id)
            stays = old is not None and getattr(old, "chain", within) == within
            placed.append(Placed(within, (getattr(old, "position", 0), wanted.id) if stays else None))
        for wanted, position in zip(items, assign_positions(placed, highest), strict=True):
            wanted.body["position"] = min(position, MAX_POSITION)

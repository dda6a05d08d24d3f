# SPDX-License-Identifier: Apache-2.0
"""What a reference gives every kind: what it names must be there, and is not deleted meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from weir.fields import Ref
from weir.kinds.declaration import Declaration
from weir.kinds.secrets import lost_secrets
from weir.model.document import Change, Document
from weir.model.objects import ConfigObject
from weir.model.problem import Finding
from weir.model.rule import Rule, View, caused_by, error, warning


@cache
def rules_of(declaration: Declaration) -> tuple[Rule, ...]:
    """The rules of a kind: that its references hold, and its own."""
    references = (reference_rule(declaration),) if declaration.references else ()
    lost = (lost_secrets(declaration),) if declaration.secrets else ()
    return (*references, *lost, *declaration.rules)


def reference_rule(declaration: Declaration) -> Rule:
    """What an enabled object names has to exist, be of the right sort, and should be enabled."""

    def check(view: View, item: ConfigObject) -> Iterator[Finding]:
        if not getattr(item, "disabled", False):
            for field, ref in references.items():
                for target_id in _named(item, field):
                    target = view.document.get(ref.kind, target_id)
                    if target is None or ref.fits is not None or getattr(target, "disabled", False):
                        yield from _check(declaration, item, field, ref, target_id, target)

    kind, references = declaration.kind, declaration.references

    def namers(view: View) -> dict[tuple[str, str], list[str]]:
        """From what is named to the ids of the objects that name it."""
        found: dict[tuple[str, str], list[str]] = {}
        for item in view.document.of_kind(kind).values():
            for field, ref in references.items():
                for target_id in _named(item, field):
                    found.setdefault((ref.kind, target_id), []).append(item.id)
        return found

    @caused_by(kind, *(ref.kind for ref in references.values()))
    def reach(view: View, change: Change) -> Iterator[str]:
        """The object itself, and those that name it when that says something else to them now."""
        if change.kind == kind:
            yield change.id
        if any(ref.kind == change.kind and _matters(ref, change) for ref in references.values()):
            known = view.worked_out(f"namers of {kind}", lambda: namers(view))
            yield from known.get((change.kind, change.id), ())

    return Rule(f"references of {kind}", kind, check, reach, True)


def _named(item: ConfigObject, field: str) -> tuple[str, ...]:
    """The ids in a field that names one object, none or several."""
    value = getattr(item, field)
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


def _matters(ref: Ref, change: Change) -> bool:
    """Whether what is named came, went, or fits or is enabled now and was not, or the other way round."""
    old, new = change.old, change.new
    if old is None or new is None or (ref.fits is not None and ref.fits(old) != ref.fits(new)):
        return True
    return getattr(old, "disabled", False) != getattr(new, "disabled", False)


def _check(
    declaration: Declaration,
    item: ConfigObject,
    field: str,
    ref: Ref,
    target_id: str,
    target: ConfigObject | None,
) -> Iterator[Finding]:
    if target is None and target_id in ref.also:
        return
    if target is None:
        text = f"{_names(declaration, item, ref, target_id)} configured"
        yield error(f"unknown-{_word(ref.role)}", item, field, text)
    elif ref.fits is not None and not ref.fits(target):
        text = f"{_names(declaration, item, ref, target_id)} a {ref.role}: {ref.unfit}"
        yield error(f"unknown-{_word(ref.role)}", item, field, text)
    elif getattr(target, "disabled", False):
        text = f"{declaration.called(item)} is dead while its {ref.role} {target_id} is disabled"
        yield warning(f"{ref.kind}-disabled", item, field, text)


def _names(declaration: Declaration, item: ConfigObject, ref: Ref, target_id: str) -> str:
    return f"{declaration.called(item)} names the {ref.role} {target_id!r}, which is not"


def still_named(declaration: Declaration, document_after: Document, change: Change) -> Iterator[Finding]:
    """An error when objects of a kind name what a change deletes."""
    fields = [field for field, ref in declaration.references.items() if ref.kind == change.kind]
    users = sorted(
        declaration.called(item)
        for item in (document_after.every(declaration.of) if fields else ())
        if any(change.id in _named(item, field) for field in fields)
    )
    if users and change.old is not None:
        more = f" and {len(users) - 3} more" if len(users) > 3 else ""
        what = f"{change.kind.replace('-', ' ')} {change.old.name!r}"
        text = f"{what} is still named by {', '.join(users[:3])}{more}"
        yield Finding("error", "still-referenced", text, change.kind, change.id)


def _word(role: str) -> str:
    """For the codes of findings."""
    return role.lower().replace(" ", "-")

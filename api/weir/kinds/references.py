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
from weir.model.rule import Rule, View, all_after, error, warning


@cache
def rules_of(declaration: Declaration) -> tuple[Rule, ...]:
    """The rules of a kind: that its references hold, and its own."""
    lost = (lost_secrets(declaration),) if declaration.secrets else ()
    return (reference_rule(declaration), *lost, *declaration.rules)


def reference_rule(declaration: Declaration) -> Rule:
    """What an enabled object names has to exist, be of the right sort, and should be enabled."""

    def check(view: View, item: ConfigObject) -> Iterator[Finding]:
        if not getattr(item, "disabled", False):
            for field, ref in declaration.references.items():
                target_id = getattr(item, field)
                if target_id is not None:
                    yield from _check(view, declaration.called(item), item, field, ref, target_id)

    kind = declaration.kind
    reach = all_after(kind, *dict.fromkeys(ref.kind for ref in declaration.references.values()))
    return Rule(f"references of {kind}", kind, check, reach, True)


def _check(
    view: View, called: str, item: ConfigObject, field: str, ref: Ref, target_id: str
) -> Iterator[Finding]:
    target = view.document.get(ref.kind, target_id)
    names = f"{called} names the {ref.role} {target_id!r}, which is not"
    if target is None:
        yield error(f"unknown-{ref.role.lower()}", item, field, f"{names} configured")
    elif ref.fits is not None and not ref.fits(target):
        yield error(f"unknown-{ref.role.lower()}", item, field, f"{names} a {ref.role}: {ref.unfit}")
    elif getattr(target, "disabled", False):
        text = f"{called} is dead while its {ref.role} {target_id} is disabled"
        yield warning(f"{ref.kind}-disabled", item, field, text)


def still_named(declaration: Declaration, document_after: Document, change: Change) -> Iterator[Finding]:
    """An error when objects of a kind name what a change deletes."""
    fields = [field for field, ref in declaration.references.items() if ref.kind == change.kind]
    users = sorted(
        declaration.called(item)
        for item in (document_after.every(declaration.of) if fields else ())
        if any(getattr(item, field) == change.id for field in fields)
    )
    if users and change.old is not None:
        more = f" and {len(users) - 3} more" if len(users) > 3 else ""
        what = f"{change.kind.replace('-', ' ')} {change.old.name!r}"
        text = f"{what} is still named by {', '.join(users[:3])}{more}"
        yield Finding("error", "still-referenced", text, change.kind, change.id)

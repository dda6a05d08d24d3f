# SPDX-License-Identifier: Apache-2.0
"""The secrets of objects: where they are, how a body of people becomes one of the model, and what is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from weir.fields.secret import LOST, Secret, Unfit
from weir.kinds.declaration import Declaration
from weir.model.objects import ConfigObject
from weir.model.problem import Finding
from weir.model.rule import Rule, View, own, warning

Seal = Callable[[str, str], str]
"""From the place of a secret and its plain text to what the store may hold."""


def place_of(kind: str, object_id: str, field: str) -> str:
    """What a sealed text is good for, and for nothing else: it cannot be copied to another object."""
    return f"{kind}/{object_id}/{field}"


def secrets_of(declaration: Declaration | None, item: ConfigObject) -> Iterator[tuple[str, str]]:
    """Each secret that an object has: its field, and what it is sealed as (or `LOST`)."""
    for field in declaration.secrets if declaration else ():
        value = getattr(item, field)
        if value is not None:
            yield field, value


def sealed(
    declaration: Declaration | None,
    object_id: str,
    body: Any,
    present: Callable[[], ConfigObject | None],
    seal: Seal,
) -> Any:
    """A body of people as the model reads it: plain text is sealed, and `{"set": true}`, as answers have it,
    keeps what is there. What cannot be taken becomes a finding when the body is read."""
    if declaration is None or not isinstance(body, dict) or not declaration.secrets.keys() & body.keys():
        return body
    found = dict(body)
    for field, secret in declaration.secrets.items():
        if found.get(field) is not None:
            place = place_of(declaration.kind, object_id, field)
            found[field] = _taken(field, secret, found[field], place, present, seal)
    return found


def _taken(
    field: str, secret: Secret, value: Any, place: str, present: Callable[[], ConfigObject | None], seal: Seal
) -> object:
    if isinstance(value, str):
        return secret.why_unfit(value) or {"sealed": seal(place, value)}
    if not isinstance(value, dict) or value.keys() != {"set"} or type(value["set"]) is not bool:
        return Unfit("bad-secret", 'must be text, or {"set": true} to keep what is there')
    item = present()
    kept = None if item is None else getattr(item, field, None)
    if kept is None:
        return Unfit("secret-not-set", "is to be kept, and there is none: give its text")
    return {"sealed": kept}


def lost_secrets(declaration: Declaration) -> Rule:
    """Says of each object which secrets the router does not know."""

    def check(_view: View, item: ConfigObject) -> Iterator[Finding]:
        for field, value in secrets_of(declaration, item):
            if value == LOST:
                text = f"the {field} of {declaration.called(item)} is unknown to this router: enter it again"
                yield warning("secret-missing", item, field, text)

    kind = declaration.kind
    return Rule(f"secrets of {kind}", kind, check, own(kind), False)

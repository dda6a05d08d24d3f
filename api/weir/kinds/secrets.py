# SPDX-License-Identifier: Apache-2.0
"""The secrets of objects: where they are, how a body of people becomes one of the model, and what is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from weir.fields.secret import LOST, Secret, Unfit
from weir.kinds.declaration import Declaration
from weir.model.objects import ConfigObject
from weir.model.problem import Finding
from weir.model.rule import Rule, View, own, warning

Seal = Callable[[str, str], str]
"""From the place of a secret and its plain text to what the store may hold."""


def place_of(kind: str, object_id: str, path: str) -> str:
    """What a sealed text is good for, and for nothing else: it cannot be copied to another object."""
    return f"{kind}/{object_id}/{path}"


def secrets_of(declaration: Declaration | None, item: ConfigObject) -> Iterator[tuple[str, str]]:
    """Each secret that an object has: its path, and what it is sealed as (or `LOST`)."""
    for path in declaration.secrets if declaration else ():
        value = _held(item, path)
        if value is not None:
            yield path, value


def _held(item: object, path: str) -> str | None:
    """None where the secret or a group that it is in is not set."""
    found: Any = item
    for name in path.split("."):
        found = None if found is None else getattr(found, name)
    return found


def with_secrets(item: ConfigObject, sealed: Mapping[str, str]) -> ConfigObject:
    """The object with these secrets by path in the place of its own."""
    for path, text in sealed.items():
        item = _with(item, path, text)
    return item


def _with(item: Any, path: str, text: str) -> Any:
    name, _, inner = path.partition(".")
    return replace(item, **{name: _with(getattr(item, name), inner, text) if inner else text})


def sealed(
    declaration: Declaration | None,
    object_id: str,
    body: Any,
    present: Callable[[], ConfigObject | None],
    seal: Seal,
) -> Any:
    """A body of people as the model reads it: plain text is sealed, and `{"set": true}`, as answers have it,
    keeps what is there. What cannot be taken becomes a finding when the body is read."""
    found = body
    for path, secret in declaration.secrets.items() if declaration else ():
        place = place_of(declaration.kind, object_id, path)

        def take(value: Any, path: str = path, secret: Secret = secret, place: str = place) -> object:
            return _taken(path, secret, value, place, present, seal)

        found = _replaced(found, path, take)
    return found


def _replaced(body: Any, path: str, take: Callable[[Any], object]) -> Any:
    """A copy of the body with what `take` makes of the value there; what is not there is not made."""
    name, _, inner = path.partition(".")
    if not isinstance(body, dict) or body.get(name) is None:
        return body
    return {**body, name: _replaced(body[name], inner, take) if inner else take(body[name])}


def _taken(
    path: str, secret: Secret, value: Any, place: str, present: Callable[[], ConfigObject | None], seal: Seal
) -> object:
    if isinstance(value, str):
        return secret.why_unfit(value) or {"sealed": seal(place, value)}
    if not isinstance(value, dict) or value.keys() != {"set"} or type(value["set"]) is not bool:
        return Unfit("bad-secret", 'must be text, or {"set": true} to keep what is there')
    item = present()
    kept = None if item is None else _held(item, path)
    if kept is None:
        return Unfit("secret-not-set", "is to be kept, and there is none: give its text")
    return {"sealed": kept}


def lost_secrets(declaration: Declaration) -> Rule:
    """Says of each object which secrets the router does not know."""

    def check(_view: View, item: ConfigObject) -> Iterator[Finding]:
        for path, value in secrets_of(declaration, item):
            if value == LOST:
                text = f"the {path} of {declaration.called(item)} is unknown to this router: enter it again"
                yield warning("secret-missing", item, path, text)

    kind = declaration.kind
    return Rule(f"secrets of {kind}", kind, check, own(kind), False)

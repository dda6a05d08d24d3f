# SPDX-License-Identifier: Apache-2.0
"""The secrets of objects: where they are, how a body of people becomes one of the model, and what is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from weir.fields.secret import LOST, Secret, Unfit
from weir.kinds.declaration import Declaration
from weir.model.objects import ConfigObject
from weir.model.problem import Finding
from weir.model.rule import Rule, View, own, warning


class Sealer(Protocol):
    """What turns secrets into what the store may hold."""

    def seal(self, place: str, text: str) -> str: ...

    def make(self, kind: str, object_id: str, path: str) -> str:
        """A secret that the agent makes, so that nobody else ever knows it."""


def place_of(kind: str, object_id: str, path: str) -> str:
    """What a sealed text is good for, and for nothing else: it cannot be copied to another object."""
    return f"{kind}/{object_id}/{path}"


def secrets_of(declaration: Declaration, item: ConfigObject) -> Iterator[tuple[str, str]]:
    """Each secret that an object has: its path, and what it is sealed as (or `LOST`)."""
    for path in declaration.secrets:
        value = _held(item, path)
        if value is not None:
            yield path, value


def _held(item: object, path: str) -> str | None:
    """None where the secret or a group that it is in is not set."""
    found: Any = item
    for name in path.split("."):
        found = None if found is None else getattr(found, name)
    return None if found is None else str(found)


def with_secrets(item: ConfigObject, sealed: Mapping[str, str]) -> ConfigObject:
    """The object with these secrets by path in the place of its own."""
    for path, text in sealed.items():
        item = _with(item, path, text)
    return item


def _with(item: Any, path: str, text: str) -> Any:
    name, _, inner = path.partition(".")
    return replace(item, **{name: _with(getattr(item, name), inner, text) if inner else text})


def sealed(
    declaration: Declaration,
    object_id: str,
    body: Any,
    present: Callable[[], ConfigObject | None],
    sealer: Sealer,
) -> Any:
    """A body of people as the model reads it: plain text is sealed, and `{"set": true}`, as answers have it,
    keeps what is there; so does leaving out what the agent makes, which it does if there is none. What
    cannot be taken becomes a finding when the body is read."""
    found = body
    for path, secret in declaration.secrets.items():
        found = _replaced(found, path, secret, _Taking(declaration, object_id, path, present, sealer).taken)
    return found


def _replaced(body: Any, path: str, secret: Secret, take: Callable[[Secret, Any], object]) -> Any:
    """A copy of the body with what `take` makes of the value there. What is not there is not made, but for
    what the agent makes in a group that is there."""
    name, _, inner = path.partition(".")
    if not isinstance(body, dict) or (body.get(name) is None and (inner or not secret.made)):
        return body
    value = body.get(name)
    return {**body, name: _replaced(value, inner, secret, take) if inner else take(secret, value)}


@dataclass(frozen=True, slots=True)
class _Taking:
    """One secret of one object that somebody writes."""

    declaration: Declaration
    object_id: str
    path: str
    present: Callable[[], ConfigObject | None]
    sealer: Sealer

    def taken(self, secret: Secret, value: Any) -> object:
        kind, kept = self.declaration.kind, self._kept()
        if isinstance(value, str):
            place = place_of(kind, self.object_id, self.path)
            return secret.why_unfit(value) or {"sealed": self.sealer.seal(place, value)}
        if secret.made and (_asks_for_one(value) or (value is None and kept is None)):
            return {"sealed": self.sealer.make(kind, self.object_id, self.path)}
        if value is not None and not _keeps(value):
            new = ', {"new": true} to have one made' if secret.made else ""
            return Unfit("bad-secret", f'must be text{new}, or {{"set": true}} to keep what is there')
        if kept is None:
            return Unfit("secret-not-set", "is to be kept, and there is none: give its text")
        return {"sealed": kept}

    def _kept(self) -> str | None:
        item = self.present()
        return None if item is None else _held(item, self.path)


def _asks_for_one(value: Any) -> bool:
    """Also as a merge patch leaves it, which adds to the `{"set": true}` that is there."""
    return isinstance(value, dict) and value.get("new") is True and value.keys() <= {"new", "set"}


def _keeps(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"set"} and type(value["set"]) is bool


def lost_secrets(declaration: Declaration) -> Rule:
    """Says of each object which secrets the router does not know."""

    def check(_view: View, item: ConfigObject) -> Iterator[Finding]:
        for path, value in secrets_of(declaration, item):
            if value == LOST:
                text = f"the {path} of {declaration.called(item)} is unknown to this router: enter it again"
                yield warning("secret-missing", item, path, text)

    kind = declaration.kind
    return Rule(f"secrets of {kind}", kind, check, own(kind), False)

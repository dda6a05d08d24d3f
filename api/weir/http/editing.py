# SPDX-License-Identifier: Apache-2.0
"""Writes to configured objects: preconditions, merge patches, and staging or committing the edit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from flask import Response, request

from weir.http.context import me, service
from weir.http.endpoint import answer
from weir.http.rendering import staged_json
from weir.kinds import DECLARED
from weir.model import codec
from weir.model.builtin import BUILTIN_QUEUE_TYPES
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Conflict, Invalid, NotFound, PreconditionFailed, PreconditionRequired
from weir.service import ABSENT, Edit, Stored
from weir.service.candidates import CandidateService
from weir.service.configuration import ConfigService

EVERY_ANSWER_ADDS = frozenset({"etag", "warnings"})

BUILT_IN = "built-in"
Render = Callable[[Stored], dict[str, Any]]


def answers_add(kind: Kind) -> frozenset[str]:
    """What answers of a kind say beside its fields."""
    return EVERY_ANSWER_ADDS.union(DECLARED[kind].adds)


def find(kind: Kind, object_id: str, *, staged: bool) -> Stored:
    """The object as the caller's candidate sees it, or as it runs; or the one that is built in.

    Raises NotFound.
    """
    try:
        if staged:
            return service().candidates.stored(me(), kind, object_id)
        return service().config.get(me(), kind, object_id)
    except NotFound:
        item = built_in(kind, object_id)
        if item is None:
            raise
        return Stored(kind, object_id, item, BUILT_IN, 0)


def built_in(kind: Kind, object_id: str) -> ConfigObject | None:
    """What every configuration holds without storing it: queue types by name, and kinds with one object."""
    if kind == "queue-type":
        return BUILTIN_QUEUE_TYPES.get(object_id)
    if not DECLARED[kind].is_single or object_id != kind:
        return None
    return codec.from_json(kind, {}, object_id)


def find_or_none(kind: Kind, object_id: str, *, staged: bool) -> Stored | None:
    try:
        return find(kind, object_id, staged=staged)
    except NotFound:
        return None


def expected_etag(current: Stored | None, kind: Kind, object_id: str) -> str:
    """What the write expects to find, from If-Match and If-None-Match.

    The service checks it again inside the transaction. Raises PreconditionRequired when an existing
    object would be changed blindly, PreconditionFailed when the header does not hold.
    """
    path = f"{kind}/{object_id}"
    if current is not None and current.etag == BUILT_IN and request.if_match.contains(BUILT_IN):
        return ABSENT
    if_match, if_none_match = request.if_match, request.if_none_match
    if current is None:
        if request.headers.get("If-Match"):
            raise PreconditionFailed(f"There is no {kind} {object_id!r} to match.", path=path)
        return ABSENT
    if if_none_match.star_tag or if_none_match.contains_raw(f'"{current.etag}"'):
        raise PreconditionFailed(f"{kind} {object_id!r} exists already.", path=path)
    if not request.headers.get("If-Match"):
        raise PreconditionRequired(
            f"Changing {kind} {object_id!r} needs the header If-Match with its etag.", path=path
        )
    if not if_match.contains(current.etag):
        message = f"{kind} {object_id!r} was changed by somebody else; read it again."
        raise PreconditionFailed(message, path=path)
    return current.etag


def write(edit: Edit, render: Render, *, staged: bool, created: bool) -> Response:
    """Commit or stage one edit and answer the object, or what was staged (202)."""
    if staged:
        view = service().candidates.stage(me(), [edit])
        return answer(staged_json(view, edit.kind, [edit.id]), 202)
    committed = service().config.commit(me(), [edit])
    headers = {"Weir_Revision": str(committed.revision), "Server_Timing": server_timing(committed.timing_ms)}
    if edit.new is None:
        return answer(None, 204, **headers)
    stored = service().config.get(me(), edit.kind, edit.id)
    if created:
        headers["Location"] = (
            f"{request.path.rstrip('/')}/{edit.id}" if request.method == "POST" else request.path
        )
    return answer(render(stored), 201 if created else 200, etag=stored.etag, **headers)


def server_timing(timing_ms: Mapping[str, float]) -> str:
    return ", ".join(f"{name};dur={spent:.2f}" for name, spent in timing_ms.items())


def replace(kind: Kind, object_id: str, body: Mapping[str, Any], render: Render, *, staged: bool) -> Response:
    """PUT: create with a chosen id, or replace what If-Match names."""
    current = find_or_none(kind, object_id, staged=staged)
    expects = expected_etag(current, kind, object_id)
    given = writable(kind, body)
    if "position" not in given:
        _give_place(kind, given, current, staged=staged)
    present = None if current is None else current.object
    item = service().sealing.read(kind, given, object_id, lambda: present)
    return write(Edit(kind, object_id, item, expects), render, staged=staged, created=current is None)


def _give_place(
    kind: Kind,
    given: dict[str, Any],
    current: Stored | None,
    whole: Mapping[str, Any] | None = None,
    *,
    staged: bool,
) -> None:
    """What is replaced stays where it is, what is new comes last in its list. `whole` tells which list."""
    if kind != "queue" and not is_ordered(kind):
        return
    if current is not None:
        given["position"] = current.object.position  # type: ignore[attr-defined]
    elif kind == "queue":
        parent = (whole or given).get("parent")
        parent = parent if isinstance(parent, str) else None
        given["position"] = keeper(staged=staged).end_position(me(), parent)
    else:
        (given["position"],) = last_positions(kind, [whole or given], staged=staged)


def last_positions(kind: Kind, items: Sequence[Mapping[str, Any]], *, staged: bool) -> list[int]:
    """Positions for new objects of an ordered kind, behind what there is, or is staged as well."""
    return keeper(staged=staged).last_positions(me(), kind, items)


def keeper(*, staged: bool) -> CandidateService | ConfigService:
    """Who knows where things are: as they run, or as the caller's candidate sees them."""
    return service().candidates if staged else service().config


def is_ordered(kind: Kind) -> bool:
    """Whether objects of a kind have places among each other that follow from its declaration."""
    return DECLARED[kind].order is not None


def create(kind: Kind, object_id: str, body: Mapping[str, Any], render: Render, *, staged: bool) -> Response:
    """POST: create with the given id, which must be free."""
    given = writable(kind, body)
    if "position" not in given:
        _give_place(kind, given, None, staged=staged)
    item = service().sealing.read(kind, given, object_id, lambda: None)
    return write(Edit(kind, object_id, item, ABSENT), render, staged=staged, created=True)


def patch(
    kind: Kind, object_id: str, changes: Mapping[str, Any], render: Render, *, staged: bool
) -> Response:
    """PATCH: RFC 7396 merge onto the present object, which is then validated as a whole."""
    current = find(kind, object_id, staged=staged)
    expects = expected_etag(current, kind, object_id)
    given = writable(kind, changes)
    if "position" in given and given["position"] is None:
        _give_place(kind, given, None, {**codec.to_json(current.object), **given}, staged=staged)
    read = partial(service().sealing.read, present=lambda: current.object)
    item = codec.patched(current.object, given, read)
    return write(Edit(kind, object_id, item, expects), render, staged=staged, created=False)


def move(kind: Kind, object_id: str, where: Mapping[str, Any], render: Render, *, staged: bool) -> Response:
    """Move an object of an ordered kind: before or after another one, or to the end. Raises `Invalid`."""
    before, after = where["before"], where["after"]
    if before is not None and after is not None:
        raise Invalid("Give before or after, not both.", code="invalid-request", path="after")
    if staged:
        view = service().candidates.place(me(), kind, object_id, before, after)
        return answer(staged_json(view, kind, [object_id]), 202)
    committed = service().config.place(me(), kind, object_id, before, after)
    stored = service().config.get(me(), kind, object_id)
    return answer(render(stored), etag=stored.etag, Weir_Revision=str(committed.revision))


def remove(kind: Kind, object_id: str, render: Render, *, staged: bool) -> Response:
    """DELETE of what If-Match names."""
    current = find(kind, object_id, staged=staged)
    if current.etag == BUILT_IN:
        raise Conflict(f"{kind} {object_id!r} is built in.", code="built-in", path=f"{kind}/{object_id}")
    edit = Edit(kind, object_id, None, expected_etag(current, kind, object_id))
    return write(edit, render, staged=staged, created=False)


def read_new(kind: Kind, body: dict[str, Any], *, staged: bool = False) -> ConfigObject:
    """The object of a body that names its id itself; it may take the place of one that is there."""
    declaration = DECLARED[kind]
    if not declaration.secrets:
        return codec.from_json(kind, declaration.completed(body))
    object_id = codec.check_id(kind, body.get("id"))

    def present() -> ConfigObject | None:
        found = find_or_none(kind, object_id, staged=staged)
        return None if found is None else found.object

    return service().sealing.read(kind, body, object_id, present)


def writable(kind: Kind, body: Mapping[str, Any]) -> dict[str, Any]:
    """The body without what answers of this kind add to an object, so that GET, edit, PUT works."""
    added = answers_add(kind)
    return {name: value for name, value in body.items() if name not in added}

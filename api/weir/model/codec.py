# SPDX-License-Identifier: Apache-2.0
"""Objects from JSON and back: strict, with every error of a document in one `Invalid`.

The JSON form is the API's (docs/reference/model.md). `from_json` accepts exactly what `to_json`
writes, fills in defaults for what is left out, and brings addresses to canonical text. Equal pairs,
ids and types are shared between objects: 100,000 queues hold few distinct ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from weir.fields import IdForm
from weir.kinds import DECLARED
from weir.model.objects import ConfigObject, Kind
from weir.model.problem import Finding, Invalid
from weir.model.reader import Json, Reader, shown


def parse_kind(text: str) -> Kind:
    """Raises `Invalid` that lists the kinds."""
    if text not in DECLARED:
        raise Invalid(
            f"there is no kind {shown(text)}; the kinds are {', '.join(DECLARED)}", code="unknown-kind"
        )
    return text


def check_id(kind: Kind, object_id: object) -> str:
    """The interned id. Raises `Invalid` that says what an id of this kind may look like."""
    form = DECLARED[kind].ids
    if not isinstance(object_id, str) or not form.pattern.fullmatch(object_id):
        raise Invalid(f"id must be {form.wanted}, not {shown(object_id)}", code="bad-id", path=f"{kind}/?/id")
    return sys.intern(object_id)


def id_form(kind: Kind) -> IdForm:
    """What the ids of a kind look like, and whether the router assigns them."""
    return DECLARED[kind].ids


def from_json(
    kind: Kind, data: object, object_id: str | None = None, *, is_stored: bool = False
) -> ConfigObject:
    """Build one object. `object_id` (from a URL or a row) must agree with `data["id"]` if both are given.

    What was stored (`is_stored`) may be two cases of a `OneOf` at once, as earlier releases let people stage
    it: then a rule says so.

    Raises `Invalid` whose findings name every field that is wrong, not only the first.
    """
    if not isinstance(data, dict):
        raise Invalid(f"a {kind} must be a JSON object, not {shown(data)}", code="bad-object", path=kind)
    own_id = check_id(kind, data.get("id", object_id))
    if object_id is not None and own_id != object_id:
        raise Invalid(
            f"id {own_id!r} does not agree with {shown(object_id)}",
            code="id-mismatch",
            path=f"{kind}/{own_id}/id",
        )
    findings: list[Finding] = []
    reader = Reader(data, kind, own_id, findings)
    reader.is_stored = is_stored
    item = DECLARED[kind].read(reader)
    if findings:
        raise _invalid(item, findings)
    return item


def _invalid(item: ConfigObject, findings: list[Finding]) -> Invalid:
    first = findings[0]
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return Invalid(
        f"{item.kind} {item.id}: {first.message}{more}", code=first.code, path=first.path, findings=findings
    )


def to_json(item: ConfigObject) -> Json:
    """The whole object with its id, defaults included; read-only additions are the API's business."""
    return DECLARED[item.kind].to_json(item)


def to_stored_json(item: ConfigObject) -> Json:
    """As `to_json` without the fields that hold their default: what a database row needs."""
    return DECLARED[item.kind].to_stored_json(item)


def merge_patch(target: object, patch: object) -> object:
    """RFC 7396: null removes a member, objects merge, anything else replaces. Neither argument is changed."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def patched(item: ConfigObject, patch: object, read: Callable[..., ConfigObject] = from_json) -> ConfigObject:
    """The object after a merge patch: a removed field takes its default. Raises `Invalid`.

    `read` is called as `from_json` is.
    """
    if not isinstance(patch, dict):
        raise Invalid(f"a patch must be a JSON object, not {shown(patch)}", code="bad-object", path=item.kind)
    present = to_json(item)
    one_of = DECLARED[item.kind].one_of
    if one_of is not None:
        present = one_of.before_patch(present, patch)
    return read(item.kind, merge_patch(present, patch), item.id)


def defaults_of(kind: Kind) -> Mapping[str, object]:
    """What holds for each field that is left out, as JSON; required fields have none."""
    return DECLARED[kind].defaults

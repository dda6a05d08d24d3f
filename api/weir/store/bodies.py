# SPDX-License-Identifier: Apache-2.0
"""Objects as the store has them: a body of JSON, and copies of some fields for its indexes."""

from __future__ import annotations

import json
from functools import cache

from weir.fields import Text
from weir.kinds import DECLARED
from weir.model.codec import from_json
from weir.model.objects import ConfigObject, Kind, Queue


def encode(item: ConfigObject) -> str:
    """Compact JSON without the fields that have their default value.

    The defaults are part of the stored format: a change of one needs a migration (ADR 0021).
    """
    return DECLARED[item.kind].to_stored_text(item)


def decode(kind: str, object_id: str, body: str) -> ConfigObject:
    """The object that `encode` wrote. Raises `Invalid` when a stored body breaks the model's rules."""
    return from_json(kind, json.loads(body), object_id, is_stored=True)


def columns(item: ConfigObject) -> tuple[str, str | None, int, int, int, int, str]:
    """name, parent, position, disabled, max limit up, max limit down, search text: for the indexes."""
    disabled = int(getattr(item, "disabled", False))
    search = "\n".join((item.id, item.name, _remark(item))).casefold()
    if isinstance(item, Queue):
        search = "\n".join((search, *item.target))
        limit = item.max_limit_bps
        return item.name, item.parent, item.position, disabled, limit.upload, limit.download, search
    return item.name, None, getattr(item, "position", 0), disabled, 0, 0, search


def _remark(item: ConfigObject) -> str:
    if isinstance(item, Queue):
        return item.comment
    return "\n".join([getattr(item, name) or "" for name in _texts_of(item.kind)])


@cache
def _texts_of(kind: Kind) -> tuple[str, ...]:
    """The fields that people write what they like in."""
    return tuple(member.name for member in DECLARED[kind].members if isinstance(member.field, Text))

# SPDX-License-Identifier: Apache-2.0
"""Which fields of an object differ, named as a person would point at them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weir.kinds import DECLARED
from weir.kinds.secrets import secrets_of
from weir.model.codec import to_json
from weir.model.objects import ConfigObject


@dataclass(frozen=True, slots=True)
class FieldChange:
    """`field` is dotted for nested values (`max_limit_bps.download`)."""

    field: str
    old: Any
    new: Any


def compare(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> list[FieldChange]:
    """The differing fields in the order of the newer form; all of them when one side is None."""
    before, after = old or {}, new or {}
    found: list[FieldChange] = []
    for name in [*after, *(name for name in before if name not in after)]:
        _compare(name, before.get(name), after.get(name), found)
    return found


def compare_objects(old: ConfigObject | None, new: ConfigObject | None) -> list[FieldChange]:
    """As `compare`; of a secret that is another one only that is said."""
    found = compare(None if old is None else to_json(old), None if new is None else to_json(new))
    if old is None or new is None:
        return found
    before, after = (dict(secrets_of(DECLARED[item.kind], item)) for item in (old, new))
    both = before.keys() & after.keys()
    return [
        *found,
        *(FieldChange(name, "set", "changed") for name in sorted(both) if before[name] != after[name]),
    ]


def _compare(name: str, old: Any, new: Any, found: list[FieldChange]) -> None:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for inner in [*new, *(key for key in old if key not in new)]:
            _compare(f"{name}.{inner}", old.get(inner), new.get(inner), found)
    else:
        found.append(FieldChange(name, old, new))

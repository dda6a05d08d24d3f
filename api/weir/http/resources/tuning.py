# SPDX-License-Identifier: Apache-2.0
"""Tuning: every setting of kernel and cards with its reason, and the operator's overrides."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from marshmallow import fields

from weir.http.answers import findings_json
from weir.http.context import me, service
from weir.http.resources.kinds import resource_of, with_warnings
from weir.http.schemas import tuning
from weir.http.schemas.kinds import schemas_of
from weir.kinds.tuning import Tuning
from weir.model.problem import Finding, Unavailable
from weir.service import Stored


def with_settings(stored: Stored) -> dict[str, Any]:
    try:
        settings, reason = service().tuning.settings(me()), None
    except Unavailable as problem:
        settings, reason = [], problem.message
    shown = {**with_warnings(stored), "settings": settings, "settings_reason": reason}
    if settings:
        shown["warnings"] += findings_json(_unknown(stored, _keys(settings)))
    return shown


def _keys(settings: list[dict[str, Any]]) -> set[str]:
    """What an override may be called: a setting, or one at a place where it fits now."""
    places = {f"{item['id']}.{place['place']}" for item in settings for place in item["places"]}
    return {item["id"] for item in settings} | {key for key in places if not key.endswith(".")}


def _unknown(stored: Stored, known: Set[str]) -> list[Finding]:
    """Overrides without effect: which settings there are is data of the image, and this one has no such."""
    assert isinstance(stored.object, Tuning)
    found = []
    for name, _ in stored.object.overrides:
        if name not in known:
            setting, _, place = name.partition(".")
            there = f"there is no {place!r} that it fits" if place and setting in known else _NO_SETTING
            words = f"{there}, so the override has no effect"
            found.append(
                Finding("warning", "no-such-setting", words, "tuning", stored.id, f"overrides/{name}")
            )
    return found


_NO_SETTING = "this release has no such setting"


resource = resource_of(
    "tuning",
    schemas_of(
        "tuning",
        adds={
            "settings": fields.List(fields.Nested(tuning.Setting)),
            "settings_reason": fields.String(
                allow_none=True,
                metadata={"description": "Why there are no settings: the agent does not answer."},
            ),
        },
    ),
    render=with_settings,
    says={
        "GET": "Show every setting with its reason, what it should be and what the kernel holds",
        "PUT": "Replace the overrides",
        "PATCH": "Change overrides (merge patch; null goes back to the product's value)",
    },
)

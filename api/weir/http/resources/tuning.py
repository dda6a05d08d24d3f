# SPDX-License-Identifier: Apache-2.0
"""Tuning: every setting of kernel and cards with its reason, and the operator's overrides."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from flask import Response

from weir.http import editing
from weir.http.configuring import ConfigArea
from weir.http.context import me, service
from weir.http.endpoint import READ, answer
from weir.http.rendering import findings_json
from weir.http.resources.network import with_warnings
from weir.http.schemas import paging, tuning
from weir.kinds.tuning import Tuning
from weir.model.problem import Finding, Unavailable
from weir.service import Stored

area = ConfigArea(
    "tuning", "Settings of kernel and network cards, with their reasons; each can be overridden."
)


@area.operation("GET", "/tuning", scope=READ, query=paging.Staged, answers=tuning.Tuning)
def get_tuning(query: dict[str, Any]) -> Response:
    """Show every setting with its reason, what it should be and what the kernel holds"""
    stored = editing.find("tuning", "tuning", staged=query["candidate"])
    return answer(with_settings(stored), etag=stored.etag)


@area.writing("PUT", "/tuning", shape=tuning.TuningInput, answers=tuning.Tuning)
def put_tuning(body: dict[str, Any], query: dict[str, Any]) -> Response:
    """Replace the overrides"""
    return editing.replace("tuning", "tuning", _own(body), with_settings, staged=query["candidate"])


@area.writing("PATCH", "/tuning", shape=tuning.TuningPatch, answers=tuning.Tuning)
def patch_tuning(body: dict[str, Any], query: dict[str, Any]) -> Response:
    """Change overrides (merge patch; null goes back to the product's value)"""
    return editing.patch("tuning", "tuning", _own(body), with_settings, staged=query["candidate"])


def _own(body: dict[str, Any]) -> dict[str, Any]:
    """Without what `GET` adds, so that its answer can be edited and sent back."""
    return {name: value for name, value in body.items() if name not in ("settings", "settings_reason")}


def with_settings(stored: Stored) -> dict[str, Any]:
    try:
        settings, reason = service().tuning.settings(me()), None
    except Unavailable as problem:
        settings, reason = [], problem.message
    shown = {**with_warnings(stored), "settings": settings, "settings_reason": reason}
    if settings:
        shown["warnings"] += findings_json(_unknown(stored, {item["id"] for item in settings}))
    return shown


def _unknown(stored: Stored, known: Set[str]) -> list[Finding]:
    """Overrides without effect: which settings there are is data of the image, and this one has no such."""
    assert isinstance(stored.object, Tuning)
    words = "this release has no such setting, so the override has no effect"
    return [
        Finding("warning", "no-such-setting", words, "tuning", stored.id, f"overrides/{name}")
        for name, _ in stored.object.overrides
        if name not in known
    ]

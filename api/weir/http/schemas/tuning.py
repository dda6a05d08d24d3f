# SPDX-License-Identifier: Apache-2.0
"""Settings as they are answered beside the tuning."""

from __future__ import annotations

from marshmallow import fields

from weir.http.schemas.base import Answer, one_of


class SettingPlace(Answer):
    """A setting at one interface or unit; `place` is empty for the whole machine."""

    place = fields.String()
    override = fields.String(
        allow_none=True, metadata={"description": "For this place alone, by the key `setting.place`."}
    )
    wanted = fields.String(allow_none=True)
    held = fields.String(allow_none=True, metadata={"description": "What the kernel has now."})
    state = one_of("applied", "differs", "absent", "left", "refused", "restart")
    why = fields.String(allow_none=True)


class Setting(Answer):
    id = fields.String()
    scope = one_of("sysctl", "interface", "cmdline", "service")
    key = fields.String()
    value = fields.String(metadata={"description": "The product's value."})
    override = fields.String(allow_none=True)
    reason = fields.String()
    evidence = fields.String(metadata={"description": "The document or measurement behind it."})
    measured = one_of("figure", "function", "no")
    places = fields.List(fields.Nested(SettingPlace))

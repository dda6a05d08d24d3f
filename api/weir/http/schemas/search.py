# SPDX-License-Identifier: Apache-2.0
"""What a search over all kinds finds, as JSON."""

from __future__ import annotations

from marshmallow import fields

from weir.http.schemas.base import Answer


class SearchHit(Answer):
    id = fields.String()
    name = fields.String(metadata={"description": "What people know it by."})
    detail = fields.String(metadata={"description": "What its list shows of it, in one line."})


class SearchGroup(Answer):
    """The objects of one kind that were found."""

    kind = fields.String()
    path = fields.String(metadata={"description": "Where the API has objects of the kind."})
    items = fields.List(fields.Nested(SearchHit))
    next_cursor = fields.String(allow_none=True, metadata={"description": "To be given with `kind`."})
    total = fields.Integer()


class SearchAnswer(Answer):
    groups = fields.List(
        fields.Nested(SearchGroup), metadata={"description": "Of the kinds of which anything was found."}
    )

# SPDX-License-Identifier: Apache-2.0
"""What-if reports of imported files."""

from __future__ import annotations

from typing import Any

from marshmallow import ValidationError, fields, validates_schema

from weir.http.schemas.base import Answer, Flag, QueryFlag, Text, one_of
from weir.http.schemas.changes import CommitInput, Counts, KernelEffect
from weir.http.schemas.paging import Page, Query
from weir.http.schemas.problem import Finding

FORMATS = ("routeros", "libreqos", "csv")
FATES = ("imported", "changed", "warning", "left_out")


class ImportLine(Answer):
    """One line (or statement) of the source and what became of it."""

    line = fields.Integer()
    end_line = fields.Integer()
    file = fields.String(allow_none=True)
    source = fields.String()
    fate = one_of(*FATES)
    code = fields.String(allow_none=True, metadata={"description": "Stable name of the reason."})
    reason = fields.String(allow_none=True)
    object_id = fields.String(allow_none=True)


class ImportSummary(Answer):
    imported = fields.Integer()
    changed = fields.Integer()
    warning = fields.Integer()
    left_out = fields.Integer()


class ImportKind(Counts):
    """Objects of one kind that an import would add, change and remove."""

    kind = fields.String()


class ImportReport(Answer):
    id = fields.String()
    format = one_of(*FORMATS)
    file_names = fields.List(fields.String())
    created_at = fields.String()
    expires_at = fields.String()
    base_revision = fields.Integer()
    summary = fields.Nested(ImportSummary)
    counts = fields.Nested(Counts, metadata={"description": "Objects it would add, change and remove."})
    kinds = fields.List(
        fields.Nested(ImportKind), metadata={"description": "The same for each kind that it has objects of."}
    )
    can_commit = fields.Boolean()
    lines = fields.List(fields.Nested(ImportLine), metadata={"description": "The first page of lines."})
    total_lines = fields.Integer()
    next_cursor = fields.String(allow_none=True)
    findings = fields.List(fields.Nested(Finding), metadata={"description": "The first 1,000."})
    kernel = fields.Nested(KernelEffect)


class ImportLinesAnswer(Answer):
    items = fields.List(fields.Nested(ImportLine))
    next_cursor = fields.String(allow_none=True)
    total = fields.Integer()


class ImportQuery(Query):
    replace = QueryFlag(
        load_default=False,
        metadata={"description": "1: queues that the file does not name are removed by the commit."},
    )
    preview = QueryFlag(load_default=True, metadata={"description": "0: do not ask for the kernel effect."})


class ImportLinesQuery(Page):
    fate = one_of(*FATES)
    q = Text(max_length=255)


class ImportCommitInput(CommitInput):
    candidate = Flag(
        load_default=False,
        metadata={"description": "true: put the changes into your candidate instead; takes no confirmation."},
    )

    @validates_schema
    def commits_what_it_confirms(self, data: dict[str, Any], **_: Any) -> None:
        if data["candidate"] and data["confirm_within_s"] is not None:
            raise ValidationError("A candidate is confirmed when it is committed.", "confirm_within_s")

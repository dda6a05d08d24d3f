# SPDX-License-Identifier: Apache-2.0
"""Backups as JSON."""

from __future__ import annotations

from marshmallow import fields

from weir.http.schemas.base import Answer, Input, QueryFlag, QueryInteger, Text
from weir.http.schemas.changes import CONFIRM_WITHIN_S, Counts
from weir.http.schemas.paging import Query
from weir.http.schemas.problem import Finding


class BackupQuery(Query):
    secrets = QueryFlag(
        load_default=False,
        metadata={"description": "1: take the secrets along; needs the passphrase of backups to be chosen."},
    )


class PassphraseInput(Input):
    passphrase = Text(required=True, min_length=12, max_length=1000)
    old = Text(
        max_length=1000,
        load_default=None,
        allow_none=True,
        metadata={"description": "The present one, where one was chosen."},
    )


class BackupReport(Answer):
    """What restoring a file would do."""

    made_at = fields.String()
    hostname = fields.String()
    release = fields.String(metadata={"description": "The release of Weir that made it."})
    revision = fields.Integer(metadata={"description": "The revision there that it holds."})
    objects = fields.Integer()
    counts = fields.Nested(Counts)
    can_restore = fields.Boolean()
    findings = fields.List(fields.Nested(Finding))


class RestoreQuery(Query):
    message = Text(max_length=1000, load_default="")
    confirm_within_s = QueryInteger(
        *CONFIRM_WITHIN_S,
        load_default=None,
        allow_none=False,
        metadata={"description": "Roll back by itself unless confirmed within so many seconds."},
    )

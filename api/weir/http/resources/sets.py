# SPDX-License-Identifier: Apache-2.0
"""Sets, and fetching what is in them."""

from __future__ import annotations

from flask import Response
from marshmallow import fields

from weir.http import editing
from weir.http.context import me, service
from weir.http.endpoint import WRITE, answer
from weir.http.resources.kinds import resource_of
from weir.http.schemas import base
from weir.http.schemas.kinds import schemas_of

KIND = "set"


class SetRefresh(base.Answer):
    """What became of one try."""

    fetched = fields.Boolean(
        metadata={
            "description": "Whether the list was taken, or is as it was, or all names were answered; if "
            "not, the set keeps what it has."
        }
    )
    answer = fields.String(metadata={"description": "What became of it, or what went wrong."})
    entries = fields.Integer(
        metadata={"description": "What the list has that the set was filled with last, or its names have."}
    )
    took_ms = fields.Integer()


resource = resource_of(KIND, schemas_of(KIND))


@resource.operation("POST", "/sets/<string(maxlength=63):set_id>/refresh", scope=WRITE, answers=SetRefresh)
def refresh_set(set_id: str) -> Response:
    """Fetch the list of a set, or ask for its names, now

    As the set is configured now, whenever it is due. It takes 75 seconds at most. A list that cannot be had
    or is not taken, or a name without a good answer, is no error of this request: see `fetched`.
    """
    stored = editing.find(KIND, set_id, staged=False)
    done = service().sets.refresh(me(), stored.id)
    return answer(
        {"fetched": done.fetched, "answer": done.answer, "entries": done.entries, "took_ms": done.took_ms}
    )

# SPDX-License-Identifier: Apache-2.0
"""Alert targets, and trying them."""

from __future__ import annotations

from flask import Response
from marshmallow import fields

from weir.http import editing
from weir.http.context import me, service
from weir.http.endpoint import WRITE, answer
from weir.http.resources.kinds import resource_of
from weir.http.schemas import base
from weir.http.schemas.kinds import schemas_of

KIND = "alert-target"


class AlertTest(base.Answer):
    """What became of one message."""

    delivered = fields.Boolean(metadata={"description": "Whether the server took the message."})
    answer = fields.String(
        metadata={"description": "What it answered (SMTP code, HTTP status), or what went wrong."}
    )
    took_ms = fields.Integer()


resource = resource_of(KIND, schemas_of(KIND))


@resource.operation(
    "POST", "/alert-targets/<string(maxlength=63):target_id>/test", scope=WRITE, answers=AlertTest
)
def test_alert_target(target_id: str) -> Response:
    """Send a test message

    One message goes to the target as it is configured now, and the answer is the server's. It takes 20
    seconds at most. A server that does not take it is no error of this request: see `delivered`.
    """
    stored = editing.find(KIND, target_id, staged=False)
    tested = service().alerts.test(me(), stored.id)
    return answer({"delivered": tested.delivered, "answer": tested.answer, "took_ms": tested.took_ms})

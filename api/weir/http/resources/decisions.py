# SPDX-License-Identifier: Apache-2.0
"""Which rule decides about a packet."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import Response

from weir.http.context import me, service
from weir.http.endpoint import READ, Resource, answer
from weir.http.schemas import decision
from weir.service.decisions import Question

resource = Resource("decisions", "Which rule of the firewall decides about a packet.")


@resource.operation(
    "GET", "/firewall/decision", scope=READ, query=decision.DecisionQuery, answers=decision.Decision
)
def decide_firewall(query: dict[str, Any]) -> Response:
    """Say which rule decides about a packet

    By the running configuration: no packet is sent, and the kernel is not asked.
    """
    return answer(asdict(service().decisions.decide(me(), Question(**query))))

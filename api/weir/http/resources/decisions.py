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


@resource.operation(
    "GET", "/firewall/ruleset", scope=READ, query=decision.RulesetQuery, answers=decision.Ruleset
)
def list_firewall_ruleset(query: dict[str, Any]) -> Response:
    """List every rule that runs

    Also those that the firewall's policy, zones, NAT rules and services add to the firewall rules. What the
    fast path forwards meets no rule again and is in no counter; in NAT chains the first packet of each
    connection counts.
    """
    found = service().decisions.ruleset(me(), **query)
    items = [
        {"chain": rule.chain, "packets": rule.packets, "bytes": rule.bytes, **asdict(rule.decider)}
        for rule in found.rules
    ]
    return answer(
        {
            "revision": found.revision,
            "items": items,
            "total": found.total,
            "uncounted": found.uncounted or None,
        }
    )

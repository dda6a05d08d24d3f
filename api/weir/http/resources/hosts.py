# SPDX-License-Identifier: Apache-2.0
"""The hosts beside the router."""

from __future__ import annotations

from functools import partial
from typing import Any

from flask import Response

from weir.http.answers import page_of
from weir.http.context import me, service
from weir.http.endpoint import READ, Resource, answer
from weir.http.schemas import hosts
from weir.model.document import Document
from weir.service.hosts import Host

resource = Resource(
    "hosts", "Stations that ARP and neighbour discovery know, and the queue that each address is in."
)


@resource.operation("GET", "/hosts", scope=READ, query=hosts.HostsQuery, answers=hosts.HostPage)
def list_hosts(query: dict[str, Any]) -> Response:
    """List the hosts beside the router, by interface and address

    Read from the kernel for each answer. 503 while the agent does not answer.
    """
    found, left_out = service().hosts.hosts(me(), query["q"] or "")
    with service().config.document(me()) as document:
        page = page_of(found, partial(_host_json, document), query)
    return answer({**page, "left_out": left_out})


def _host_json(document: Document, host: Host) -> dict[str, Any]:
    return {
        "id": host.id,
        "interface": host.interface,
        "mac": host.mac,
        "confirmed_s": host.confirmed_s,
        "addresses": [
            {
                "address": found.address,
                "name": found.name,
                "state": found.state,
                "confirmed_s": found.confirmed_s,
                "queue": _queue_json(document, found.queue),
            }
            for found in host.addresses
        ],
    }


def _queue_json(document: Document, queue_id: str | None) -> dict[str, str] | None:
    """By its id where it has just been deleted."""
    queue = document.queue(queue_id)
    return None if queue_id is None else {"id": queue_id, "name": queue.name if queue else queue_id}

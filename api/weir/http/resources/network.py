# SPDX-License-Identifier: Apache-2.0
"""Queue types and interfaces."""

from __future__ import annotations

from typing import Any

from flask import Response

from weir.http import editing
from weir.http.answers import page_of
from weir.http.context import context, me, service
from weir.http.endpoint import answer
from weir.http.interfaces import interface_json, interface_page
from weir.http.listing import found_among
from weir.http.resources.kinds import resource_of, with_warnings
from weir.http.schemas import network
from weir.model.builtin import BUILTIN_QUEUE_TYPES
from weir.model.enforcement import enforcement_of_type
from weir.model.objects import QueueType
from weir.service import Listing, Stored


def queue_type_json(stored: Stored) -> dict[str, Any]:
    assert isinstance(stored.object, QueueType)
    with service().config.document(me()) as document:
        used_by = len(document.queue_ids_by_type.get(stored.id, ()))
        kept = [item.to_json() for item in enforcement_of_type(stored.object, document)]
    return {**with_warnings(stored), "enforcement": kept, "used_by": used_by}


def all_queue_types() -> list[Stored]:
    """Stored and built-in queue types by name."""
    found = {
        name: Stored("queue-type", name, item, editing.BUILT_IN, 0)
        for name, item in BUILTIN_QUEUE_TYPES.items()
    }
    cursor = None
    while True:
        page = service().config.page(me(), Listing("queue-type", limit=1000, cursor=cursor, sort="id"))
        found.update((stored.id, stored) for stored in page.items)
        cursor = page.next_cursor
        if cursor is None:
            return [found[name] for name in sorted(found)]


def list_queue_types(query: dict[str, Any]) -> Response:
    every = {stored.id: stored for stored in all_queue_types()}
    found = found_among("queue-type", every, query["q"])
    return answer(page_of([every[name] for name in found], queue_type_json, query))


def list_interfaces(query: dict[str, Any]) -> Response:
    return answer(interface_page(context(), query))


def get_interface(query: dict[str, Any], name: str) -> Response:
    stored, body = interface_json(context(), name, staged=query["candidate"])
    return answer(body, etag=stored.etag if stored else None)


def render_interface(stored: Stored) -> dict[str, Any]:
    return interface_json(context(), stored.id, staged=False)[1]


queue_types = resource_of(
    "queue-type",
    network.QUEUE_TYPE,
    render=queue_type_json,
    says={
        "LIST": "List queue types\n\n"
        "Also those that are built in; changing one of them stores it under its name.",
        "DELETE": "Delete a queue type that no queue names",
    },
    views={"LIST": list_queue_types},
)
interfaces = resource_of(
    "interface",
    network.INTERFACE,
    render=render_interface,
    says={
        "LIST": "List interfaces\n\n"
        "Those of the kernel and those of the configuration; a configured one that is missing has no state.",
        "PUT": "Configure an interface",
        "PATCH": "Change fields of a configured interface (merge patch)",
        "DELETE": "Remove an interface from the configuration",
    },
    views={"LIST": list_interfaces, "GET": get_interface},
)

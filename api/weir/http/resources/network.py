# SPDX-License-Identifier: Apache-2.0
"""Queue types and interfaces."""

from __future__ import annotations

from typing import Any

from flask import Response

from weir.http import editing
from weir.http.configuring import ConfigArea
from weir.http.context import context, me, service
from weir.http.endpoint import READ, answer
from weir.http.interfaces import interface_json, interface_page
from weir.http.rendering import page_of
from weir.http.resources.kinds import with_warnings
from weir.http.schemas import network, paging
from weir.model import codec
from weir.model.builtin import BUILTIN_QUEUE_TYPES
from weir.model.enforcement import enforcement_of_type
from weir.model.objects import QueueType
from weir.service import Listing, Stored

queue_types = ConfigArea("queue-types", "How the packets of a queue wait.")
interfaces = ConfigArea("interfaces", "What the router has, and what is configured of it.")

QUEUE_TYPE = "/queue-types/<string(maxlength=63):type_id>"
INTERFACE = "/interfaces/<string(maxlength=15):name>"


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


@queue_types.operation("GET", "/queue-types", scope=READ, query=paging.Page, answers=network.QueueTypePage)
def list_queue_types(query: dict[str, Any]) -> Response:
    """List queue types

    Also those that are built in; changing one of them stores it under its name.
    """
    return answer(page_of(all_queue_types(), queue_type_json, query))


@queue_types.writing("POST", "/queue-types", shape=network.QueueTypeCreateInput, answers=network.QueueType)
def create_queue_type(body: dict[str, Any], query: dict[str, Any]) -> Response:
    """Create a queue type"""
    type_id = codec.check_id("queue-type", body.get("id"))
    return editing.create("queue-type", type_id, body, queue_type_json, staged=query["candidate"])


@queue_types.operation("GET", QUEUE_TYPE, scope=READ, query=paging.Staged, answers=network.QueueType)
def get_queue_type(query: dict[str, Any], type_id: str) -> Response:
    """Show a queue type"""
    stored = editing.find("queue-type", type_id, staged=query["candidate"])
    return answer(queue_type_json(stored), etag=stored.etag)


@queue_types.writing("PUT", QUEUE_TYPE, shape=network.QueueTypeInput, answers=network.QueueType)
def put_queue_type(body: dict[str, Any], query: dict[str, Any], type_id: str) -> Response:
    """Create or replace a queue type"""
    return editing.replace("queue-type", type_id, body, queue_type_json, staged=query["candidate"])


@queue_types.writing("PATCH", QUEUE_TYPE, shape=network.QueueTypePatch, answers=network.QueueType)
def patch_queue_type(body: dict[str, Any], query: dict[str, Any], type_id: str) -> Response:
    """Change fields of a queue type (merge patch)"""
    return editing.patch("queue-type", type_id, body, queue_type_json, staged=query["candidate"])


@queue_types.writing("DELETE", QUEUE_TYPE)
def delete_queue_type(query: dict[str, Any], type_id: str) -> Response:
    """Delete a queue type that no queue names"""
    return editing.remove("queue-type", type_id, queue_type_json, staged=query["candidate"])


@interfaces.operation("GET", "/interfaces", scope=READ, query=paging.Page, answers=network.InterfacePage)
def list_interfaces(query: dict[str, Any]) -> Response:
    """List interfaces

    Those of the kernel and those of the configuration; a configured one that is missing has no state.
    """
    return answer(interface_page(context(), query))


@interfaces.operation("GET", INTERFACE, scope=READ, query=paging.Staged, answers=network.Interface)
def get_interface(query: dict[str, Any], name: str) -> Response:
    """Show an interface"""
    stored, body = interface_json(context(), name, staged=query["candidate"])
    return answer(body, etag=stored.etag if stored else None)


def render_interface(stored: Stored) -> dict[str, Any]:
    return interface_json(context(), stored.id, staged=False)[1]


@interfaces.writing("PUT", INTERFACE, shape=network.InterfaceInput, answers=network.Interface)
def put_interface(body: dict[str, Any], query: dict[str, Any], name: str) -> Response:
    """Configure an interface"""
    return editing.replace("interface", name, body, render_interface, staged=query["candidate"])


@interfaces.writing("PATCH", INTERFACE, shape=network.InterfacePatch, answers=network.Interface)
def patch_interface(body: dict[str, Any], query: dict[str, Any], name: str) -> Response:
    """Change fields of a configured interface (merge patch)"""
    return editing.patch("interface", name, body, render_interface, staged=query["candidate"])


@interfaces.writing("DELETE", INTERFACE)
def delete_interface(query: dict[str, Any], name: str) -> Response:
    """Remove an interface from the configuration"""
    return editing.remove("interface", name, render_interface, staged=query["candidate"])

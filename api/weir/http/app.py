# SPDX-License-Identifier: Apache-2.0
"""The Flask application: resources, their documentation, protection, errors and the built user interface."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.routing import Rule

from weir.http import problems, security, ui
from weir.http.context import Context
from weir.http.endpoint import Operation, Resource
from weir.http.rendering import findings_answer, moment, pending_answer, state_json
from weir.http.resources import (
    alerts,
    auth,
    backup,
    candidate,
    decisions,
    diagnosis,
    documentation,
    hosts,
    imports,
    kinds,
    leases,
    network,
    queues,
    raises,
    revisions,
    search,
    security_keys,
    sets,
    setup,
    speed,
    stats,
    system,
    tools,
    tuning,
    tunnels,
    updates,
    users,
)
from weir.http.schemas.paging import MAX_LIMIT
from weir.http.settings import Settings
from weir.kinds import DECLARED
from weir.model.objects import Kind, Queue
from weir.service import Listing, Principal, Service
from weir.service.imports import ImportService
from weir.service.incidents import IncidentService, Told, folder_beside
from weir.service.lazy import once
from weir.service.state_feed import StateFeed
from weir.service.states import State
from weir.service.stats import Head, StatsService

_FIRST: tuple[Resource, ...] = (
    auth.resource,
    security_keys.resource,
    users.resource,
)
_LAST: tuple[Resource, ...] = (
    raises.resource,
    search.resource,
    candidate.resource,
    candidate.config,
    revisions.resource,
    stats.resource,
    hosts.resource,
    decisions.resource,
    diagnosis.resource,
    leases.resource,
    tools.resource,
    speed.resource,
    imports.resource,
    imports.exports,
    backup.resource,
    system.resource,
    updates.resource,
    setup.resource,
    documentation.resource,
)
SAMPLER = Principal(0, "statistics", "read", "local", "sampler", "local", 0)


def resources() -> tuple[Resource, ...]:
    """All resources, those of the declared kinds in the middle."""
    own = {
        "queue": queues.resource,
        "queue-type": network.queue_types,
        "interface": network.interfaces,
        "wireguard-peer": tunnels.resource,
        "alert-target": alerts.resource,
        "set": sets.resource,
        "tuning": tuning.resource,
    }
    return (*_FIRST, *kinds.resources(own), *_LAST)


def describe() -> str:
    """The OpenAPI document as JSON."""
    # Not before: who serves needs nothing of what it is made with.
    from weir.http.describing import document

    return json.dumps(document(resources()), ensure_ascii=False)


def register(app: Flask) -> dict[str, Operation]:
    """Every resource; the operations by endpoint."""
    operations: dict[str, Operation] = {}
    for resource in resources():
        app.register_blueprint(resource)
        operations.update(resource.operations)
    return operations


class Route(Rule):
    """A rule that finds what serves a path, and makes no path. Werkzeug compiles two functions for that,
    which of 500 rules took half a second of the start."""

    def _compile_builder(self, *_of: object, **_by_name: object) -> Callable[..., tuple[str, str]]:
        return _no_path


def _no_path(*_of: object, **_values: object) -> tuple[str, str]:
    raise NotImplementedError("no path is made of a rule")


def create_app(settings: Settings, parts: Context | None = None) -> Flask:
    """The application. `parts` are given by tests; without them the services are opened from the settings."""
    app = Flask("weir", static_folder=None)
    app.url_rule_class = Route
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.url_map.strict_slashes = True
    app.url_map.redirect_defaults = False
    app.url_map.merge_slashes = False
    if settings.trusted_proxies:
        count = settings.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=count, x_proto=count, x_host=count)  # type: ignore[method-assign]
    operations = register(app)
    app.extensions["weir-openapi"] = once(describe)
    app.extensions["weir-operations"] = operations
    problems.register(app)
    security.protect(app, operations)
    ui.serve(app, settings.static_dir)
    app.extensions["weir"] = parts or open_parts(settings)
    return app


def _head(service: Service, ids: Sequence[str]) -> Head:
    with service.config.at_head(SAMPLER) as (revision, document):
        queues = document.of_kind("queue")
        return Head(revision, len(queues), all(queue_id in queues for queue_id in ids))


def _learnt(service: Service, kind: Kind, ids: Sequence[str] | None) -> Sequence[State]:
    """Of these objects, or of the first that a list of the kind has."""
    if ids is None and kind in DECLARED and DECLARED[kind].state:
        order = DECLARED[kind].order
        sort, within = ("id", ()) if order is None else ("position", order.within)
        listing = Listing(kind, limit=MAX_LIMIT, sort=sort, within=within)
        ids = [item.id for item in service.config.page(SAMPLER, listing).items]
    return service.states.of(SAMPLER, kind, ids or ())


def _names(service: Service, ids: Sequence[str]) -> dict[str, str]:
    """Of these queues, as far as there are such."""
    with service.config.at_head(SAMPLER) as (_, document):
        queues = document.of_kind("queue")
        found = ((queue_id, queues.get(queue_id)) for queue_id in ids)
        return {queue_id: queue.name for queue_id, queue in found if isinstance(queue, Queue)}


def open_parts(settings: Settings) -> Context:
    """Open the store and start the sampler."""
    service = Service.open(settings.database, settings.agent_socket)
    told = Told(service.revisions_after, lambda ids: _names(service, ids), service.failed_commits)
    incidents = IncidentService(service.agent, folder_beside(settings.statistics_database), told)
    stats = StatsService(
        service.agent,
        settings.statistics_database,
        settings.max_streams,
        lambda: pending_answer(service, SAMPLER),
        service.auth.still_good,
        lambda ids: _head(service, ids),
        StateFeed(lambda kind, ids: _learnt(service, kind, ids), state_json, moment),
        findings_answer,
        incidents,
    )
    stats.start()
    if settings.first_setup:
        service.setup.start()
    return Context(settings, service, stats, ImportService(service))

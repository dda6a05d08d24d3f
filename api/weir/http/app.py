# SPDX-License-Identifier: Apache-2.0
"""The Flask application: resources, their documentation, protection, errors and the built user interface."""

from __future__ import annotations

import json
from collections.abc import Sequence

from flask import Flask

from weir.accounts.accounts import Accounts
from weir.accounts.principal import Principal
from weir.http.answers import moment
from weir.http.application import make_app
from weir.http.context import Context
from weir.http.endpoint import Resource
from weir.http.rendering import findings_answer, pending_answer, state_json
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
from weir.service import Listing, Service
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


def create_app(settings: Settings, accounts: Accounts | None = None) -> Flask:
    """The application, with its services opened from the settings; accounts may be open already."""
    app = make_whole(settings)
    attach(app, settings, open_parts(settings, accounts))
    return app


def make_whole(settings: Settings) -> Flask:
    """All resources, without services behind them."""
    app = make_app(settings, resources())
    app.extensions["weir-openapi"] = once(describe)
    return app


def attach(app: Flask, settings: Settings, parts: Context) -> None:
    """What the views of `weir.http.context` reach."""
    app.extensions["weir-settings"] = settings
    app.extensions["weir-accounts"] = parts.service.accounts
    app.extensions["weir"] = parts


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


def open_parts(settings: Settings, accounts: Accounts | None = None) -> Context:
    """Open the store and start the sampler."""
    service = Service.open(settings.database, settings.agent_socket, accounts)
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
    return Context(service, stats, ImportService(service))

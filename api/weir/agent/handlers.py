# SPDX-License-Identifier: Apache-2.0
"""The methods of the agent's socket: fixed, validated, and never commands.

A caller has passed the check of its uid and is still not trusted: every change goes through the model's own
parser and rules again.
"""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import weir
from weir.adapters.datapath import Datapath
from weir.adapters.datapath_layout import layout_of
from weir.adapters.netlink import Links
from weir.adapters.proc import resident_bytes
from weir.agent import views
from weir.agent.capabilities import Capabilities
from weir.agent.configuration import Configuration
from weir.agent.details import details_of
from weir.agent.explain import explain_object
from weir.agent.explain_queue import explain_queue
from weir.agent.reconciler import Reconciler
from weir.agent.running import MANY_CHANGES
from weir.kinds.identity import Identity
from weir.model.codec import from_json, parse_kind
from weir.model.document import Change
from weir.model.packed_changes import PackedChanges
from weir.model.problem import Invalid, Problem
from weir.parts.tuning import TUNING
from weir.store.bodies import encode
from weir.store.clock import boot_id, boottime_ms, wall_ms
from weir.wire.protocol import Lines, encode_line
from weir.wire.server import Answer, Handler, Peer

log = logging.getLogger(__name__)
_APPLIED = "applied"
_PREPARED = "prepared"
_MAPS = {
    "details": "weir_details",
    "class": "weir_lines",
    "delays": "weir_waits",
    "round_trips": "weir_trips",
}


class Handlers:
    """One per agent; each method of the wire is a method here."""

    def __init__(
        self,
        configuration: Configuration,
        reconciler: Reconciler,
        datapath: Datapath,
        links: Links,
        capabilities: Capabilities,
        data: Callable[[], dict[str, Any] | None],
        connections: Callable[[], dict[str, Any] | None],
    ) -> None:
        self._configuration = configuration
        self._reconciler = reconciler
        self._datapath = datapath
        self._links = links
        self._capabilities = capabilities
        self._data = data
        self._connections = connections
        self._version = weir.__version__
        self._fds = {name: datapath.map_fd_readonly(map_) for name, map_ in _MAPS.items()}
        try:
            self._fds["readings"] = datapath.reader_fd()
        except Problem as problem:
            log.info("%s", problem.message)

    def table(self) -> Mapping[str, Handler]:
        return {
            "status": self._status,
            "prepare": self._prepare,
            "apply": self._apply,
            "settle": self._settle,
            "resync": self._resync,
            "adopt": self._adopt,
            "running": self._running,
            "preview": self._preview,
            "explain": self._explain,
            "details": self._details,
            "counters_fd": self._counters_fd,
            "slots": self._slots,
            "interfaces": self._interfaces,
            "system": self._system,
            "tuning": self._tuning,
        }

    def closed(self, peer: Peer) -> None:
        """A connection is gone; what it applied and did not settle is not to stay on its word."""
        if (token := peer.state.pop(_PREPARED, None)) is not None:
            self._configuration.forget(token)
        if peer.state.pop(_APPLIED, False):
            self._configuration.abandoned(peer)

    def _status(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        configuration = self._configuration
        return {
            "version": self._version,
            "revision": configuration.revision,
            "state": configuration.state,
            "kernel": platform.release(),
            "capabilities": self._capabilities.to_json(),
            "shapers": {
                name: {
                    "mode": decision.mode,
                    "reason": decision.reason,
                    "fast_path": bool(decision.fast),
                    "fast_path_reason": decision.fast_reason,
                }
                for name, decision in dict(configuration.executor.decisions).items()
                if decision.mode != "none"
            },
            "drift": configuration.drift.to_json(),
            "confirm": self._confirm(),
            "started_at": configuration.started_at_ms,
            "store": configuration.following.to_json(),
            "sharing": configuration.sharing.to_json(),
            "data": self._data(),
            "connections": self._connections(),
            "rss_bytes": resident_bytes(),
            "class_capacity": configuration.class_capacity,
        }

    def _confirm(self) -> dict[str, Any] | None:
        try:
            pending = self._configuration.pending()
        except Problem:  # `store` says what it is
            return None
        if pending is None:
            return None
        left_s = pending.seconds_left(wall_ms(), boot_id(), boottime_ms())
        undone = self._configuration.returned == pending
        return {"revision": pending.revision, "seconds_left": round(left_s, 1), "undone": undone}

    def _prepare(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        """For an `apply` with the token instead of the changes, on this connection or another one, while
        this one is open."""
        token = self._configuration.prepare(changes_of(params))
        peer.state[_PREPARED] = token
        return {_PREPARED: token}

    def _apply(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        base, revision = _integer(params, "base"), _integer(params, "revision")
        token = params.get(_PREPARED)
        if isinstance(token, str):
            peer.state.pop(_PREPARED, None)
            answer = self._configuration.apply_prepared(base, revision, token, peer)
        else:
            answer = self._configuration.apply(base, revision, changes_of(params), peer)
        peer.state[_APPLIED] = True
        return answer

    def _settle(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        revision = _integer(params, "revision")
        self._configuration.settle(revision)
        peer.state.pop(_APPLIED, None)
        self._reconciler.wake()
        return {"revision": self._configuration.revision}

    def _resync(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        self._configuration.open_store()
        self._configuration.resync()
        synced = self._configuration.reconcile()
        self._reconciler.wake()
        return {"revision": self._configuration.revision, "faults": list(synced.faults.values())}

    def _adopt(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        """A person accepts the store's head, named by its digest."""
        try:
            digest = bytes.fromhex(str(params.get("digest")))
        except ValueError as error:
            raise Invalid("digest must be hexadecimal", code="bad-request", path="digest") from error
        self._configuration.adopt(_integer(params, "revision"), digest)
        self._reconciler.wake()
        return {"revision": self._configuration.revision}

    def _running(self, params: dict[str, Any], peer: Peer) -> Answer:
        """The configuration that runs, as lines of kind, id and body in a file that exists in memory only."""
        revision, document = self._configuration.running()
        descriptor = os.memfd_create("weir-running", os.MFD_CLOEXEC)
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            for item in document:
                file.write(encode_line([item.kind, item.id, encode(item)]))
        return Answer({"revision": revision, "objects": len(document)}, (descriptor,), closes=True)

    def _preview(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        return self._configuration.preview(changes_of(params))

    def _explain(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        kind, object_id = params.get("kind"), params.get("id")
        if not isinstance(kind, str) or not isinstance(object_id, str):
            raise Invalid("a kind and an id are needed", code="bad-request")
        if kind == "queue":
            return explain_queue(self._configuration, self._datapath, object_id)
        return explain_object(self._configuration, kind, object_id)

    def _details(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        return details_of(self._configuration, self._datapath, _queue_id(params))

    def _counters_fd(self, params: dict[str, Any], peer: Peer) -> Answer:
        """Read-only descriptors of details, classes, delays, round trips and, where the kernel has it, of the
        iterator over all lines, in this order; the server sends duplicates."""
        layout = layout_of(self._datapath.usage())
        return Answer({"layout": layout, "fds": list(self._fds)}, tuple(self._fds.values()))

    def _slots(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        since = params.get("since")
        return self._configuration.slot_log.since(since if type(since) is int else 0)

    def _interfaces(self, params: dict[str, Any], peer: Peer) -> list[dict[str, Any]]:
        with self._configuration.lock:
            return views.interfaces(
                self._links,
                self._datapath,
                self._configuration.executor.decisions,
                self._configuration.executor.leases,
            )

    def _system(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        """Without the lock, which a commit may hold for long: one look at the document is enough."""
        running = self._configuration
        banner = running.document.single(Identity).login_banner if running.loaded else None
        return {**views.system(), "login_banner": banner}

    def _tuning(self, params: dict[str, Any], peer: Peer) -> list[dict[str, Any]]:
        """Every setting of the product with its reason, and what the kernel holds."""
        with self._configuration.lock:
            return self._configuration.executor.tuning.to_json(self._configuration.compiled.of(TUNING))


def changes_of(params: dict[str, Any]) -> Sequence[Change]:
    """The changes of a request, through the model's parser. `old` is not taken from the sender."""
    given = params.pop("changes", None)
    if not isinstance(given, list | Lines):
        raise Invalid("changes must be a list", code="bad-request")
    changes = map(_change, given)
    return PackedChanges(changes) if len(given) > MANY_CHANGES else list(changes)


def _change(item: object) -> Change:
    if not isinstance(item, dict) or not isinstance(item.get("id"), str):
        raise Invalid("a change needs kind, id and new", code="bad-request")
    kind, object_id, new = parse_kind(item.get("kind", "")), item["id"], item.get("new")
    return Change(
        kind, object_id, None, None if new is None else from_json(kind, new, object_id, is_stored=True)
    )


def _queue_id(params: dict[str, Any]) -> str:
    queue_id = params.get("queue_id")
    if not isinstance(queue_id, str):
        raise Invalid("a queue_id is needed", code="bad-request")
    return queue_id


def _integer(params: dict[str, Any], name: str) -> int:
    value = params.get(name)
    if type(value) is not int or value < 0:
        raise Invalid(f"{name} must be a whole number", code="bad-request", path=name)
    return value

# SPDX-License-Identifier: Apache-2.0
"""An agent without a kernel: keeps its state in a dict and can be told to misbehave."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from weir.agent.secrets import Secrets
from weir.agent.states import Learn, States
from weir.model.codec import from_json
from weir.model.problem import ApplyFailed, Conflict, Invalid
from weir.store import ConfigStore
from weir.store.bodies import encode
from weir.wire.protocol import NOT_PREPARED, encode_line
from weir.wire.server import AgentServer, Answer, Handler, Peer

FOLLOWED = {"ok": True, "reason": "", "stored": None, "damaged": []}


class _Sources(dict[str, Learn]):
    """Tells about every kind what the test said of it."""

    def __init__(self, learnt: dict[str, dict[str, dict[str, Any]]]) -> None:
        super().__init__()
        self._learnt = learnt

    def get(self, kind: str, default: Any = None) -> Any:
        if kind not in self._learnt:
            return default
        known = self._learnt[kind]
        return lambda ids: {name: known[name] for name in (known if ids is None else ids) if name in known}


class FakeAgent:
    """`kernel` holds what was applied; `behave` is called at the start of each `apply` and `settle`."""

    def __init__(self, socket: Path, database: Path) -> None:
        self.socket = socket
        self.database = database
        self.kernel: dict[tuple[str, str], Any] = {}
        self.revision = 0
        self.settled: list[int] = []
        self.prepared: dict[str, list[dict[str, Any]]] = {}
        self.reconciled = 0
        self.refuse: str | None = None
        self.state = "ok"
        self.store: dict[str, Any] = {**FOLLOWED}
        self.class_capacity = 131_071
        self.more = ""
        """What it says can be done about too many queues."""
        self.behave: Callable[[str], None] = lambda moment: None
        self._lock = threading.Lock()
        self._unsettled: Peer | None = None
        """Whose change is applied and not settled."""
        self.learnt: dict[str, dict[str, dict[str, Any]]] = {}
        """What the agent tells of objects, by kind and id."""
        self.tickets: dict[str, dict[str, Any]] = {}
        """What a ticket of SSH opens: key and account."""
        self.runs: list[dict[str, Any]] = []
        self.states = States(_Sources(self.learnt))
        self.secrets = Secrets(database.parent / "root")
        self._server = AgentServer(
            socket,
            {
                "status": self._status,
                "room": lambda _params, _peer: {"more": self.more},
                "prepare": self._prepare,
                "apply": self._apply,
                "settle": self._settle,
                "preview": self._preview,
                "explain": self._explain,
                "details": self._details,
                "adopt": self._adopt,
                "running": self._running,
                "ssh_ticket": self._ssh_ticket,
                **self.job_runs(),
                **self.secrets.table(),
                **self.states.table(),
            },
            allowed_uids={os.getuid()},
            on_close=self._closed,
        )

    lost: str | None = None
    """Why the system cannot be read when somebody asks what became of an object."""
    effects: list[dict[str, Any]] | None = None
    """What it says that changes cost; None: nothing."""

    def __enter__(self) -> FakeAgent:
        self._server.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._server.stop()

    def _status(self, _params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        return {
            "revision": self.revision,
            "state": self.state,
            "class_capacity": self.class_capacity,
            "store": self.store,
        }

    def job_runs(self) -> dict[str, Handler]:
        """What jobs did, until it is told."""

        def told(params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
            self.runs = [run for run in self.runs if run["number"] > params["number"]]
            return {}

        return {"job_runs": lambda _params, _peer: {"runs": self.runs}, "job_runs_told": told}

    def _ssh_ticket(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        if params["ticket"] not in self.tickets:
            raise Invalid("this ticket opens nothing", code="bad-ticket", path="ticket")
        return self.tickets[params["ticket"]]

    def _adopt(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        if params != self.store["stored"]:
            raise Conflict("look again", code="outdated")
        self.store, self.state = {**FOLLOWED}, "ok"
        self._reconcile()
        return {"revision": self.revision}

    def _running(self, _params: dict[str, Any], _peer: Peer) -> Answer:
        descriptor = os.memfd_create("running")
        for (kind, object_id), item in self.kernel.items():
            os.write(descriptor, encode_line([kind, object_id, encode(item)]))
        return Answer({"revision": self.revision}, (descriptor,), closes=True)

    def _prepare(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        self.behave("prepare")
        token = secrets.token_hex(8)
        self.prepared = {token: list(params["changes"])}
        return {"prepared": token}

    def _ready(self, token: str) -> list[dict[str, Any]]:
        if token not in self.prepared:
            raise Conflict("prepare it once more", code=NOT_PREPARED)
        return self.prepared.pop(token)

    def _apply(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        self.behave("before-apply")
        with self._lock:
            if params["base"] != self.revision:
                self._reconcile()
            if params["base"] != self.revision:
                raise Conflict("base mismatch", code="base-mismatch")
            if self.refuse is not None:
                raise ApplyFailed(self.refuse)
            changes = params["changes"] if "changes" in params else self._ready(params["prepared"])
            for change in changes:
                key = (change["kind"], change["id"])
                if change["new"] is None:
                    self.kernel.pop(key, None)
                else:
                    self.kernel[key] = from_json(change["kind"], change["new"], change["id"])
            self._unsettled = peer
            self.revision = params["revision"]
        self.behave("after-apply")
        return {
            "revision": self.revision,
            "steps": [],
            "counts": {"added": len(changes), "changed": 0, "removed": 0},
            "effects": self.effects,
            "apply_ms": 0.1,
            "verify_ms": 0.1,
        }

    def _settle(self, params: dict[str, Any], peer: Peer) -> dict[str, Any]:
        self.behave("settle")
        with self._lock:
            self._unsettled = None
            if params["revision"] != self.revision:
                self._reconcile()
        self.settled.append(params["revision"])
        return {}

    def _preview(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        return {
            "steps": [],
            "counts": {"added": len(params["changes"]), "changed": 0, "removed": 0},
            "effects": self.effects,
            "findings": [],
        }

    def _explain(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        kind, name = params["kind"], params["id"]
        if kind == "queue":
            return {"asked": {}, "compiled": {}, "kernel": {}, "lines": [], "agrees": True}
        if self.lost is not None:
            words, agrees = f"cannot be read: {self.lost}", None
        else:
            agrees = (kind, name) in self.kernel
            words = "it is so" if agrees else "it is not there"
        line = {"part": "toys", "field": "id", "asked": name, "compiled": name, "system": words}
        drift = [{"at_ms": 1, "part": "toys", "text": "add toy", "repaired": True}]
        return {
            "at_ms": 1,
            "revision": self.revision,
            "asked": {"id": name},
            "lines": [{**line, "agrees": agrees}],
            "agrees": agrees,
            "drift": drift,
        }

    def _details(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        busiest = [{"address": "10.64.0.7/32", "rate_bps": 480_000}, {"address": None, "rate_bps": 9_000}]
        way = {"rate_bps": 500_000, "active": 3, "evicted": 12, "shared_packets": 0, "busiest": busiest}
        trip = {"min_us": 21_000.0, "median_us": 24_000.0, "samples": 5, "age_s": 2.5}
        below = {"queues": 14, "min_us": 1_500.0, "median_us": 18_000.0, "age_s": 0.5}
        lost = {"seen_bytes": 900_000, "before_bytes": 0, "before_packets": 0, "after_bytes": 3_000}
        return {
            "losses": {"upload": None, "download": {**lost, "after_packets": 2, "age_s": 2.5}},
            "subqueues": {"used": 40, "bound": 65_536, "upload": None, "download": way},
            "round_trips": {"upload": None, "download": trip, "below": {"upload": None, "download": below}},
        }

    def _closed(self, peer: Peer) -> None:
        with self._lock:
            if self._unsettled is peer:
                self._reconcile()

    def _reconcile(self) -> None:
        """Bring the kernel to what the store holds."""
        store = ConfigStore.open(self.database)
        try:
            self.revision, document = store.load([])
            self.kernel = {(item.kind, item.id): item for item in document}
            self.reconciled += 1
            self._unsettled = None
        finally:
            store.close()

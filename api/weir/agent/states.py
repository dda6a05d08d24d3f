# SPDX-License-Identifier: Apache-2.0
"""What is learnt about configured objects: sessions, leases, handshakes. Asked for, never stored."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from weir.backends.daemons import Learn
from weir.model.objects import Kind
from weir.model.problem import Invalid, NotFound
from weir.store.clock import wall_ms
from weir.wire.server import Handler, Peer


def joined(*learns: Learn) -> Learn:
    """What several parts of the system tell about the same objects."""

    def learn(ids: Collection[str] | None) -> Mapping[str, Mapping[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for each in learns:
            for name, fields in each(ids).items():
                found.setdefault(name, {}).update(fields)
        return found

    return learn


class States:
    """Which part of the system tells about which kind."""

    def __init__(self, sources: Mapping[Kind, Learn]) -> None:
        self._sources = sources

    def table(self) -> Mapping[str, Handler]:
        return {"state": self._state}

    def _state(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        learn = self._sources.get(str(params.get("kind")))
        if learn is None:
            raise NotFound(f"nothing is learnt about {params.get('kind')!r}", code="no-state")
        ids = params.get("ids")
        if ids is not None and not (isinstance(ids, list) and all(isinstance(item, str) for item in ids)):
            raise Invalid("ids must be a list of ids", code="bad-request", path="ids")
        found = learn(ids)
        return {"at_ms": wall_ms(), "objects": {name: dict(fields) for name, fields in found.items()}}

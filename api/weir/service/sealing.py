# SPDX-License-Identifier: Apache-2.0
"""Bodies of people with their secrets sealed, before the model reads them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from weir.kinds import DECLARED
from weir.kinds.secrets import sealed
from weir.model.codec import from_json
from weir.model.objects import ConfigObject, Kind
from weir.sealing import seal
from weir.wire.client import AgentClient


class SealingService:
    """Asks the agent for the public half of the router's key each time: it may have changed."""

    def __init__(self, agent: AgentClient) -> None:
        self._agent = agent

    def read(
        self, kind: Kind, body: Any, object_id: str, present: Callable[[], ConfigObject | None]
    ) -> ConfigObject:
        """The object that somebody wrote. `present` is the one that it takes the place of.

        Raises `Invalid` with a finding for each wrong field, and `Unavailable` when there is a secret to seal
        and the agent does not answer.
        """
        declaration = DECLARED[kind]
        whole = declaration.completed(body)
        return from_json(kind, sealed(declaration, object_id, whole, present, self), object_id)

    def seal(self, place: str, text: str) -> str:
        return seal(self.public(), place, text)

    def make(self, kind: str, object_id: str, path: str) -> str:
        params = {"kind": kind, "id": object_id, "path": path}
        return str(self._agent.call("secrets_make", params)["sealed"])

    def public(self) -> bytes:
        return base64.b64decode(self._agent.call("secrets_key")["key"])

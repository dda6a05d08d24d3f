# SPDX-License-Identifier: Apache-2.0
"""The last lines of the router's own logs, for those who help: without any secret of the configuration."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from weir.adapters.journal import READER, last_lines
from weir.agent.secrets import Secrets
from weir.model.document import Document
from weir.model.problem import Invalid
from weir.redaction import without_secrets
from weir.wire.server import Answer, Handler, Peer

LINES = 4000
MOST_BYTES = 512 << 10
UNITS = (
    *("weir-*", "frr.service", "unbound.service", "radvd.service", "chrony.service", "kea*", "nginx.service"),
    *("rauc.service", "systemd-networkd.service", "data.mount"),
)
"""The product's own, and those that it configures."""
LOGS: Mapping[str, tuple[str, ...]] = {
    "product": tuple(f"--unit={unit}" for unit in UNITS),
    "kernel": ("_TRANSPORT=kernel", "--priority=warning"),
}


class LogTail:
    """`running` is the configuration whose secrets are known."""

    def __init__(
        self, secrets: Secrets, running: Callable[[], tuple[int, Document]], reader: str = READER
    ) -> None:
        self._secrets = secrets
        self._running = running
        self._reader = reader

    def table(self) -> Mapping[str, Handler]:
        return {"log_tail": self._tail}

    def _tail(self, params: dict[str, Any], _peer: Peer) -> Answer:
        """The newest lines first, in a file that exists in memory only. Raises `Unavailable`, also while the
        secrets are not known that may not be in it."""
        asked = LOGS.get(str(params.get("log")))
        if asked is None:
            raise Invalid(f"there is no log {params.get('log')!r}", code="bad-request", path="log")
        _, document = self._running()
        found, is_cut = last_lines(asked, LINES, MOST_BYTES, self._reader)
        if is_cut:
            found = found[: found.rfind(b"\n") + 1]  # half a line may have half a secret
        text = without_secrets(found.decode(errors="replace"), self._secrets.all_texts(document))
        descriptor = os.memfd_create("weir-log", os.MFD_CLOEXEC)
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(text.encode(errors="replace"))
        return Answer({"is_cut": is_cut}, (descriptor,), closes=True)

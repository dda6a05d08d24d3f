# SPDX-License-Identifier: Apache-2.0
"""The process of DHCP relays, `weir.relay`: how it is started, and its socket (docs/adr/0248)."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weir.adapters.local_socket import exchange
from weir.adapters.unprivileged import make_folder
from weir.model.problem import Unavailable

USER, UNIT_USER = "nobody", "dhcp-relay"
"""Whom the process becomes that root starts, and as whom systemd starts that of the image."""
_PRODUCT = "Weir's image"
_MAX_ANSWER_BYTES = 8 << 20


class RelayProcess:
    """`folder` is empty after a start of the machine."""

    def __init__(self, folder: Path, user: str) -> None:
        self.control, self._user = folder / "control", user

    def make_folder(self) -> None:
        """Of its socket. Raises `Unavailable`."""
        make_folder(self.control, self._user, _PRODUCT)

    def command(self, config: Path) -> Sequence[str]:
        kept = [f"PYTHONPATH={os.environ['PYTHONPATH']}"] if "PYTHONPATH" in os.environ else []
        return ("env", *kept, sys.executable, "-m", "weir.relay", str(config))

    def ask(self, timeout_s: float) -> dict[str, Any]:
        """What it has and has counted. Raises `Unavailable` (`daemon-hangs`, `daemon-died`)."""
        try:
            deadline_s = time.monotonic() + timeout_s
            said = exchange(self.control / "relay.sock", b"?", deadline_s, _MAX_ANSWER_BYTES)
            found: dict[str, Any] = json.loads(said)
        except TimeoutError as error:
            text = f"dhcp-relay did not answer within {timeout_s:.1f} s"
            raise Unavailable(text, code="daemon-hangs") from error
        except OSError as error:
            text = f"dhcp-relay cannot be asked: {error.strerror or error}"
            raise Unavailable(text, code="daemon-died") from error
        except ValueError as error:
            raise Unavailable("dhcp-relay answered with no JSON", code="daemon-hangs") from error
        return found

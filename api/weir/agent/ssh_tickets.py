# SPDX-License-Identifier: Apache-2.0
"""Whom the API may let in by an SSH key: who shows a ticket that sshd gave to nobody else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weir.backends.ssh import SshBackend
from weir.wire.server import Handler, Peer


class SshTickets:
    def __init__(self, ssh: SshBackend) -> None:
        self._ssh = ssh

    def table(self) -> Mapping[str, Handler]:
        return {"ssh_ticket": self._ticket}

    def _ticket(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """The key and the account. Raises `Invalid` (`bad-ticket`)."""
        found = self._ssh.opened(str(params.get("ticket", "")))
        return {"key": found.key, "account": found.account}

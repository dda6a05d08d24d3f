# SPDX-License-Identifier: Apache-2.0
"""What this machine is called."""

from __future__ import annotations

import socket


def host_name() -> str:
    """The router's name, as messages and leases have it; `router` where it has none."""
    return socket.gethostname() or "router"

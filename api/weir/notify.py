# SPDX-License-Identifier: Apache-2.0
"""Tell systemd that we are ready (sd_notify(3)); without systemd this does nothing."""

from __future__ import annotations

import logging
import os
import socket

log = logging.getLogger(__name__)


def notify(message: str) -> None:
    """Send e.g. `READY=1` to the socket that systemd named, if it named one."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as handle:
            handle.sendto(message.encode(), address)
    except OSError as error:
        log.warning("systemd's notify socket: %s", error)

# SPDX-License-Identifier: Apache-2.0
"""Whether a TCP port of this machine is free. Nothing of the product is imported here: `lab/vm/run` runs in
any Python."""

from __future__ import annotations

import socket


def port_is_free(address: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True

# SPDX-License-Identifier: Apache-2.0
"""What the agent tells a run of Torch first comes whole, however many classes the tables hold."""

from __future__ import annotations

import base64
import json
import os
import socket
import threading

from weir.adapters.datapath import MAX_CAPACITY
from weir.agent.torch import Seat
from weir.probes.torch import MESSAGE_BYTES


def test_the_slots_of_the_largest_tables_are_one_message() -> None:
    slots = base64.b64encode(os.urandom(-(-MAX_CAPACITY // 64) * 8)).decode()
    told = json.dumps({"library": "libweir.so", "ifindexes": list(range(1024)), "slots": slots}).encode()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server = threading.Thread(target=Seat("", told, (), lambda _: {}).serve, args=(ours,))
    server.start()
    with theirs:
        given, _, flags, _ = socket.recv_fds(theirs, MESSAGE_BYTES, 0)
    server.join(10)
    assert (given == told, flags & socket.MSG_TRUNC) == (True, 0)

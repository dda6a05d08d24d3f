# SPDX-License-Identifier: Apache-2.0
"""Requests about tunnels come from many threads of the agent, one after the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from weir.adapters.wireguard import Tunnels
from weir.model.problem import Unavailable


def test_each_thread_gets_the_kernels_answer_to_each_of_its_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second request of a thread that had not opened the socket was told "Connection reset by peer".

    A protocol that each kernel knows stands for WireGuard's; it refuses what it is asked.
    """
    monkeypatch.setattr("pyroute2.netlink.generic.wireguard.WG_GENL_NAME", "nlctrl")
    tunnels = Tunnels()

    def answer(_number: int) -> str:
        try:
            tunnels.read("no-such-tunnel")
        except Unavailable as problem:
            return problem.message
        return "there is such a tunnel"

    try:
        first = answer(0)
        for _ in range(3):
            with ThreadPoolExecutor(1) as thread:
                assert set(thread.map(answer, range(3))) == {first}
    finally:
        tunnels.close()

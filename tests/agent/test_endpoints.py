# SPDX-License-Identifier: Apache-2.0
"""What is known of peers, and names of endpoints that are followed, without a kernel."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from weir.adapters.wireguard import PeerState
from weir.agent.tunnels import Endpoints, TunnelStates
from weir.model.problem import Unavailable
from weir.parts.wireguard import PeerSpec

OLD, NEW = ("192.0.2.1", 7000), ("192.0.2.2", 7000)


class Kernel:
    """`wg0` cannot be read, `wg1` takes no endpoint; each other has one peer. `ago_s`: its last handshake."""

    def __init__(self, ago_s: float = 1000.0) -> None:
        self._at_s = int(time.time() - ago_s)
        self.given: list[str] = []

    def read(self, ifname: str) -> Any:
        if ifname == "wg0":
            raise Unavailable("there is no wg0")
        peer = PeerState("key", None, OLD, 0, frozenset(), self._at_s, 1, 2)
        return SimpleNamespace(peers={"key": peer})

    def set_endpoint(self, ifname: str, _key: str, _endpoint: object) -> None:
        if ifname == "wg1":
            raise Unavailable("wg1 is busy")
        self.given.append(ifname)


def wanted() -> dict[str, PeerSpec]:
    return {
        name: PeerSpec(name, name, "key", None, (), f"{name}.example.net:7000", 0, ())
        for name in ("wg0", "wg1", "wg2")
    }


def look(kernel: Any) -> None:
    Endpoints(kernel, wanted, lambda _host, _port: [NEW]).look()


def test_one_tunnel_that_fails_keeps_no_other_from_being_followed() -> None:
    kernel = Kernel()
    look(kernel)
    assert kernel.given == ["wg2"]


@pytest.mark.parametrize(
    ("ago_s", "session", "given"),
    [(10.0, "up", []), (1000.0, "stale", ["wg2"]), (-1e9, None, ["wg2"])],
    ids=["alive", "old", "the clock was set back"],
)
def test_a_session_is_judged_by_the_age_of_its_handshake(
    ago_s: float, session: str | None, given: list[str]
) -> None:
    kernel: Any = Kernel(ago_s)
    look(kernel)
    assert kernel.given == given
    found = TunnelStates(kernel, wanted).peers(None)
    assert {name: peer["session"] for name, peer in found.items()} == {"wg1": session, "wg2": session}

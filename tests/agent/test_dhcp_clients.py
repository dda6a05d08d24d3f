# SPDX-License-Identifier: Apache-2.0
"""The clients of all interfaces: what one runs into keeps no WAN without an address for good."""

from __future__ import annotations

import logging
from typing import Any
from unittest.mock import Mock

import pytest

from tests.polling import until
from weir.agent import dhcp_clients, lease_clients
from weir.agent.dhcp_clients import DhcpClients
from weir.parts.network import NetworkSpec


class BrokenWire:
    """Of each exchange something is wrong that nobody foresaw."""

    begun = 0

    def __init__(self, _ifname: str) -> None: ...

    def __enter__(self) -> BrokenWire:
        type(self).begun += 1
        raise ValueError("nobody foresaw it")

    def __exit__(self, *_: Any) -> None: ...

    def wake(self) -> None: ...

    def close(self) -> None: ...


def test_a_client_that_fails_begins_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(dhcp_clients, "DhcpWire", BrokenWire)
    monkeypatch.setattr(lease_clients, "AGAIN_S", 0.01)
    link = Mock(index=7, mac="02:00:00:00:00:01", carrier=True, ethernet=True, up=True)
    link.name = "wan0"
    leases = Mock(held=Mock(return_value={}))
    clients = DhcpClients(Mock(links=Mock(return_value={"wan0": link})), leases, Mock())
    with caplog.at_level(logging.ERROR):
        clients.follow({"wan0": NetworkSpec("wan0", True, (), None, "", dhcp=True)})
        until("it tried three times", lambda: BrokenWire.begun >= 3)
        clients.stop()
    assert "dhcp-wan0 failed; it goes on in 0.01 s" in caplog.text

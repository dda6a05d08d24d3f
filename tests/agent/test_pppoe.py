# SPDX-License-Identifier: Apache-2.0
"""A WAN by PPPoE and a whole agent, on a kernel without PPP or behind a silent line: nothing but the session
waits. With a session: tests/vm/test_pppoe.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from weir.adapters.frr import Frr
from weir.kinds.firewall import Firewall
from weir.model.interface import Interface
from weir.model.pppoe import Pppoe


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running(frr=True) as made:
        made.commit(lan(), wan(addresses=()), Firewall())
        yield made


def test_a_session_that_is_not_up_is_no_drift_and_says_why(rig: Rig) -> None:
    rig.commit(Interface("dsl0", "wan", pppoe=Pppoe("wan0", "me", distance=9)))
    status = rig.status()
    assert (status["state"], status["drift"]) == ("ok", [])
    assert any("0.0.0.0/0 dsl0" in line for line in _lines(rig))

    def failed() -> object:
        found = rig.agent.call("state", {"kind": "interface", "ids": ["dsl0"]})["objects"]
        return found.get("dsl0", {}).get("session_failure")

    assert until("a try has failed", failed)
    explained = str(rig.explain("dsl0", "interface"))
    assert "PPPoE over wan0 as me, MTU 1492" in explained and "there is no session now" in explained
    assert rig.agent.call("resync")["faults"] == [] and rig.status()["state"] == "ok"
    folder = rig.folder / "daemons" / "pppoe"
    rig.commit(delete=[("interface", "dsl0")])
    assert not any("dsl0" in line for line in _lines(rig))
    until("nothing is left of it", lambda: not list(folder.iterdir()))


def _lines(rig: Rig) -> frozenset[str]:
    return frozenset(Frr(rig.folder / "frr", rig.folder).read_lines())

# SPDX-License-Identifier: Apache-2.0
"""Neighbours to which only XDP sends are asked for their address as those of the stack are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.measure import bound
from tests.agent.rig import Rig, client_queue, lan, running, wan
from tests.polling import until
from weir.kinds.firewall import Firewall

OPEN = Firewall(masquerade=False, drop_new_from_wan=False)
QUICK = ("base_reachable_time_ms=1000", "delay_first_probe_time=1", "retrans_time_ms=200")
"""So that an address is old after 0.5 to 1.5 s of reachability, and given up 1.6 s later."""
PATIENCE_S = 30.0
NEW_MAC = "02:00:00:00:99:99"


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running(xdp=True) as made:
        made.commit(lan(), wan(), OPEN, client_queue(50_000_000))
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("fast_path", ["auto", "off"])
def test_a_silently_changed_address_is_learnt_while_packets_are_forwarded(rig: Rig, fast_path: str) -> None:
    rig.commit(lan(fast_path=fast_path), wan(fast_path=fast_path))
    rig.run("sysctl", "-qw", *(f"net.ipv4.neigh.wan0.{setting}" for setting in QUICK))
    with bound(rig.internet, "203.0.113.1") as far, bound(rig.client_ns, "10.64.0.2") as near:
        near.connect(far.getsockname())
        far.settimeout(0.05)

        def arrives() -> bool:
            near.send(b"hello")
            try:
                return bool(far.recv(64))
            except TimeoutError:
                return False

        until("packets arrive", arrives)
        rig.run("ip", "neigh", "change", "203.0.113.1", "dev", "wan0", "nud", "stale")
        before = rig.counters("client", "upload")["fast_bytes"]
        assert arrives()
        forwarded_by_xdp = rig.counters("client", "upload")["fast_bytes"] > before
        assert forwarded_by_xdp == (fast_path == "auto")
        last = NEW_MAC[:-1] + ("9" if fast_path == "auto" else "8")
        rig.run("ip", "link", "set", "i0", "address", last, namespace=rig.internet)
        assert not arrives(), "somebody told"
        until("packets arrive at the new address", arrives, within_s=PATIENCE_S)

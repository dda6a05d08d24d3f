# SPDX-License-Identifier: Apache-2.0
"""A BGP session of FRR's bgpd between the lab's router and its provider."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lab import frr, netns, plan, process, router
from lab.measure import poll

HOLD_TIME_S = 3
RUN = plan.RUN / "bgp"
SIDES = {
    plan.ROUTER: (64512, plan.WAN.router_v4, plan.WAN.peer_v4, 64513, f"timers 1 {HOLD_TIME_S}"),
    plan.INTERNET: (64513, plan.WAN.peer_v4, plan.WAN.router_v4, 64512, "passive"),
}
"""Namespace -> own number and address, the neighbour's address and number, and how they speak."""


def _start(namespace: str) -> process.Child:
    own, address, peer, theirs, how = SIDES[namespace]
    run = RUN / namespace
    run.mkdir(parents=True)
    (run / "bgpd.conf").write_text(
        f"router bgp {own}\n bgp router-id {address}\n no bgp ebgp-requires-policy\n"
        f" neighbor {peer} remote-as {theirs}\n neighbor {peer} {how}\n"
    )
    netns.run(["chown", "-R", "frr:frr", str(RUN)])
    zebra = ["-z", str(router.FRR_RUN / "zserv.api")] if namespace == plan.ROUTER else ["--no_zebra"]
    command = [
        *(str(frr.PROGRAMS / "bgpd"), "--vty_socket", str(run), *zebra),
        *("-i", str(run / "bgpd.pid"), "-f", str(run / "bgpd.conf"), "--log", "stdout", "-P", "0"),
    ]
    return process.start(f"bgpd-{namespace}", command, prepare=netns.entering(namespace))


def neighbour() -> dict[str, Any]:
    """What the router says of its provider; empty while it does not answer."""
    command = ["vtysh", "--vty_socket", str(RUN / plan.ROUTER), "-c", "show bgp neighbors json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not done.stdout.strip():
        return {}
    found: dict[str, Any] = json.loads(done.stdout).get(plan.WAN.peer_v4, {})
    return found


@contextmanager
def session() -> Iterator[None]:
    """Established in the block."""
    started = []
    try:
        for namespace in SIDES:
            started.append(_start(namespace))
        assert poll(lambda: neighbour().get("bgpState") == "Established", 20), neighbour()
        yield
    finally:
        for child in started:
            process.stop(child)

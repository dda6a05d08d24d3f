# SPDX-License-Identifier: Apache-2.0
"""BIRD as neighbours of the rig's router, in the internet's namespace: a process for each, as one BIRD has
one session with an address."""

from __future__ import annotations

import subprocess

from lab import netns
from tests.agent.rig import Rig
from tests.polling import until

BIRD, BIRDC = "/usr/sbin/bird", "/usr/sbin/birdc"
ROUTER, ROUTER_AS = "203.0.113.2", 65000
"""Of the rig's WAN."""


class Bird:
    """A neighbour with an address and AS number of its own; `routes` are what it announces."""

    def __init__(self, rig: Rig, address: str, asn: int, *routes: str, more: str = "") -> None:
        """Returns when it listens; the session comes when the router is configured. `more` is of the
        session."""
        self.address, self.asn = address, asn
        self._socket = rig.folder / f"bird-{address}.ctl"
        file = rig.folder / f"bird-{address}.conf"
        listed = " ".join(f"route {prefix} blackhole;" for prefix in routes)
        file.write_text(
            f"""router id {address};
protocol device {{}}
protocol static {{ ipv4; {listed} }}
protocol bgp peer {{
 local {address} as {asn}; neighbor {ROUTER} as {ROUTER_AS}; strict bind yes;
 connect retry time 1; connect delay time 1; error wait time 1, 1; {more}
 ipv4 {{ import all; export where source = RTS_STATIC; }};
}}
"""
        )
        netns.ip(rig.internet, [f"addr replace {address}/24 dev i0"])
        command = [BIRD, "-f", "-c", str(file), "-s", str(self._socket), "-P", f"{file}.pid"]
        self.process = rig.spawn(f"bird-{address}", command, netns.entering(rig.internet))
        until("BIRD listens", self._socket.exists)

    def ask(self, words: str) -> str:
        command = [BIRDC, "-s", str(self._socket), *words.split()]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    def learned(self) -> set[str]:
        """The prefixes that the router has told it."""
        lines = self.ask("show route protocol peer").splitlines()
        return {line.split()[0] for line in lines if "/" in line.split(" ")[0]}

    def route(self, prefix: str) -> str:
        """All attributes of a route that it was told, "" = none."""
        found = self.ask(f"show route {prefix} all protocol peer")
        return found if prefix in found else ""

    @property
    def since(self) -> str:
        """When the session was established; "" = it is not."""
        words = self.ask("show protocols peer").splitlines()[-1].split()
        return words[4] if "Established" in words else ""

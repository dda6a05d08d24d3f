# SPDX-License-Identifier: Apache-2.0
"""BIRD as neighbours of the rig's router, in the internet's namespace: a process for each, as one BIRD has
one session with an address."""

from __future__ import annotations

import subprocess

import pytest

from lab import netns
from tests.agent.rig import Rig
from tests.polling import until

CLOCKS_DIFFER_S = 0.05
BIRD, BIRDC = "/usr/sbin/bird", "/usr/sbin/birdc"
ROUTER, ROUTER_AS = "203.0.113.2", 65000
"""Of the rig's WAN."""


class _Process:
    """One BIRD with a configuration of its own in a namespace."""

    def __init__(self, rig: Rig, name: str, namespace: str, configuration: str) -> None:
        """Returns when it listens; sessions come when the router is configured."""
        self._socket = rig.folder / f"bird-{name}.ctl"
        file = rig.folder / f"bird-{name}.conf"
        file.write_text(configuration)
        command = [BIRD, "-f", "-c", str(file), "-s", str(self._socket), "-P", f"{file}.pid"]
        self.process = rig.spawn(f"bird-{name}", command, netns.entering(namespace))
        until("BIRD listens", self._socket.exists)

    def ask(self, words: str) -> str:
        command = [BIRDC, "-s", str(self._socket), *words.split()]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    def learned(self) -> set[str]:
        """The prefixes that the router has told it."""
        lines = self.ask("show route protocol peer").splitlines()
        return {line.split()[0] for line in lines if "/" in line.split(" ")[0]}


class OspfBird(_Process):
    """An OSPF neighbour on the other end of a cable, with BFD; hellos every second, dead after four."""

    def __init__(
        self, rig: Rig, namespace: str, device: str, router_id: str, route: str, more: str = ""
    ) -> None:
        """`more` is of the interface."""
        super().__init__(
            rig,
            f"ospf-{device}",
            namespace,
            f"""router id {router_id};
protocol device {{}}
protocol bfd {{ interface "{device}" {{ interval 200 ms; }}; }}
protocol static {{ ipv4; route {route} blackhole; }}
protocol ospf v2 peer {{
 ipv4 {{ import all; export where source = RTS_STATIC; }};
 area 0 {{ interface "{device}" {{ hello 1; dead 4; wait 2; bfd yes; {more} }}; }};
}}
""",
        )


def unchanged(since: float) -> object:
    """Equals the `Bird.since` of one and the same session."""
    return pytest.approx(since, abs=CLOCKS_DIFFER_S)


class Bird(_Process):
    """A neighbour with an address and AS number of its own; `routes` are what it announces."""

    def __init__(self, rig: Rig, address: str, asn: int, *routes: str, more: str = "") -> None:
        """`more` is of the session."""
        self.address, self.asn = address, asn
        listed = " ".join(f"route {prefix} blackhole;" for prefix in routes)
        netns.ip(rig.internet, [f"addr replace {address}/24 dev i0"])
        super().__init__(
            rig,
            address,
            rig.internet,
            f"""router id {address};
protocol device {{}}
protocol static {{ ipv4; {listed} }}
protocol bgp peer {{
 local {address} as {asn}; neighbor {ROUTER} as {ROUTER_AS}; strict bind yes;
 connect retry time 1; connect delay time 1; error wait time 1, 1; {more}
 ipv4 {{ import all; export where source = RTS_STATIC; }};
}}
""",
        )

    def route(self, prefix: str) -> str:
        """All attributes of a route that it was told, "" = none."""
        found = self.ask(f"show route {prefix} all protocol peer")
        return found if prefix in found else ""

    @property
    def since(self) -> float:
        """The second of the day at which the session was established; 0 = it is not. Compare it with
        `unchanged`: BIRD works it out from two clocks each time, and may be a millisecond off."""
        words = self.ask("show protocols peer").splitlines()[-1].split()
        if "Established" not in words:
            return 0.0
        hours, minutes, seconds = words[4].split(":")
        return 3600 * int(hours) + 60 * int(minutes) + float(seconds)

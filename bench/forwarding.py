# SPDX-License-Identifier: Apache-2.0
"""The forwarding rig: packets per second through a router namespace, several configurations side by side.

Each configuration has an ingress link, an egress link and a route of its own, so nothing is reconfigured
between rounds, and rounds are interleaved in random order. Only ratios within one run mean anything.

Each destination is one flow, and a flow comes to one CPU, as a card's hash of addresses and ports
has it (docs/adr/0084).
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lab import netns, plan

ROUTER = "weir-bench-router"
SINK = "weir-bench-sink"
OUT = plan.BUILD / "bench"
FIRST_NETWORK = 16
QUEUES = 2
RUN_MS = 300
SETTLE_MS = 60
"""Shorter runs of the generator mostly set up and tear down their pages."""
BATCH = 64
"""As many packets as a driver takes from its card at once."""


Way = Literal["stack", "wire", "nowhere"]
"""How packets come: as from a driver without XDP; over the link, so that XDP runs; not at all."""


@dataclass(frozen=True, slots=True)
class Port:
    """A configuration's links in the router; destinations are in `network`.0.0.0/8."""

    network: int
    ingress: str
    egress: str


Prepare = Callable[[Port], None]


@dataclass(frozen=True, slots=True)
class Configuration:
    """One way to send packets on. `prepare` sets it up inside the router's namespace."""

    name: str
    prepare: Prepare
    way: Way = "stack"
    addresses: int | None = None
    """Destinations, if not as many as the rig's other configurations have."""
    spread: bool = False
    """Each destination's packets come to every CPU, in turn."""
    own_xdp: bool = False
    """`prepare` puts XDP programs on both links."""
    before: Callable[[], object] | None = None
    """Done inside the router's namespace before each round."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Packets per second of one round: made by the generators, and counted behind the router."""

    made: float
    counted: float
    handled: float
    """Forwarded, or dropped by decision: all that were made but those that a full ring lost."""


class Rig:
    """Namespaces, links and the rig's process; use as a context manager."""

    def __init__(
        self, configurations: Sequence[Configuration], addresses: int, cpus: int | None = None
    ) -> None:
        """`addresses`: destinations, unless a configuration has its own; `cpus`: how many send (all)."""
        self.addresses = addresses
        self.cpus = cpus or os.cpu_count() or 1
        self.ports = [
            (configuration, Port(FIRST_NETWORK + number, f"in{number}", f"out{number}"))
            for number, configuration in enumerate(configurations)
        ]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Rig:
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.communicate()
        for namespace in (ROUTER, SINK):
            netns.remove(namespace)

    def _build(self) -> None:
        for namespace in (ROUTER, SINK):
            netns.remove(namespace)
            netns.create(namespace)
            netns.ip(namespace, ["link set lo up"])
        off = {"ipv6/conf/default/disable_ipv6": "1", "ipv6/conf/all/disable_ipv6": "1"}
        netns.sysctl(ROUTER, {"ipv4/ip_forward": "1", "ipv4/conf/all/rp_filter": "0", **off})
        netns.sysctl(SINK, off)
        for _, port in self.ports:
            self._link(port)
        self._process = subprocess.Popen(
            [str(OUT / "rig"), str(OUT / "rig.bpf.o"), SINK, str(self.cpus)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=_enter_first,
        )
        for configuration, port in self.ports:
            # Live frames need a receive queue that is registered, which a program makes it.
            self._ask(f"far {port.ingress}s pass")
            self._ask(f"far {port.egress}s count")
            if not configuration.own_xdp:
                self._ask(f"near {port.ingress} pass")
                self._ask(f"near {port.egress} pass")
            with netns.inside(ROUTER):
                configuration.prepare(port)

    def _link(self, port: Port) -> None:
        queues = f"numtxqueues {QUEUES} numrxqueues {QUEUES}"
        commands = []
        for device in (port.ingress, port.egress):
            commands.append(f"link add {device} {queues} type veth peer name {device}s netns {SINK} {queues}")
            commands.append(f"link set {device} up")
        gateway = f"{port.network}.255.255.254"
        commands.append(f"addr add {port.network}.255.255.253/32 dev {port.egress}")
        commands.append(f"route add {gateway} dev {port.egress}")
        commands.append(f"neigh add {gateway} lladdr 02:00:00:00:00:01 dev {port.egress} nud permanent")
        commands.append(f"route add {port.network}.0.0.0/8 via {gateway} dev {port.egress}")
        netns.ip(ROUTER, commands)
        netns.ip(SINK, [f"link set {device}s up" for device in (port.ingress, port.egress)])
        with netns.inside(ROUTER):
            for queue in range(min(QUEUES, os.cpu_count() or 1)):
                _steer(port.egress, queue)

    def _ask(self, question: str) -> list[str]:
        assert self._process is not None and self._process.stdin and self._process.stdout
        self._process.stdin.write(question + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().split()
        if not answer or answer[0] == "error":
            raise netns.LabError(
                f"the forwarding rig could not `{question}`: {' '.join(answer) or 'it ended'}"
            )
        return answer

    def measure(self, rounds: int, run_ms: int = RUN_MS, settle_ms: int = SETTLE_MS) -> dict[str, list[Rate]]:
        """Rates of each configuration in each round, from `settle_ms` on; a round's order is random."""
        rates: dict[str, list[Rate]] = {configuration.name: [] for configuration, _ in self.ports}
        for _ in range(rounds):
            for configuration, port in random.sample(self.ports, len(self.ports)):
                rates[configuration.name].append(self.round(configuration, port, run_ms, settle_ms))
        return rates

    def round(
        self, configuration: Configuration, port: Port, run_ms: int, settle_ms: int, batch: int = BATCH
    ) -> Rate:
        """One of `ports`, alone; `batch` packets are made before they are handled."""
        if configuration.before:
            with netns.inside(ROUTER):
                configuration.before()
        addresses = configuration.addresses or self.addresses
        sharers = 1 if configuration.spread else self.cpus
        answer = self._ask(
            f"run {configuration.way} {port.ingress} {port.network} {addresses} {sharers} "
            f"{settle_ms} {run_ms} {batch}"
        )
        made, counted, lost, ns = (int(word) for word in answer)
        per_s = 1e9 / ns
        return Rate(made * per_s, counted * per_s, handled=(made - lost) * per_s)


def _enter_first() -> None:
    """Into the router's namespace, before everything else that this machine has to do."""
    netns.enter(ROUTER)
    os.nice(-20)


def _steer(device: str, queue: int) -> None:
    """Transmit queue i for CPU i (XPS), written through a sysfs of the namespace."""
    mask = f"{1 << queue:x}"
    script = f"mount -t sysfs sys /sys && echo {mask} > /sys/class/net/{device}/queues/tx-{queue}/xps_cpus"
    netns.run(["unshare", "--mount", "sh", "-c", script])


def leaf_number(network: int, index: int) -> int:
    """Destination `index` of a configuration as the generator writes it: the address as a number."""
    return (network << 24) + 256 + index


def built() -> bool:
    return (OUT / "rig").exists() and (OUT / "rig.bpf.o").exists()


def build() -> None:
    """Compile the rig; raises LabError with the compiler's last line."""
    netns.run(["make", "-s", "-C", str(Path(__file__).parent / "rig")])

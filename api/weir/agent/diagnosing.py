# SPDX-License-Identifier: Apache-2.0
"""Who answers about packets on their way, about stations beside the router and what ails it, put together."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

from weir.adapters.datapath import Datapath
from weir.adapters.kernel_counters import Counters
from weir.adapters.netlink import Links
from weir.agent.captured import CaptureDesk
from weir.agent.configuration import Configuration
from weir.agent.customer_line import CustomerLine
from weir.agent.drop_watch import DropWatch
from weir.agent.given_leases import GivenLeases
from weir.agent.hosts import Hosts
from weir.agent.lock_watch import LockWatch
from weir.agent.lookup_times import LookupTimes
from weir.agent.outside import Outside
from weir.agent.packet_path import PacketPath
from weir.agent.packet_proof import PacketProof
from weir.agent.sampler import Sampler
from weir.agent.scan_watch import ScanWatch
from weir.agent.softirq_watch import SoftirqWatch
from weir.agent.speed import SpeedDesk
from weir.agent.tools import Tools
from weir.agent.torch import Seat, TorchDesk, crowded, library_seat
from weir.agent.uplink_monitor import UplinkMonitor
from weir.agent.watch import Watch
from weir.backends.dhcp_leases import LeaseTable
from weir.probes.dropped_rows import DroppedRows
from weir.probes.lock_rows import LockRows
from weir.probes.lookup_meter import LookupMeter
from weir.probes.scan_sources import ScanSources
from weir.probes.softirq_rows import SoftirqRows
from weir.tools import CAPTURE, DROP_REASONS, IPERF, LOCK_WAITS, METER, SOFTIRQS, TORCH


def sampler(
    period_s: float,
    uplinks: UplinkMonitor,
    outside: Outside,
    configuration: Configuration,
    library: str,
    stack: ExitStack,
) -> Sampler:
    """Looks from now on, until `stack` is left."""
    watches: dict[str, Watch[Any, Any]] = {
        "softirqs": SoftirqWatch(period_s, partial(SoftirqRows, library), Counters().core_times),
        "scans": ScanWatch(period_s, partial(ScanSources, library), Counters().cores),
        "drop_reasons": DropWatch(period_s, partial(DroppedRows, library)),
        "lock_waits": LockWatch(period_s, partial(LockRows, library)),
    }
    lookups = LookupTimes(partial(LookupMeter, library))
    looking = Sampler(
        period_s,
        uplinks.looks,
        outside.alerts.looked,
        watches,
        lookups,
        certificates=outside.certificates.looks,
        sets=outside.fetching.looks,
        unpaced=configuration.executor.ports.unpaced,
    )
    looking.start()
    stack.callback(looking.stop)
    return looking


def beside(
    configuration: Configuration,
    datapath: Datapath,
    links: Links,
    leases: LeaseTable,
    looking: Sampler,
    uplinks: UplinkMonitor,
    stack: ExitStack,
) -> tuple[Hosts, GivenLeases, Tools, CustomerLine, PacketPath, PacketProof]:
    """Who tells of the stations beside the router, and of what is on the way to others."""
    given = GivenLeases(configuration, leases)
    torch = TorchDesk(configuration, datapath, given.names)
    line = CustomerLine(configuration, datapath, links, looking.spent, uplinks.ways, uplinks.mark)
    seats: dict[str, Callable[[Any], Seat]] = {
        TORCH.name: torch.seat,
        CAPTURE.name: CaptureDesk(partial(_fast_paths, configuration), datapath).seat,
        IPERF.name: SpeedDesk(configuration, line.line).seat,
        DROP_REASONS.name: lambda _asked: library_seat(datapath.library),
        LOCK_WAITS.name: lambda _asked: library_seat(datapath.library),
        SOFTIRQS.name: lambda _asked: library_seat(datapath.library),
        METER.name: lambda _asked: library_seat(datapath.library, crowded()),
    }
    tools = Tools(seats)
    stack.callback(tools.stop)
    path = PacketPath(configuration, datapath, uplinks.mark)
    proof = PacketProof(configuration, datapath, path)
    stack.callback(proof.stop)
    return Hosts(configuration, datapath, links, given.names), given, tools, line, path, proof


def _fast_paths(configuration: Configuration) -> frozenset[str] | None:
    """The interfaces whose packets may pass beside the network stack; None: not known."""
    if not configuration.loaded:
        return None
    decisions = dict(configuration.executor.decisions)
    return frozenset(name for name, decision in decisions.items() if decision.fast)

# SPDX-License-Identifier: Apache-2.0
"""What the agent is made of, put together and run."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from weir.adapters import data_partition, rauc
from weir.adapters.boot_parameters import BootParameters
from weir.adapters.class_lines import ClassLines
from weir.adapters.datapath import Datapath
from weir.adapters.ethtool import takes_tags_off
from weir.adapters.events import Events, RuleEvents
from weir.adapters.frr import Frr
from weir.adapters.machine import power_off, restart
from weir.adapters.machine_name import MachineName
from weir.adapters.netlink import Links
from weir.adapters.reverse_path import checks_strictly
from weir.adapters.share_controller import ShareController
from weir.adapters.xdp_features import xdp_features
from weir.agent import (
    capabilities,
    diagnosing,
    dialler,
    early,
    ground,
    learning,
    protocols,
    tunnels,
    uplink_monitor,
)
from weir.agent import links as combined
from weir.agent.appliance import Appliance, Machine
from weir.agent.capacity import Capacity, Room
from weir.agent.configuration import Configuration
from weir.agent.connections import Connections
from weir.agent.delegations import Delegations
from weir.agent.dhcp6_clients import Dhcp6Clients
from weir.agent.dhcp_clients import DhcpClients
from weir.agent.drops import Drops
from weir.agent.executor import Executor
from weir.agent.following import Following
from weir.agent.guard import Guard
from weir.agent.handlers import Handlers
from weir.agent.host_services import HostServices
from weir.agent.job_memory import JobMemory
from weir.agent.jobs import Jobs, local_zone
from weir.agent.kept_routes import KeptRoutes
from weir.agent.known_hosts import KnownHosts
from weir.agent.last_good import LastGood
from weir.agent.lease_clients import LeaseClients
from weir.agent.lease_names import LeaseNames
from weir.agent.leases import Leases
from weir.agent.log_lines import LogLines
from weir.agent.log_tail import LogTail
from weir.agent.options import daemon_folder, lasting, state_folder
from weir.agent.outside import Outside
from weir.agent.packet_sizes import Merging
from weir.agent.prefix_routes import PrefixFollower
from weir.agent.reconciler import Reconciler
from weir.agent.routing import Routing
from weir.agent.sampler import Sampler
from weir.agent.secrets import Secrets
from weir.agent.sending import Sending
from weir.agent.sharing import Sharing
from weir.agent.states import States, joined
from weir.agent.store_client import StoreClient
from weir.agent.store_process import StoreProcesses
from weir.agent.updates import Updates
from weir.agent.uplink_monitor import UplinkMonitor
from weir.agent.uplinks import Uplinks
from weir.backends import tuning
from weir.backends.bounded_sources import BoundedSourcesBackend
from weir.backends.daemons import Learn
from weir.backends.fast import FastPaths
from weir.backends.firewall import FirewallBackend
from weir.backends.forwarding import ForwardingBackend
from weir.backends.htb import HtbBackend
from weir.backends.modes import PortModes
from weir.backends.network import NetworkBackend
from weir.backends.ntp import NtpBackend
from weir.backends.ports import PortsBackend
from weir.backends.routes import RoutesBackend
from weir.backends.sets import SetsBackend
from weir.backends.tables import TablesBackend
from weir.backends.tuning import TuningBackend
from weir.backends.uplinks import UplinksBackend
from weir.model.objects import Kind
from weir.model.problem import Problem
from weir.notify import notify
from weir.parts.bounded_sources import BOUNDED_SOURCES
from weir.parts.network import NETWORK
from weir.wire.server import AgentServer, Handler, Peer

log = logging.getLogger(__name__)


def run(options: argparse.Namespace, called: MachineName, stored: StoreProcesses, stack: ExitStack) -> None:
    """Until a signal ends it. `stored` may run already. Raises `Problem` when it cannot start."""
    state_dir = state_folder(options)
    wait_for_signal = ground.signals(stack)
    links = stack.enter_context(closing(Links()))
    early.take_over(state_dir, links)
    capacity = Capacity(options.update_dir, options.capacity)
    store = StoreClient(stored)
    last_good = stack.enter_context(closing(LastGood(options.last_good or state_dir / "last-good.db")))
    datapath = ground.open_datapath(options, _slots(capacity, store, last_good))
    stack.callback(datapath.close)
    lines, share = _at_lines(datapath, stack)
    secrets, refusals = _secrets(options), capabilities.qdisc_refusals()
    modes = PortModes(refusals)
    frr, routing = Frr(options.frr_run_dir, state_dir), Routing(datapath, options.routes_share)
    routing.begin()
    fast = FastPaths(
        datapath.flow_reason(), xdp_features, takes_tags_off, routing.largest, checks_strictly, routing.keeps
    )
    sending = Sending(datapath, fast.doubt)
    sending.begin()
    ports = PortsBackend(datapath, links, modes, fast)
    held, dialling = tunnels.opened(stack), dialler.opened(state_dir, links, stack, options.sets_clock)
    routing_protocols = protocols.backend(options.frr_run_dir, state_dir, frr, links, secrets)
    hosts = HostServices.of(options)
    outside = Outside(options, secrets, called, frr, stack)
    made = {**combined.backends(held, links, state_dir, secrets, dialling), **outside.backends}
    made |= {**hosts.backends, "routing": routing_protocols, "fetched_sets": outside.fetching.sets}
    made[BOUNDED_SOURCES.name] = bounds = BoundedSourcesBackend(datapath)
    executor = _executor(options, links, TablesBackend(datapath, lines), ports, modes, frr, made)
    events = stack.enter_context(closing(Events()))
    refusing, following = partial(capacity.explaining, lines.capacity), Following(store, last_good)
    configuration = Configuration(executor, Sharing(share), following, lines.capacity, refusing=refusing)
    clients = _clients(links, executor, configuration)
    reconciler = _reconciler(options, configuration, events, links, clients, share, routing, sending)
    guard = _guard(options, datapath, configuration, reconciler, routing_protocols.identity, stack)
    found = capabilities.Capabilities(refusals, frr, options.library)
    data = partial(data_partition.state, options.data_state)
    handlers = Handlers(configuration, reconciler, datapath, links, found, data, _tracked(executor, stack))
    ways = uplink_monitor.followed(configuration, links, stack)
    machine = _machine(options, data, ways, outside, configuration, datapath.library, stack)
    learnt = combined.sources(held, configuration, stack, *hosts.learners, dialling.learn)
    learnt |= ways.sources() | outside.sources | {"bounded-source": bounds.learn, "job": machine[2].learn}
    states = _states(executor, frr, configuration, hosts, learnt)
    beside = diagnosing.beside(configuration, datapath, links, hosts.leases, machine[-1], ways, stack)
    counting = Drops(configuration, datapath, links, bounds.dropped), Room(capacity, lines.capacity)
    logged = [log(secrets, configuration.running, options.journal_reader) for log in (LogTail, LogLines)]
    parts = (handlers, secrets, states, *beside, *counting, *machine, *outside.answering, *logged)
    _serve(options, parts, handlers.closed, stack)
    stack.callback(_stop, clients)
    outside.fetching.begin(configuration)
    following_hosts = hosts.followers(configuration)
    _begin((reconciler, guard, *following_hosts, protocols.keeping(routing_protocols, configuration)), stack)
    found.probe(partial(_without_pacing, modes, configuration), after_s=options.probe_after_s)
    stack.callback(found.stop)
    log.info("listening on %s (datapath %s)", options.socket, datapath.reused)
    notify("READY=1")
    wait_for_signal()
    notify("STOPPING=1")
    log.info("stopping; the kernel goes on as it is")


Thread = Reconciler | Guard | KnownHosts | LeaseNames | PrefixFollower | KeptRoutes


def _begin(threads: Sequence[Thread], stack: ExitStack) -> None:
    for thread in threads:
        thread.start()
        stack.callback(thread.stop)


def _at_lines(datapath: Datapath, stack: ExitStack) -> tuple[ClassLines, ShareController]:
    """What reads and writes the lines of classes."""
    lines, share = ClassLines(datapath), ShareController(datapath)
    stack.callback(lines.close)
    stack.callback(share.stop)
    return lines, share


def _machine(
    options: argparse.Namespace,
    data: Callable[[], dict[str, Any] | None],
    uplinks: UplinkMonitor,
    outside: Outside,
    configuration: Configuration,
    library: str,
    stack: ExitStack,
) -> tuple[Updates, Appliance, Jobs, Sampler]:
    updates = Updates(
        rauc.Rauc(options.rauc_config), options.database.parent / "uploads", options.update_dir, restart
    )
    machine = Machine(data, data_partition.request_reset, restart, power_off)
    looking = diagnosing.sampler(options.look_interval_s, uplinks, outside, configuration, library, stack)
    memory = JobMemory(lasting(options) / "jobs.json")
    restarting, hours = partial(updates.restart, "a job"), lambda: local_zone(outside.zone.file)
    jobs = Jobs(outside.jobs, memory, restarting, lambda: configuration.loaded, zone=hours)
    stack.callback(jobs.stop)
    jobs.start()
    return updates, Appliance(machine, updates.busy), jobs, looking


def _executor(
    options: argparse.Namespace,
    links: Links,
    tables: TablesBackend,
    ports: PortsBackend,
    modes: PortModes,
    frr: Frr,
    parts: Mapping[str, Any],
) -> Executor:
    state_dir = state_folder(options)
    rules = FirewallBackend()
    return Executor(
        sets=SetsBackend(rules.forget_flows),
        firewall=rules,
        network=NetworkBackend(links, state_dir / "original-mtus.json"),
        tuning=TuningBackend(
            tuning.load(options.tuning),
            links,
            boot=BootParameters(lasting(options) / "boot-parameters") if options.sets_start else None,
            sets_units=options.sets_start,
        ),
        tables=tables,
        htb=HtbBackend(modes),
        ports=ports,
        forwarding=ForwardingBackend(),
        routes=RoutesBackend(frr),
        **parts,
        leases=Leases(state_dir / "leases.json"),
        delegations=Delegations(state_dir / "delegations.json", lasting(options) / "subnets.json"),
        known_uplinks=Uplinks(state_dir / "uplinks.json"),
        uplinks=UplinksBackend(links),
        ntp=NtpBackend(daemon_folder(state_dir) / "ntp", sets_clock=options.sets_clock),
    )


def _states(
    executor: Executor,
    frr: Frr,
    configuration: Configuration,
    hosts: HostServices,
    of_links: Mapping[Kind, Learn],
) -> States:
    counted = {
        "nat-rule": executor.firewall.connections,
        "zone": executor.firewall.zones,
        "zone-policy": executor.firewall.policies,
        **learning.sources(frr, configuration, executor.firewall.counted),
        "dhcp-reservation": joined(hosts.dhcp.learn_reservations, hosts.dhcp_relayed.learn_reservations),
        "dhcpv6-reservation": hosts.dhcp6.learn_reservations,
        "dns-forward": hosts.dns.learn_forwards,
    }
    learnt = {**executor.learners(), **of_links}
    learnt["set"] = joined(counted["set"], learnt["set"])
    learnt["management"] = joined(learnt["management"], executor.firewall.management)
    return States({**counted, **protocols.sources(frr, configuration), **learnt})


def _secrets(options: argparse.Namespace) -> Secrets:
    """Their key lies where the copy of what runs does: in a folder of root's own that lasts."""
    return Secrets(lasting(options))


def _slots(capacity: Capacity, store: StoreClient, last_good: LastGood) -> int:
    """With room for the queues that ran last, and for the store's where it answers."""

    def stored() -> int:
        try:
            return store.count("queue")
        except Problem:
            return 0

    return capacity.slots(partial(last_good.count, "queue"), stored)


def _reconciler(
    options: argparse.Namespace,
    configuration: Configuration,
    events: Events,
    links: Links,
    clients: tuple[LeaseClients, ...],
    share: ShareController,
    routing: Routing,
    sending: Sending,
) -> Reconciler:
    """With what it looks after besides the configuration: sizes of merged packets, and leases once loaded."""
    merging = Merging(
        links, lambda: dict(configuration.executor.decisions), lambda: share.state().slowest_bps
    )
    return Reconciler(
        configuration,
        events,
        scan_s=options.scan_interval_s,
        check_s=options.check_interval_s,
        fit_sizes=merging.fit,
        follow_leases=partial(_follow_leases, clients, configuration),
        keep_early=_early_start(options.early_file, configuration),
        routing=routing,
        sending=sending,
    )


def _clients(links: Links, executor: Executor, configuration: Configuration) -> tuple[LeaseClients, ...]:
    """Who asks providers for addresses and prefixes."""
    return (
        DhcpClients(links, executor.leases, configuration.take_lease),
        Dhcp6Clients(links, executor.delegations, configuration.follow_delegations),
    )


def _stop(clients: tuple[LeaseClients, ...]) -> None:
    for each in clients:
        each.stop()


def _follow_leases(clients: tuple[LeaseClients, ...], configuration: Configuration) -> None:
    if configuration.loaded:
        for each in clients:
            each.follow(configuration.compiled.of(NETWORK))


def _guard(
    options: argparse.Namespace,
    datapath: Datapath,
    configuration: Configuration,
    reconciler: Reconciler,
    routing: Callable[[], object],
    stack: ExitStack,
) -> Guard:
    rules = RuleEvents()
    stack.callback(rules.close)
    return Guard(
        datapath,
        rules,
        configuration.drift,
        reconciler.look,
        mount_pins=partial(ground.mount_pins, options.pin_dir),
        routing=lambda: (routing(), configuration.executor.daemons()),
        period_s=options.guard_interval_s,
    )


def _tracked(executor: Executor, stack: ExitStack) -> Callable[[], dict[str, Any] | None]:
    found = Connections(lambda: executor.firewall.uncounted_reason, lambda: executor.firewall.missing_helpers)
    found.start()
    stack.callback(found.stop)
    return found.to_json


def _early_start(path: Path | None, configuration: Configuration) -> Callable[[], None]:
    return (lambda: None) if path is None else partial(early.EarlyStart(path).follow, configuration)


class _Answers(Protocol):
    """What has methods of the agent's socket."""

    def table(self) -> Mapping[str, Handler]: ...


def _serve(
    options: argparse.Namespace,
    parts: Sequence[_Answers],
    on_close: Callable[[Peer], None],
    stack: ExitStack,
) -> None:
    """Root may connect, and the user of the API where one is named."""
    server = AgentServer(
        options.socket,
        {name: handler for part in parts for name, handler in part.table().items()},
        allowed_uids={0} if options.api_uid is None else {0, options.api_uid},
        socket_uid=-1 if options.api_uid is None else options.api_uid,
        socket_mode=0o600,
        on_close=on_close,
    )
    server.start()
    stack.callback(server.stop)


def _without_pacing(modes: PortModes, configuration: Configuration, reason: str) -> None:
    """fq is there but does not pace: the ports fall back to policing."""
    modes.refuse("fq", reason)
    configuration.reconcile(("ports",))

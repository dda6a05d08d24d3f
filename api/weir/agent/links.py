# SPDX-License-Identifier: Apache-2.0
"""Links that are made of others: who brings them to the kernel, and what is learnt about them and tunnels."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from weir.adapters import bonds, bridges
from weir.adapters.netlink import Links
from weir.adapters.wireguard import Tunnels
from weir.agent import dialler, tunnels
from weir.agent.configuration import Configuration
from weir.agent.dialler import Dialler
from weir.agent.secrets import Secrets
from weir.backends.bonds import BondsBackend
from weir.backends.bridges import BridgesBackend
from weir.backends.daemons import Learn
from weir.backends.dhcp_snooping import DhcpSnoopingBackend
from weir.kinds.interface import MAX_STATIONS
from weir.model.objects import Kind
from weir.model.problem import Problem
from weir.parts.bonds import BONDS, BondSpec
from weir.parts.bridges import BRIDGES, BridgeSpec
from weir.parts.dhcp_snooping import DHCP_SNOOPING
from weir.parts.part import EntriesPart
from weir.parts.pppoe import PPPOE
from weir.parts.wireguard import WIREGUARD

log = logging.getLogger(__name__)
Spec = TypeVar("Spec")


def backends(
    held: Tunnels, links: Links, state_dir: Path, secrets: Secrets, dialling: Dialler
) -> dict[str, Any]:
    """By the name of their part."""
    return {
        BONDS.name: BondsBackend(),
        BRIDGES.name: BridgesBackend(),
        DHCP_SNOOPING.name: DhcpSnoopingBackend(),
        PPPOE.name: dialler.backend(dialling, secrets),
        WIREGUARD.name: tunnels.backend(held, links, state_dir, secrets),
    }


def sources(
    held: Tunnels, configuration: Configuration, stack: ExitStack, *others: Learn
) -> dict[Kind, Learn]:
    """The state of what is learnt about links and tunnels, by kind; `others` know more of interfaces."""

    def wanted(part: EntriesPart[Spec]) -> Mapping[str, Spec]:
        return configuration.compiled.of(part) if configuration.loaded else {}

    found = tunnels.sources(held, configuration, stack)
    bridged = of_wanted(lambda: wanted(BRIDGES), _learnt_of_bridges)
    bonded = of_wanted(lambda: wanted(BONDS), learnt_of_bonds)
    given = configuration.executor.delegations.learn
    return {**found, "interface": together(found["interface"], bridged, bonded, given, *others)}


def together(*learners: Learn) -> Learn:
    """What several know of the objects of one kind; no two know the same field. Of one that does not answer
    nothing is known."""

    def learn(ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for one in learners:
            try:
                learnt = one(ids)
            except Problem as problem:
                log.info("%s", problem.message)
                continue
            for name, fields in learnt.items():
                found.setdefault(name, {}).update(fields)
        return found

    return learn


def of_wanted(
    wanted: Callable[[], Mapping[str, Spec]], ask: Callable[[Mapping[str, Spec]], dict[str, dict[str, Any]]]
) -> Learn:
    """What `ask` knows of the configured ones that are asked for. Raises what `ask` does."""

    def learn(ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        asked = {name: spec for name, spec in wanted().items() if ids is None or name in ids}
        return ask(asked) if asked else {}

    return learn


def _learnt_of_bridges(asked: Mapping[str, BridgeSpec]) -> dict[str, dict[str, Any]]:
    held, links = bridges.read()
    found: dict[str, dict[str, Any]] = {}
    for name, spec in asked.items():
        if name in held:
            ports = [_port(name, port.ifname, links.get(port.ifname)) for port in spec.ports]
            root = held[name].root if held[name].settings.get("stp_state") else None
            found[name] = {"ports": ports, "root": root, "station_count": 0, "stations": []}
    for station in bridges.stations():
        known = found.get(station.bridge)
        if known is not None:
            known["station_count"] += 1
            if known["station_count"] <= MAX_STATIONS:
                vlan = station.vlan or None
                row = {"mac": station.mac, "port": station.port, "vlan": vlan, "age_s": station.age_s}
                known["stations"].append(row)
    return found


def _port(bridge: str, name: str, link: bridges.HeldLink | None) -> dict[str, Any]:
    if link is None:
        return {"interface": name, "state": "not there"}
    return {"interface": name, "state": link.state if link.master == bridge else "no port"}


def learnt_of_bonds(asked: Mapping[str, BondSpec]) -> dict[str, dict[str, Any]]:
    """The state of each of them that is there. Raises `Unavailable`."""
    held, links = bonds.read()
    found: dict[str, dict[str, Any]] = {}
    for name, spec in asked.items():
        if name in held:
            members = [_member(name, member.ifname, links.get(member.ifname)) for member in spec.members]
            found[name] = {
                "members": members,
                "active_count": sum(member["state"] == "active" for member in members),
                "active_member": held[name].active or None,
                "partner": held[name].partner or None,
            }
    return found


def _member(bond: str, name: str, link: bonds.HeldLink | None) -> dict[str, Any]:
    if link is None:
        return {"interface": name, "state": "not there"}
    if link.master != bond or link.member is None:
        return {"interface": name, "state": "no member"}
    return {"interface": name, **link.member._asdict()}

# SPDX-License-Identifier: Apache-2.0
"""Links that are made of others: who brings them to the kernel, and what is learnt about them and tunnels."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from weir.adapters import bridges
from weir.adapters.netlink import Links
from weir.adapters.wireguard import Tunnels
from weir.agent import tunnels
from weir.agent.configuration import Configuration
from weir.agent.secrets import Secrets
from weir.backends.bridges import BridgesBackend
from weir.backends.daemons import Learn
from weir.kinds.interface import MAX_STATIONS
from weir.model.objects import Kind
from weir.model.problem import Problem
from weir.parts import BRIDGES, WIREGUARD
from weir.parts.bridges import BridgeSpec

log = logging.getLogger(__name__)


def backends(held: Tunnels, links: Links, state_dir: Path, secrets: Secrets) -> dict[str, Any]:
    """By the name of their part."""
    return {
        BRIDGES.name: BridgesBackend(),
        WIREGUARD.name: tunnels.backend(held, links, state_dir, secrets),
    }


def sources(held: Tunnels, configuration: Configuration, stack: ExitStack) -> dict[Kind, Learn]:
    """The state of what is learnt about links and tunnels, by kind."""

    def wanted() -> Mapping[str, BridgeSpec]:
        return configuration.compiled.of(BRIDGES) if configuration.loaded else {}

    found = tunnels.sources(held, configuration, stack)
    return {**found, "interface": together(found["interface"], BridgeStates(wanted).interfaces)}


def together(*learners: Learn) -> Learn:
    """What several know of the objects of one kind; no two know the same field."""

    def learn(ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for one in learners:
            for name, fields in one(ids).items():
                found.setdefault(name, {}).update(fields)
        return found

    return learn


class BridgeStates:
    """What is known of bridges, for `weir.agent.states`."""

    def __init__(self, wanted: Callable[[], Mapping[str, BridgeSpec]]) -> None:
        self._wanted = wanted

    def interfaces(self, ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        asked = {name: spec for name, spec in self._wanted().items() if ids is None or name in ids}
        if not asked:
            return {}
        try:
            return _learnt(asked)
        except Problem as problem:  # nothing is known then
            log.info("%s", problem.message)
            return {}


def _learnt(asked: Mapping[str, BridgeSpec]) -> dict[str, dict[str, Any]]:
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

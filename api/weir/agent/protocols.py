# SPDX-License-Identifier: Apache-2.0
"""Routing protocols in the agent: the daemons that FRR does them with, and what these learn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from weir.adapters import frr_daemons
from weir.adapters.frr import Frr
from weir.adapters.netlink import Links
from weir.agent.configuration import Configuration
from weir.agent.kept_routes import KeptRoutes
from weir.agent.options import daemon_folder
from weir.agent.secrets import Secrets
from weir.backends import bgp_sessions, ospf_restart, ospf_sessions
from weir.backends.backend import Look
from weir.backends.daemons import Learn
from weir.backends.routing import RoutingBackend
from weir.model.objects import Kind
from weir.parts.effect import Effect
from weir.parts.routing import ROUTING
from weir.parts.routing.block import Block, Peer

_OF_OSPF = frozenset(("bfdd", "ospfd"))


def backend(run_dir: Path, state_dir: Path, frr: Frr, links: Links, secrets: Secrets) -> RoutingBackend:
    """What FRR does beside static routes."""
    return RoutingBackend(
        frr,
        frr_daemons.daemons(run_dir, daemon_folder(state_dir)),
        lambda place, value: secrets.key.open(place, value),
        partial(_effects, frr),
        {"ospfd": partial(ospf_restart.revive, frr, links)},
        partial(ospf_restart.is_unfit, frr),
    )


def _effects(frr: Frr, look: Look[Any, Mapping[str, Block], Any]) -> Iterator[Effect]:
    return chain(bgp_sessions.effects(frr, look), ospf_sessions.effects(frr, look))


def keeping(backend: RoutingBackend, configuration: Configuration) -> KeptRoutes:
    """What keeps the routes of an ospfd that ends."""

    def daemons() -> tuple[object, ...] | None:
        if not configuration.loaded:
            return None
        needed = {name for block in configuration.compiled.of(ROUTING).values() for name in block.daemons}
        return backend.identities(needed & _OF_OSPF) if "ospfd" in needed else ()

    return KeptRoutes(daemons)


def sources(frr: Frr, configuration: Configuration) -> dict[Kind, Learn]:
    """The state of what protocols learn, by kind."""

    def blocks() -> Mapping[str, Block]:
        return configuration.compiled.of(ROUTING) if configuration.loaded else {}

    def peers() -> Iterable[Peer]:
        return (peer for block in blocks().values() for peer in block.peers)

    return {
        "bgp-neighbor": bgp_sessions.learn(frr, peers),
        "ospf-interface": ospf_sessions.learn(frr, lambda: ospf_sessions.devices(blocks())),
    }

# SPDX-License-Identifier: Apache-2.0
"""Routing protocols in the agent: the daemons that FRR does them with, and what these learn."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from weir.adapters import frr_daemons
from weir.adapters.frr import Frr
from weir.agent.configuration import Configuration
from weir.agent.secrets import Secrets
from weir.agent.states import Learn
from weir.backends import bgp_sessions
from weir.backends.routing import RoutingBackend
from weir.model.objects import Kind
from weir.parts import ROUTING
from weir.parts.routing.block import Peer


def backend(run_dir: Path, state_dir: Path, frr: Frr, secrets: Secrets) -> RoutingBackend:
    """What FRR does beside static routes."""
    return RoutingBackend(
        frr,
        frr_daemons.daemons(run_dir, state_dir),
        lambda place, value: secrets.key.open(place, value),
        partial(bgp_sessions.effects, frr),
    )


def sources(frr: Frr, configuration: Configuration) -> dict[Kind, Learn]:
    """The state of what protocols learn, by kind."""

    def peers() -> Iterable[Peer]:
        blocks = configuration.compiled.of(ROUTING).values() if configuration.loaded else ()
        return (peer for block in blocks for peer in block.peers)

    return {"bgp-neighbor": bgp_sessions.learn(frr, peers)}

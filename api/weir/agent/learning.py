# SPDX-License-Identifier: Apache-2.0
"""What is learnt about kinds that have neither a daemon nor a protocol of their own."""

from __future__ import annotations

from collections.abc import Mapping

from weir.adapters.frr import Frr
from weir.agent.configuration import Configuration
from weir.backends import routes_learnt, sets_learnt
from weir.backends.daemons import Learn
from weir.compiler import Compiled
from weir.model.objects import Kind
from weir.model.problem import Unavailable
from weir.parts.routes import ROUTES, RouteSpec
from weir.parts.sets import Contents


def sources(frr: Frr, configuration: Configuration, counted: Learn) -> dict[Kind, Learn]:
    """Each knows the objects that are configured now, and raises `Unavailable` while that is not known.
    `counted` are the packets of firewall rules."""

    def compiled() -> Compiled:
        if not configuration.loaded:
            raise Unavailable("the agent has no configuration yet", code="starting")
        return configuration.compiled

    def heads() -> Contents:
        return configuration.executor.contents(compiled())

    def routes() -> Mapping[str, RouteSpec]:
        return compiled().of(ROUTES)

    return {
        "set": sets_learnt.learn(heads),
        "firewall-rule": sets_learnt.learn_rules(heads, counted),
        "static-route": routes_learnt.learn(frr, routes),
    }

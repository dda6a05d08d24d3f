# SPDX-License-Identifier: Apache-2.0
"""meter: what lookups of routes and listening sockets cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

from weir.probes.library import told
from weir.probes.lookup_meter import LookupMeter, route_count
from weir.probes.output import Output
from weir.tools.meter import Meter

GAP_S = 1.0
ROUTES = "IPv4 routes"


def run(asked: Meter, output: Output, confine: Callable[[], None]) -> None:
    said = told()
    with closing(LookupMeter(said["library"])) as meter:
        confine()
        begun_s = time.monotonic()
        for second in range(asked.count):
            output.wait(None, begun_s + second * GAP_S)
            try:
                times, routes = meter.routes(), route_count()
                output.tell("lookup", what="route, one destination", took_ns=times.fixed_ns, entries=routes)
                output.tell("lookup", what="route, random ones", took_ns=times.random_ns, entries=routes)
            except OSError as error:
                output.tell("unseen", what=ROUTES, why=error.strerror or str(error))
            for address, sockets in said["listeners"]:
                took_ns = meter.listener(address)
                output.tell("lookup", what=f"listener {address}", took_ns=took_ns, entries=sockets)

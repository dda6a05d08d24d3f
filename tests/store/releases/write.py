# SPDX-License-Identifier: Apache-2.0
"""Writes what a release leaves behind for the tests of later ones: its database as SQL text, and a backup.

In a checkout of that release, which needs no network and changes nothing else:

    PYTHONPATH=api:. build/venv/bin/python tests/store/releases/write.py FOLDER

`before-one-of` was written by the commit before interfaces became a `OneOf` (ADR 122).
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from pathlib import Path

from tests.service.fake_agent import FakeAgent
from tests.service.router import ANNA, Router
from weir.kinds.firewall import Firewall
from weir.kinds.static_route import StaticRoute
from weir.kinds.tuning import Tuning
from weir.model.interface import Interface, Vlan
from weir.model.objects import Pair, Queue, QueueType
from weir.service import ANYTHING, Edit, Service

VLAN = Vlan("eth1", 100)


def fill(router: Router) -> None:
    """Objects of every kind in several revisions, and a candidate that says two things of one interface."""
    router.put(
        Interface("eth0", role="wan", addressing="dhcp", overhead_bytes=18),
        Interface("eth1", mtu=1500, unknown="drop", reverse_path="strict"),
        Interface("acme", role="lan", addresses=("10.20.0.1/24",), vlan=VLAN, overhead_bytes=22),
        Interface("blue", vrf_table=0),
        Interface("red", vrf_table=77, disabled=True),
        QueueType("gentle", "pcq", (("pcq-classifier", "dst-address"), ("pcq-rate", "2M")), "for guests"),
    )
    router.put(
        Interface(
            "acme", role="lan", addresses=("10.20.0.1/24",), vlan=Vlan("eth1", 100, "802.1ad"), domain=3
        ),
        Interface("inner", vlan=Vlan("acme", 7), vrf="blue", description="two tags"),
        StaticRoute("r1", "10.0.0.0/8", blackhole=True),
        Firewall(allowed_wan_tcp_ports=(443,)),
        Tuning(overrides=(("fq.horizon", "1"),)),
        Queue("q1", "anna", ("10.20.0.7/32",), max_limit_bps=Pair(1_000_000, 5_000_000)),
        Queue("q2", "guests", ("acme",), queue_type=Pair("gentle", "default-small")),
    )
    staged = (
        Interface("later", vlan=Vlan("eth1", 200)),
        Interface("both", vlan=Vlan("eth1", 300), vrf_table=5),
        Interface("eth1", mtu=1400),
        QueueType("gentle", "sfq"),
    )
    router.service.candidates.stage(ANNA, [Edit(item.kind, item.id, item, ANYTHING) for item in staged])


def dump(database: Path) -> str:
    """A database as SQL text, with what says whose it is and which version."""
    with sqlite3.connect(database) as connection:
        names = ("application_id", "user_version")
        found = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names}
        head = "".join(f"PRAGMA {name} = {value};\n" for name, value in found.items())
        return "-- SPDX-License-Identifier: Apache-2.0\n" + head + "\n".join(connection.iterdump()) + "\n"


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        database, socket = Path(place) / "weir.db", Path(place) / "agent.sock"
        service = Service.open(database, socket)
        with FakeAgent(socket, database) as agent:
            router = Router(service, agent, database)
            fill(router)
            _, backup = service.backup.write(ANNA, "router")
        service.close()
        (folder / "weir.sql").write_text(dump(database), encoding="utf-8")
        (folder / "backup.jsonl").write_bytes(backup)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

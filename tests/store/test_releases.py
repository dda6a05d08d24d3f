# SPDX-License-Identifier: Apache-2.0
"""What earlier releases left behind is read: databases with all revisions and candidates, and backups.

`releases/write.py` says how each was written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.fake_agent import FakeAgent
from tests.service.router import ANNA, Router
from weir.kinds.tuning import Tuning
from weir.model.codec import to_json
from weir.model.interface import Interface, Vlan
from weir.model.objects import QueueType
from weir.service import Service

FOLDER = Path(__file__).parent / "releases" / "before-one-of"
CASES = {"eth0": "ethernet", "eth1": "ethernet", "acme": "vlan", "inner": "vlan", "blue": "vrf", "red": "vrf"}


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Router]:
    """A router of this release on the database of that one."""
    database, socket = tmp_path / "weir.db", tmp_path / "agent.sock"
    with sqlite3.connect(database) as connection:
        connection.executescript((FOLDER / "weir.sql").read_text(encoding="utf-8"))
    connection.close()
    service = Service.open(database, socket)
    with FakeAgent(socket, database) as agent:
        yield Router(service, agent, database)
    service.close()


def test_what_runs_is_read_and_says_what_each_interface_is(router: Router) -> None:
    found = {object_id: item for (kind, object_id), item in router.running.items() if kind == "interface"}
    assert {name: to_json(item)["type"] for name, item in found.items()} == CASES
    assert found["acme"] == Interface(
        "acme", "lan", ("10.20.0.1/24",), vlan=Vlan("eth1", 100, "802.1ad"), domain=3
    )
    assert router.running["tuning", "tuning"] == Tuning(overrides=(("fq.horizon", "1"),))
    gentle = router.running["queue-type", "gentle"]
    assert isinstance(gentle, QueueType) and gentle.options[1] == ("pcq-rate", "2M")


def test_its_revisions_are_read_and_restored(router: Router) -> None:
    diff = router.service.revisions.diff(ANNA, 1, 2)
    (acme,) = (item for item in diff.objects if item.id == "acme")
    assert {field.field for field in acme.fields} == {"domain", "overhead_bytes", "vlan.protocol"}
    router.service.revisions.restore(ANNA, 1)
    acme_now = router.running["interface", "acme"]
    assert isinstance(acme_now, Interface) and acme_now.vlan == Vlan("eth1", 100)
    assert ("interface", "inner") not in router.running


def test_its_candidate_is_read_also_where_it_says_two_things_of_an_interface(router: Router) -> None:
    candidates = router.service.candidates
    staged = {item.id: item for item in candidates.diff(ANNA).diff.objects}
    assert staged.keys() == {"later", "both", "eth1", "gentle"}
    assert [item.code for item in candidates.validate(ANNA).findings if item.severity == "error"] == [
        "not-of-a-vrf"
    ]
    candidates.unstage(ANNA, "interface", "both")
    candidates.commit(ANNA, "the rest of it")
    later = router.running["interface", "later"]
    assert isinstance(later, Interface) and later.vlan == Vlan("eth1", 200)


def test_its_backup_is_read(router: Router) -> None:
    data = (FOLDER / "backup.jsonl").read_bytes()
    assert len(router.service.backup.read(ANNA, data).edits) == 0
    router.delete("q1")
    router.service.backup.restore(ANNA, data)
    assert ("queue", "q1") in router.running


def test_this_release_stores_what_that_one_reads(router: Router) -> None:
    """What an object is made as follows from its fields: it is not stored, so there is a way back."""
    router.put(Interface("new", vlan=Vlan("eth1", 400)), Interface("green", vrf_table=0))
    with sqlite3.connect(router.database) as connection:
        rows = connection.execute("SELECT body FROM object_version WHERE kind = 'interface'").fetchall()
    connection.close()
    assert rows and not any('"type"' in body for (body,) in rows)

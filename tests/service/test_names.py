# SPDX-License-Identifier: Apache-2.0
"""Names of interfaces that mean something else are refused; those that are there from before go on."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from tests.service.router import ANNA, Router
from weir.compiler.allocation import SlotAllocation
from weir.compiler.full import compile_document
from weir.model.document import Change, Document
from weir.model.interface import Interface
from weir.model.objects import Queue
from weir.model.problem import Invalid
from weir.model.rules import validate, validate_many
from weir.service import ABSENT, Edit, Service
from weir.store import ConfigStore

RESERVED = ["lo", "all", "default", "Default", "Null0", "null0", "nu", "blackhole", "reject", "any", "vrf"]


@pytest.mark.parametrize("name", RESERVED)
@pytest.mark.parametrize("vrf_table", [None, 0])
def test_a_name_that_means_something_else_is_refused(
    router: Router, name: str, vrf_table: int | None
) -> None:
    """FRR drops what is routed to Null0, and /proc/sys/net/ipv4/conf/all is every interface."""
    item = Interface(name, vrf_table=vrf_table)
    with pytest.raises(Invalid) as caught:
        router.service.config.commit(ANNA, [Edit("interface", name, item, ABSENT)])
    assert caught.value.code == "reserved-name"
    assert name in caught.value.message
    change = Change("interface", name, None, item)
    many, _ = validate_many(Document([item]), [change])
    assert [finding.code for finding in many] == ["reserved-name"]


@pytest.mark.parametrize("name", ["lo0", "all1", "nuc", "null00", "defaults", "eth0", "tag7"])
def test_a_name_that_only_resembles_one_is_taken(name: str) -> None:
    item = Interface(name)
    assert validate(Document([item]), [Change("interface", name, None, item)]) == []


def test_one_that_is_there_from_before_stops_nothing(tmp_path: Path) -> None:
    """Neither a start nor another change; it can be changed and deleted."""
    database = tmp_path / "weir.db"
    held = [Interface("lo", addresses=("192.0.2.1/32",)), Interface("all", vrf_table=1001)]
    store = ConfigStore.open(database, create=True)
    with store.write() as transaction:
        changes = [Change("interface", item.id, None, item) for item in held]
        transaction.append(kind="commit", author="before", source="", message="", changes=changes)
    store.close()
    service = Service.open(database, tmp_path / "agent.sock")
    try:
        with service.config.document(ANNA) as document:
            assert {item.id for item in document.interfaces()} == {"lo", "all"}
            running = document.copy()
        for edit in (
            Edit("queue", "q1", Queue("q1", "q1"), ABSENT),
            Edit("interface", "lo", Interface("lo", description="loopback")),
            Edit("interface", "all", None),
        ):
            findings = service.config.check(ANNA, [edit])
            assert not [item for item in findings if item.severity == "error"]
    finally:
        service.close()
    assert compile_document(running, SlotAllocation(), datetime(2026, 1, 1)).wanted


def test_a_rollback_may_bring_one_back() -> None:
    """The agent looks at what it applies without names: the person who asked is gone."""
    item = Interface("lo")
    assert validate(Document([item]), [Change("interface", "lo", None, item)], errors_only=True) == []

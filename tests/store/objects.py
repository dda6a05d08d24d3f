# SPDX-License-Identifier: Apache-2.0
"""Objects for store tests, plain and from hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import strategies as st

from weir.kinds.static_route import StaticRoute
from weir.model.document import Change
from weir.model.objects import ConfigObject, Pair, Queue
from weir.store import ConfigStore

IDS = [f"q{number}" for number in range(1, 7)]


def queue(object_id: str, **fields: object) -> Queue:
    return Queue(**{"id": object_id, "name": f"name of {object_id}", **fields})  # type: ignore[arg-type]


def create(*items: ConfigObject) -> list[Change]:
    return [Change(item.kind, item.id, None, item) for item in items]


def commit(store: ConfigStore, changes: Sequence[Change], author: str = "anna") -> int:
    with store.write() as transaction:
        return transaction.append(kind="commit", author=author, message="", changes=changes)


def content(store: ConfigStore, revision: int | None = None) -> dict[tuple[str, str], ConfigObject]:
    return {(item.kind, item.id): item for item in store.objects(revision)}


def new_store(folder: Path) -> ConfigStore:
    return ConfigStore.open(folder / "weir.db", create=True)


names = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=8).filter(str.strip)
prefixes = st.sampled_from(
    [
        "10.0.0.0/8",
        "10.1.0.0/16",
        "10.1.2.0/24",
        "10.1.2.3/32",
        "0.0.0.0/0",
        "2001:db8::/32",
        "2001:db8:1::/48",
    ]
)
rates = st.integers(0, 10**12)
queues = st.builds(
    Queue,
    id=st.sampled_from(IDS),
    name=names,
    target=st.lists(prefixes | st.just("ether1"), max_size=3, unique=True).map(tuple),
    parent=st.none() | st.sampled_from(IDS),
    position=st.integers(0, 30),
    max_limit_bps=st.builds(Pair, rates, rates),
    comment=names | st.just(""),
    disabled=st.booleans(),
)
routes = st.builds(
    StaticRoute, id=st.sampled_from(["r1", "r2"]), destination=prefixes, blackhole=st.just(True)
)
items = st.one_of(queues, queues, routes)

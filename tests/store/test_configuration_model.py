# SPDX-License-Identifier: Apache-2.0
"""The store against a dict: whatever is done, every revision reads back as it was."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.store.objects import IDS, commit, content, items, new_store
from weir.model.document import Change
from weir.model.objects import ConfigObject, Queue
from weir.model.prefix import looks_like_prefix, parse_prefix
from weir.store import ConfigStore, Listing

Content = dict[tuple[str, str], ConfigObject]
ADDRESSES = ["10.1.2.3", "10.1.9.9", "192.0.2.1", "2001:db8:1::5", "2001:db8:ffff::1", "fe80::1"]
NETWORKS = ["0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.1.2.3/32", "2001:db8::/32", "::/0"]


class StoreIsADictPerRevision(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="weir-store-model-"))
        self.store = new_store(self.folder)
        self.revisions: list[Content] = [{}]

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)

    @property
    def now(self) -> Content:
        return self.revisions[-1]

    @rule(wanted=st.lists(items, max_size=5), gone=st.sets(st.sampled_from(IDS), max_size=3))
    def commit_changes(self, wanted: list[ConfigObject], gone: set[str]) -> None:
        after = {**self.now, **{(item.kind, item.id): item for item in wanted}}
        for object_id in gone:
            after.pop(("queue", object_id), None)
        self.append(after)

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        number = data.draw(st.integers(0, len(self.revisions) - 1))
        self.append(dict(self.revisions[number]))

    @rule(wanted=st.lists(items, min_size=1, max_size=3))
    def fail_before_commit(self, wanted: list[ConfigObject]) -> None:
        changes = [Change(item.kind, item.id, self.now.get((item.kind, item.id)), item) for item in wanted]
        distinct = {(change.kind, change.id): change for change in changes}
        try:
            with self.store.write() as transaction:
                transaction.append(kind="commit", author="a", message="", changes=[*distinct.values()])
                raise InterruptedError
        except InterruptedError:
            pass

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = ConfigStore.open(self.folder / "weir.db")

    def append(self, after: Content) -> None:
        keys = [key for key in {**self.now, **after} if self.now.get(key) != after.get(key)]
        changes = [
            Change(kind, name, self.now.get((kind, name)), after.get((kind, name))) for kind, name in keys
        ]  # type: ignore[arg-type]
        assert commit(self.store, changes) == len(self.revisions)
        self.revisions.append(after)

    @invariant()
    def head_is_the_newest(self) -> None:
        assert self.store.head() == len(self.revisions) - 1
        assert content(self.store) == self.now

    @rule()
    def every_revision_reads_back(self) -> None:
        for number, wanted in enumerate(self.revisions):
            assert content(self.store, number) == wanted

    @rule(data=st.data())
    def differences_turn_one_into_the_other(self, data: st.DataObject) -> None:
        numbers = st.integers(0, len(self.revisions) - 1)
        a, b = data.draw(numbers), data.draw(numbers)
        turned = dict(self.revisions[a])
        for change in self.store.changes_between(a, b):
            key = (change.kind, change.id)
            assert turned.get(key) == change.old and change.old != change.new
            if change.new is None:
                del turned[key]
            else:
                turned[key] = change.new
        assert turned == self.revisions[b]

    @rule(object_id=st.sampled_from(IDS))
    def history_tells_every_step(self, object_id: str) -> None:
        key = ("queue", object_id)
        wanted = [
            (number, before.get(key), after.get(key))
            for number, (before, after) in enumerate(zip(self.revisions, self.revisions[1:], strict=False), 1)
            if before.get(key) != after.get(key)
        ][::-1]
        events = self.store.events("queue", object_id, None, 100)
        assert [(event.revision.number, event.old, event.new) for event in events] == wanted

    @rule(
        sort=st.sampled_from(["position", "name", "id", "max_limit_upload", "max_limit_download"]),
        descending=st.booleans(),
        limit=st.integers(1, 4),
        parent=st.sampled_from(["any", None, *IDS[:2]]),
        disabled=st.none() | st.booleans(),
    )
    def pages_together_are_the_sorted_list(
        self, sort: str, descending: bool, limit: int, parent: str | None, disabled: bool | None
    ) -> None:
        def key(item: Queue) -> tuple[object, str]:
            limits = {"max_limit_upload": item.max_limit_bps.upload}
            limits["max_limit_download"] = item.max_limit_bps.download
            found = limits[sort] if sort in limits else getattr(item, sort)
            return found.encode() if isinstance(found, str) else found, item.id

        wanted = [
            item
            for item in self.now.values()
            if isinstance(item, Queue)
            and parent in ("any", item.parent)
            and disabled in (None, item.disabled)
        ]
        wanted.sort(key=key, reverse=descending)
        listing = Listing("queue", limit, sort=f"{'-' * descending}{sort}", parent=parent, disabled=disabled)
        assert read_all(self.store, listing) == wanted

    @rule(address=st.sampled_from([*ADDRESSES, *NETWORKS]))
    def an_address_finds_the_queues_that_cover_it_or_are_inside(self, address: str) -> None:
        wanted = parse_prefix(address)

        def touches(text: str) -> bool:
            target = parse_prefix(text)
            return target.covers(wanted) or wanted.covers(target)

        touching = {
            item.id
            for item in self.now.values()
            if isinstance(item, Queue)
            and any(looks_like_prefix(text) and touches(text) for text in item.target)
        }
        assert {item.id for item in self.store.page(Listing("queue", text=address)).items} == touching

    @rule(text=st.sampled_from(["q1", "NAME", "q", "ether", "zzz", "0/16"]))
    def text_finds_what_contains_it(self, text: str) -> None:
        found = self.store.page(Listing("queue", text=text)).items
        wanted = {
            item.id
            for item in self.now.values()
            if isinstance(item, Queue)
            and text.casefold() in "\n".join((item.id, item.name, item.comment, *item.target)).casefold()
        }
        assert {item.id for item in found} == wanted


def read_all(store: ConfigStore, listing: Listing) -> list[ConfigObject]:
    """All pages by cursor; the same by offset must agree."""
    found: list[ConfigObject] = []
    cursor = None
    while True:
        offset_page = store.page(Listing(**{**fields(listing), "offset": len(found)}))
        page = store.page(Listing(**{**fields(listing), "cursor": cursor}))
        assert [item.object for item in page.items] == [item.object for item in offset_page.items]
        found.extend(item.object for item in page.items)
        cursor = page.next_cursor
        if cursor is None:
            assert page.total == len(found)
            return found


def fields(listing: Listing) -> dict[str, object]:
    return {name: getattr(listing, name) for name in Listing.__slots__}


StoreIsADictPerRevision.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestStoreIsADictPerRevision = StoreIsADictPerRevision.TestCase

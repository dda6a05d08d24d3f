# SPDX-License-Identifier: Apache-2.0
"""What a commit writes, and how pages, cursors and searches behave at their edges."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.polling import until
from tests.store.objects import commit, content, create, new_store, queue
from weir.kinds.sets import Set, SetEntry
from weir.model.document import Change
from weir.model.interface import Interface
from weir.model.objects import ConfigObject, Pair
from weir.model.problem import Conflict, Invalid, NotFound
from weir.store import ConfigStore, Listing, Pending, checkpoint, versions
from weir.store.bodies import decode, encode
from weir.store.clock import boot_id, boottime_ms, wall_ms
from weir.store.listing import Totals, page
from weir.store.sums import row_sum
from weir.store.versions import ChangedVersions, lines_of
from weir.wire.protocol import Lines


@pytest.fixture
def store(tmp_path: Path) -> ConfigStore:
    return new_store(tmp_path)


def rows(store: ConfigStore, table: str) -> int:
    with store.snapshot() as connection:
        (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(count)


def test_one_change_among_many_writes_one_object_row(store: ConfigStore) -> None:
    commit(store, create(*(queue(f"q{number}", target=(f"10.0.{number}.0/24",)) for number in range(200))))
    before = rows(store, "object_version"), rows(store, "target_now")
    old = store.get("queue", "q7").object
    commit(store, [Change("queue", "q7", old, replace(old, max_limit_bps=Pair(1, 2)))])
    assert (rows(store, "object_version"), rows(store, "target_now")) == (before[0] + 1, before[1])


class Unseen(list[Change]):
    """Changes that nobody may look at any more."""

    def __iter__(self) -> Iterator[Change]:
        raise AssertionError("they were encoded before")


def test_a_commit_of_thousands_is_few_statements(store: ConfigStore) -> None:
    """Each lets go of the interpreter's lock, and gets it back after everybody else. What can be done before
    the write lock is not done under it."""
    said: list[str] = []
    many = [queue(f"q{number}", target=(f"10.0.{number >> 8}.{number & 255}/32",)) for number in range(5000)]
    faster = [replace(item, max_limit_bps=Pair(1, 2)) for item in many]
    commit(store, create(*many))
    with store.write() as transaction:
        transaction.connection.set_trace_callback(said.append)
        try:
            changes = [Change("queue", old.id, old, new) for old, new in zip(many, faster, strict=True)]
            made = ChangedVersions(changes)
            transaction.append(
                kind="commit", author="anna", message="", changes=Unseen(changes), versions=made
            )
        finally:
            transaction.connection.set_trace_callback(None)
    assert len(said) < 40
    assert content(store) == {("queue", item.id): item for item in faster}
    assert store.verify() == []


def test_sums_of_thousands_are_made_while_sqlite_writes(
    store: ConfigStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a second for 50,000 versions, under the write lock, which everybody waits for."""
    by: set[threading.Thread] = set()

    def noted(*values: object) -> int:
        by.add(threading.current_thread())
        return row_sum(*values)

    monkeypatch.setattr(versions, "row_sum", noted)
    commit(store, create(*(queue(f"q{number}") for number in range(3000))))
    assert len(by) == 1
    assert threading.current_thread() not in by
    assert store.verify() == []
    by.clear()
    commit(store, create(queue("alone")))
    assert by == {threading.current_thread()}


def written_bytes() -> int:
    """What this process has handed to write(2) and its like."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar"))


def test_a_commit_of_thousands_writes_each_page_about_once(
    store: ConfigStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a small cache each went to the log five times and more: a gigabyte for 50,000 queues."""
    monkeypatch.setattr(checkpoint.Checkpointer, "committed", lambda *_: None)
    many = [
        queue(
            f"q{number}",
            name=f"{number * 7919 % 30_011} net",
            target=(f"10.0.{number >> 8}.{number & 255}/32",),
        )
        for number in range(30_000)
    ]
    commit(store, create(*many))
    before = written_bytes()
    with store.write() as transaction:
        changes = [Change("queue", old.id, old, replace(old, max_limit_bps=Pair(1, 2))) for old in many]
        transaction.append(kind="commit", author="anna", message="", changes=changes)
        (file_bytes,) = transaction.connection.execute(
            "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
        ).fetchone()
    assert written_bytes() - before < 1.5 * file_bytes


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"])), min_size=1, max_size=5))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_stored_as_it_is(store: ConfigStore, texts: list[str]) -> None:
    items = [queue(f"t{number}", comment=text) for number, text in enumerate(texts)]
    with store.write() as transaction:
        for item in items:
            old = transaction.stored("queue", item.id)
            change = Change("queue", item.id, None if old is None else old.object, item)
            transaction.append(kind="commit", author="anna", message="", changes=[change])
    for item in items:
        assert store.get("queue", item.id).object == item
    assert store.verify() == []


def test_a_row_holds_only_what_differs_from_the_defaults() -> None:
    item = queue("q1", max_limit_bps=Pair(5, 6))
    assert encode(item) == '{"id":"q1","name":"name of q1","max_limit_bps":{"upload":5,"download":6}}'
    assert decode("queue", "q1", encode(item)) == item


def test_changes_that_do_not_fit_the_head_are_refused(store: ConfigStore) -> None:
    with pytest.raises(Conflict):
        commit(store, [Change("queue", "q1", queue("q1"), queue("q1", comment="x"))])
    assert store.head() == 0


def test_the_pending_confirmation_is_written_with_its_revision_and_rolled_back(store: ConfigStore) -> None:
    commit(store, create(queue("q1")))
    pending = Pending(
        2, 1, 60, wall_ms() + 60_000, boot_id(), boottime_ms() + 60_000, b"hash", "anna", wall_ms()
    )
    with store.write() as transaction:
        transaction.append(kind="commit", author="anna", message="", changes=create(queue("q2")))
        transaction.set_pending(pending)
    assert (store.head(), store.pending()) == (2, pending)
    with store.write() as transaction:
        number = transaction.roll_back_pending()
    assert number == 3
    assert [(change.id, change.new) for change in store.changes_between(2, 3)] == [("q2", None)]
    assert content(store) == content(store, 1)
    revision = store.revision(3)
    assert (revision.kind, revision.author, revision.restores) == ("rollback", "rollback timer", 1)
    with pytest.raises(Conflict), store.write() as transaction:
        transaction.roll_back_pending()


@pytest.mark.parametrize(
    ("same_boot", "wall_passed_s", "boot_passed_s", "left_s"),
    [
        (True, 0, 0, 60),
        (True, 10_000, 20, 40),
        (True, -10_000, 20, 40),
        (True, 0, 90, 0),
        (False, 20, 5, 40),
        (False, 90, 5, 0),
        (False, -500, 5, 60),
    ],
)
def test_the_deadline_goes_by_boot_time_and_after_a_reboot_by_the_wall(
    same_boot: bool, wall_passed_s: int, boot_passed_s: int, left_s: int
) -> None:
    pending = Pending(2, 1, 60, 1_060_000, "boot-a", 560_000, b"", "anna", 1_000_000)
    now_wall, now_boot = 1_000_000 + wall_passed_s * 1000, 500_000 + boot_passed_s * 1000
    assert pending.seconds_left(now_wall, "boot-a" if same_boot else "boot-b", now_boot) == left_s


def test_pages_hold_still_while_rows_come_and_go(store: ConfigStore) -> None:
    commit(store, create(*(queue(f"q{number:03}", position=number * 10) for number in range(1, 10))))
    first = store.page(Listing("queue", limit=4))
    assert [item.id for item in first.items] == ["q001", "q002", "q003", "q004"]
    old = store.get("queue", "q002").object
    commit(store, [Change("queue", "q002", old, None), *create(queue("q0", position=1))])
    second = store.page(Listing("queue", limit=4, cursor=first.next_cursor))
    assert [item.id for item in second.items] == ["q005", "q006", "q007", "q008"]
    assert second.total == 9


def test_totals_follow_the_head(store: ConfigStore) -> None:
    assert store.page(Listing("queue")).total == 0
    commit(store, create(queue("q1"), Interface("eth0")))
    assert (store.page(Listing("queue")).total, store.page(Listing("interface")).total) == (1, 1)


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_no_list_without_a_limit(store: ConfigStore, limit: int) -> None:
    with pytest.raises(Invalid):
        store.page(Listing("queue", limit=limit))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.text(st.characters(), max_size=40)
    | st.just("\ud800")
    | st.binary(max_size=40).map(lambda data: data.hex())
)
def test_any_cursor_text_and_sort_gives_a_page_or_a_clear_refusal(text: str) -> None:
    for listing in (
        Listing("queue", cursor=text),
        Listing("queue", text=text),
        Listing("queue", sort=text),
        Listing("queue", parent=text),
        Listing("queue", ids=[text]),
    ):
        try:
            SHARED.page(listing)
        except Invalid as problem:
            assert problem.path in ("cursor", "q", "sort") or problem.code == "bad-text"


@pytest.fixture(scope="module", autouse=True)
def _shared(tmp_path_factory: pytest.TempPathFactory) -> None:
    global SHARED
    SHARED = new_store(tmp_path_factory.mktemp("shared"))
    commit(SHARED, create(queue("q1", target=("10.0.0.0/8",)), queue("q2", parent="q1")))


SHARED: ConfigStore


def test_a_cursor_of_another_order_is_refused(store: ConfigStore) -> None:
    commit(store, create(queue("q1"), queue("q2")))
    cursor = store.page(Listing("queue", limit=1)).next_cursor
    with pytest.raises(Invalid) as caught:
        store.page(Listing("queue", cursor=cursor, sort="name"))
    assert caught.value.code == "bad-cursor"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("10.64.1.7", {"host", "net"}),
        ("10.64.1.7/32", {"host", "net"}),
        ("10.64.1.0/24", {"host", "net"}),
        ("10.64.1.9/24", {"host", "net"}),
        ("10.65.0.1", set()),
        ("2001:db8:64:7::1", {"host"}),
        ("10.64.1", {"host"}),
        ("lan0", {"port"}),
        ("NAME OF h", {"host"}),
        ("10.64.1.7/99", set()),
        ("10.64.1.7/00000000099", set()),
        ("10.64.1.7/0000000024", {"host", "net"}),
    ],
)
def test_a_search_takes_addresses_prefixes_and_text(store: ConfigStore, text: str, found: set[str]) -> None:
    commit(
        store,
        create(
            queue("host", target=("10.64.1.7/32", "2001:db8:64:7::/64")),
            queue("net", target=("10.64.0.0/16",)),
            queue("port", target=("lan0",)),
        ),
    )
    assert {item.id for item in store.page(Listing("queue", text=text)).items} == found


def test_moved_and_removed_targets_leave_the_index(store: ConfigStore) -> None:
    item = queue("q1", target=("10.0.0.1/32", "10.0.0.2/32"))
    commit(store, create(item))
    moved = replace(item, target=("10.0.0.2/32", "10.0.0.3/32"))
    commit(store, [Change("queue", "q1", item, moved)])
    assert [store.page(Listing("queue", text=f"10.0.0.{n}")).total for n in (1, 2, 3)] == [0, 1, 1]
    commit(store, [Change("queue", "q1", moved, None)])
    assert rows(store, "target_now") == 0


def test_the_highest_number_counts_what_is_gone(store: ConfigStore) -> None:
    commit(store, create(queue("q7"), queue("q12"), queue("q12x"), queue("queue99")))
    commit(store, [Change("queue", "q12", store.get("queue", "q12").object, None)])
    assert store.highest_number("queue", "q") == 12
    assert store.highest_number("static-route", "r") == 0


def test_what_does_not_exist_is_named(store: ConfigStore) -> None:
    for ask in (
        lambda: store.get("queue", "q9"),
        lambda: store.revision(5),
        lambda: store.revision(10**30),
        lambda: store.changes_between(0, 7),
        lambda: list(store.objects(3)),
    ):
        with pytest.raises(NotFound):
            ask()
    assert store.events("queue", "q9", None, 10) == []
    assert store.revisions(before=10**30, limit=5)[0].number == 0


def test_the_log_is_moved_into_the_file_beside_the_commits(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    (none,) = store._database._writer.execute("PRAGMA wal_autocheckpoint").fetchone()
    assert none == 0, "no commit waits for a checkpoint"
    before = (tmp_path / "weir.db").stat().st_size
    commit(store, create(*(queue(f"q{number}") for number in range(checkpoint.ROWS + 1))))
    until("something is moved", lambda: (tmp_path / "weir.db").stat().st_size != before)
    assert len(content(store)) == checkpoint.ROWS + 1
    store.close()
    assert not (tmp_path / "weir.db-wal").exists()


def test_each_object_of_thousands_is_encoded_once(
    store: ConfigStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For its version and for the agent, who gets arrays of them."""
    encoded: list[str] = []

    def counted(item: ConfigObject) -> str:
        encoded.append(item.id)
        return encode(item)

    monkeypatch.setattr(versions, "encode", counted)
    many = [
        SetEntry(f"e{number}", "blocked", f"10.0.{number >> 8}.{number & 255}/32") for number in range(5000)
    ]
    changes = [*create(Set("blocked"), *many), Change("set-entry", "gone", many[0], None)]
    made = ChangedVersions(changes)
    lines = list(made.lines())
    assert len(encoded) == made.count - 1 == 5001
    assert len(lines) == -(-made.count // versions.AT_ONCE)
    told = list(Lines(iter(lines).__next__, made.count, versions.AT_ONCE))
    assert told[5000]["new"]["value"] == many[4999].value
    assert told[5001] == {"kind": "set-entry", "id": "gone", "new": None}
    assert [change["id"] for change in told] == ["blocked", *(item.id for item in many), "gone"]
    assert list(lines_of(changes)) == lines, "what is only asked about is told as what is written"


class Slow(list[Change]):
    """Looked at by and by: the second piece when somebody has read the first."""

    def __init__(self, items: Iterable[Change], *, breaks: bool = False) -> None:
        super().__init__(items)
        self.was_read = threading.Event()
        self.breaks = breaks

    def __iter__(self) -> Iterator[Change]:
        for number, item in enumerate(super().__iter__()):
            if number == versions.AT_ONCE:
                assert self.was_read.wait(10), "nobody was sent the first piece while the others are encoded"
                if self.breaks:
                    raise ValueError("not encoded")
            yield item


def read_beside(changes: Slow, read: list[bytes]) -> ChangedVersions:
    def send(made: ChangedVersions) -> None:
        for line in made.lines():
            read.append(line)
            changes.was_read.set()

    with ThreadPoolExecutor(1) as helper:
        sent: list[Future[None]] = []
        try:
            return ChangedVersions(changes, lambda made: sent.append(helper.submit(send, made)))
        finally:
            sent[0].result(10)


def test_what_is_encoded_can_be_sent_while_the_rest_is() -> None:
    changes, read = Slow(create(*(queue(f"q{number}") for number in range(5000)))), []
    made = read_beside(changes, read)
    assert read == list(made.lines())
    assert sum(len(json.loads(line)) for line in read) == made.count == 5000


def test_who_is_sent_what_cannot_be_encoded_to_its_end_is_told() -> None:
    """Else it would wait for the rest for ever."""
    changes, read = Slow(create(*(queue(f"q{number}") for number in range(5000))), breaks=True), []
    with pytest.raises(RuntimeError, match="not encoded to their end"):
        read_beside(changes, read)
    assert len(read) == 1


def test_sums_that_were_made_ahead_are_those_of_that_revision_only(
    store: ConfigStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = create(*(queue(f"q{number}") for number in range(10)))
    expected = [ChangedVersions(changes).sums(number) for number in (2, 3)]
    made = ChangedVersions(changes, ahead=2)
    assert made.sums(3) == expected[1] != expected[0]
    monkeypatch.setattr(versions, "row_sum", None)
    assert made.sums(2) == expected[0]


def test_what_is_no_queue_is_not_in_the_indexes_of_queues(store: ConfigStore) -> None:
    """Each index costs each of 100,000 rows, and lists of queues still go by theirs."""
    said: list[str] = []
    with store.snapshot() as connection:
        indexes = dict(
            connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'index'").fetchall()
        )
        connection.set_trace_callback(said.append)
        page(connection, Listing("queue", sort="max_limit_upload", counted=False), Totals())
        page(connection, Listing("queue", sort="-max_limit_download", counted=False), Totals())
        page(connection, Listing("queue", parent="q1", counted=False), Totals())
        connection.set_trace_callback(None)
        plans = [str(connection.execute(f"EXPLAIN QUERY PLAN {query}").fetchall()) for query in said]
    assert [name for name, sql in indexes.items() if sql is not None and "kind = 'queue'" in sql] == [
        f"object_now_{what}" for what in ("parent", "upload", "download")
    ]
    for plan, what in zip(plans, ("upload", "download", "parent"), strict=True):
        assert f"object_now_{what} " in plan and "TEMP B-TREE" not in plan

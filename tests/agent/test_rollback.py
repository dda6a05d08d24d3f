# SPDX-License-Identifier: Apache-2.0
"""An unconfirmed change undoes itself, with no API anywhere."""

from __future__ import annotations

import dataclasses

import pytest

from tests.agent.rig import Rig, apply, lan, pending_of, queue, wan
from tests.polling import until
from weir.model.document import Change
from weir.store import Pending


@pytest.fixture(scope="module", autouse=True)
def configured(rig: Rig) -> None:
    rig.commit(lan(), wan(), queue(1))


WINDOW_S = 5
"""In which a busy machine applies a change and is asked for it."""
START_S = 20
"""In which it starts an agent as well."""


def upload_bps(rig: Rig) -> int:
    return int(rig.explain("q1")["kernel"]["class"]["upload"]["rate_bps"])


def test_without_confirmation_store_and_kernel_return(rig: Rig) -> None:
    base = rig.store.head()
    rig.commit(queue(1, upload_bps=1_000_000), lan(addresses=("10.64.9.1/24",)), confirm_within_s=WINDOW_S)
    confirm = rig.status()["confirm"]
    assert confirm["revision"] == base + 1
    assert 0 < confirm["seconds_left"] <= WINDOW_S
    assert upload_bps(rig) == 1_000_000
    until("it is rolled back", lambda: rig.store.head() == base + 2)
    until("the kernel follows", lambda: upload_bps(rig) == 5_000_000)
    assert rig.addresses("lan0") == {"10.64.0.1/24", "2001:db8:64::1/64"}
    undone = rig.store.revision(base + 2)
    assert (undone.kind, undone.author, undone.restores) == ("rollback", "rollback timer", base)
    assert rig.status()["confirm"] is None
    assert rig.store.pending() is None


def test_a_confirmed_change_stays(rig: Rig) -> None:
    rig.commit(queue(1, upload_bps=1_500_000), confirm_within_s=60)
    with rig.store.write() as transaction:
        transaction.clear_pending()
    head = rig.store.head()
    until("the agent sees it", lambda: rig.status()["confirm"] is None)
    rig.commit(queue(2))
    assert rig.store.head() == head + 1
    assert upload_bps(rig) == 1_500_000


def test_the_timer_survives_a_crash_of_the_agent(rig: Rig) -> None:
    base, rate = rig.store.head(), upload_bps(rig)
    rig.commit(queue(1, upload_bps=700_000), confirm_within_s=START_S)
    rig.kill_agent()
    rig.start_agent()
    assert rig.status()["confirm"]["revision"] == base + 1
    until("it is rolled back", lambda: rig.store.head() == base + 2)
    until("the kernel follows", lambda: upload_bps(rig) == rate)


def test_a_window_that_passed_while_the_agent_was_dead_is_over_at_its_start(rig: Rig) -> None:
    base, rate = rig.store.head(), upload_bps(rig)
    rig.commit(queue(1, upload_bps=600_000), confirm_within_s=WINDOW_S)
    rig.kill_agent()
    until("the window passes", lambda: _left(rig) == 0)
    rig.start_agent()
    until("it is rolled back", lambda: rig.store.head() == base + 2)
    until("the kernel follows", lambda: upload_bps(rig) == rate)


def _left(rig: Rig) -> float:
    from weir.store.clock import boot_id, boottime_ms, wall_ms

    pending = rig.store.pending()
    assert pending is not None
    return pending.seconds_left(wall_ms(), boot_id(), boottime_ms())


def test_after_a_reboot_the_wall_clock_decides(rig: Rig) -> None:
    base, rate = rig.store.head(), upload_bps(rig)
    rig.commit(queue(1, upload_bps=500_000), confirm_within_s=600)
    rig.kill_agent()
    with rig.store.write() as transaction:
        pending = transaction.pending()
        assert pending is not None
        transaction.clear_pending()
        transaction.set_pending(_as_of_another_boot(pending))
    rig.start_agent()
    until("it is rolled back", lambda: rig.store.head() == base + 2)
    until("the kernel follows", lambda: upload_bps(rig) == rate)


def _as_of_another_boot(pending: Pending) -> Pending:
    over = pending_of(pending.base_revision, pending.revision, pending.window_s).deadline_wall_ms - 700_000
    return dataclasses.replace(pending, boot_id="another", deadline_wall_ms=over)


def test_the_kernel_goes_back_before_the_rows(rig: Rig) -> None:
    """Somebody holds the store's write lock over the deadline, as a large commit or a full disk does."""
    base, rate = rig.store.head(), upload_bps(rig)
    rig.commit(queue(1, upload_bps=400_000), confirm_within_s=1)
    with rig.store.write():
        until("the kernel is back", lambda: upload_bps(rig) == rate)
        assert rig.store.head() == base + 1
        confirm = rig.status()["confirm"]
        assert (confirm["revision"], confirm["undone"]) == (base + 1, True)
        assert rig.status()["revision"] == base
    until("the store follows", lambda: rig.store.head() == base + 2)
    until("it is settled", lambda: rig.status()["revision"] == base + 2)
    assert (upload_bps(rig), rig.status()["confirm"]) == (rate, None)
    rig.commit(queue(3))
    assert rig.status()["revision"] == base + 3


def test_an_agent_killed_between_kernel_and_rows_starts_with_the_old_configuration(rig: Rig) -> None:
    base, rate = rig.store.head(), upload_bps(rig)
    rig.commit(queue(1, upload_bps=300_000), queue(4), confirm_within_s=1)
    with rig.store.write():
        until("the kernel is back", lambda: upload_bps(rig) == rate)
        rig.kill_agent()
        rig.spawn_agent()
        until("the agent runs", rig._answers)
        assert upload_bps(rig) == rate
        assert f"revision {base + 1} was not confirmed in time" in rig.agent_log()
    until("the store follows", lambda: rig.store.head() == base + 2)
    assert (rig.store.revision(base + 2).kind, rig.store.pending()) == ("rollback", None)
    until("it is settled", lambda: rig.status()["revision"] == base + 2)
    assert upload_bps(rig) == rate
    rig.commit(queue(1, upload_bps=5_500_000))
    assert upload_bps(rig) == 5_500_000


@pytest.mark.parametrize("late", [False, True])
def test_an_api_killed_between_kernel_and_rows_of_a_revert_leaves_it_to_the_timer(
    rig: Rig, late: bool
) -> None:
    """The service reverts the change and dies before its COMMIT, before the deadline or after it."""
    base, rate = rig.store.head(), upload_bps(rig)
    old = rig.store.get("queue", "q1").object
    rig.commit(queue(1, upload_bps=200_000), confirm_within_s=1 if late else 5)
    new = rig.store.get("queue", "q1").object
    undo = [Change("queue", "q1", new, old)]
    with rig.store.write(), rig.agent.connection() as connection:
        if late:
            until("the kernel is back", lambda: upload_bps(rig) == rate)
        apply(connection, base + 1, base + 2, undo)
        assert upload_bps(rig) == rate
        connection.close()
    until("the store follows", lambda: rig.store.head() == base + 2)
    until("it is settled", lambda: rig.status()["revision"] == base + 2)
    assert rig.store.revision(base + 2).author == "rollback timer"
    assert upload_bps(rig) == rate


def test_a_confirmation_that_came_at_the_deadline_brings_the_kernel_forward_again(rig: Rig) -> None:
    base = rig.store.head()
    rig.commit(queue(1, upload_bps=1_100_000), confirm_within_s=1)
    with rig.store.write() as transaction:
        until("the kernel is back", lambda: upload_bps(rig) != 1_100_000)
        transaction.clear_pending()
    until("the kernel follows", lambda: upload_bps(rig) == 1_100_000)
    until("it is settled", lambda: rig.status()["revision"] == base + 1)
    assert rig.store.head() == base + 1

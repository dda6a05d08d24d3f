# SPDX-License-Identifier: Apache-2.0
"""Thousands of changes are compiled beside the lock; what ran meanwhile is taken in when they are applied."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from tests.agent.rig import Rig, lan, queue, wan
from tests.agent.test_large_changes import MANY, NoBursts, NoKernel, asked
from tests.polling import until
from weir.agent import running as agent_running
from weir.agent.configuration import Configuration
from weir.agent.following import Following
from weir.agent.handlers import changes_of
from weir.agent.preparing import NOT_PREPARED
from weir.agent.sharing import Sharing
from weir.compiler import SlotAllocation, compile_document
from weir.model.document import Change
from weir.model.problem import ApplyFailed, Conflict, Invalid
from weir.store import ConfigStore
from weir.wire.client import AgentClient

NOON = datetime(2026, 1, 5, 12, 0)
RATE = {"max_limit_bps": {"upload": 1_000_000, "download": 2_000_000}}
THEIRS = {"max_limit_bps": {"upload": 3_000_000, "download": 4_000_000}}


@pytest.fixture
def kernel() -> NoKernel:
    return NoKernel()


@pytest.fixture
def running(tmp_path: Path, kernel: NoKernel) -> Iterator[Configuration]:
    """With `MANY` queues and ten more."""
    store = ConfigStore.open(tmp_path / "weir.db", create=True)
    configuration = Configuration(kernel, Sharing(NoBursts()), Following(store, None), 3 * MANY, lambda: NOON)
    assert configuration.open_store()
    commit(configuration, asked(MANY + 10))
    yield configuration
    store.close()


def commit(configuration: Configuration, changes: object = None, token: str | None = None) -> int:
    """Apply and settle, as the API does."""
    store = configuration.following.store
    assert isinstance(store, ConfigStore)
    with store.write() as transaction:
        base = transaction.head
        if token is None:
            configuration.apply(base, base + 1, changes)  # type: ignore[arg-type]
        else:
            configuration.apply_prepared(base, base + 1, token)
        assert configuration._unsettled is not None
        made = configuration._unsettled.changes
        number = transaction.append(kind="commit", author="anna", message="", changes=made)
    configuration.settle(number)
    return number


def only(name: str, **fields: object) -> list[Change]:
    number = int(name[1:])
    new = {"name": f"customer {number}", "target": [f"10.{number >> 8}.{number & 255}.1/32"], **fields}
    return list(changes_of({"changes": [{"kind": "queue", "id": name, "new": new}]}))


def agrees(configuration: Configuration) -> None:
    """What is compiled is what the document says, in the slots that the kernel has."""
    fresh = compile_document(configuration.document, SlotAllocation(3 * MANY), NOON)
    ours = configuration.compiled
    assert dict(ours.shaping.prefixes).keys() == dict(fresh.shaping.prefixes).keys()
    theirs = {spec.id: spec for spec in fresh.shaping.classes.values()}
    for spec in ours.shaping.classes.values():
        assert (spec.upload, spec.download) == (theirs[spec.id].upload, theirs[spec.id].download)
    assert len(ours.shaping.classes) == len(theirs)
    store = configuration.following.store
    assert sorted(store.load([])[1], key=lambda item: item.id) == sorted(
        configuration.document, key=lambda item: item.id
    )


def upload_bps(configuration: Configuration, name: str) -> int:
    found = configuration.compiled.class_of(name)
    assert found is not None
    return found.upload.rate_bps


def test_what_was_prepared_is_applied_and_follows_what_ran_meanwhile(running: Configuration) -> None:
    token = running.prepare(asked(MANY, **RATE))
    commit(running, only(f"q{MANY + 3}", **THEIRS))
    commit(running, only(f"q{MANY + 20}", **THEIRS))
    commit(running, [Change("queue", f"q{MANY + 4}", None, None)])
    assert commit(running, token=token) == 5
    assert upload_bps(running, "q17") == 1_000_000
    assert upload_bps(running, f"q{MANY + 3}") == upload_bps(running, f"q{MANY + 20}") == 3_000_000
    assert running.compiled.class_of(f"q{MANY + 4}") is None
    agrees(running)


def test_nothing_is_validated_or_compiled_when_it_is_applied(
    running: Configuration, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = running.prepare(asked(MANY, **RATE))
    for name in ("weir.agent.running.validate", "weir.compiler.incremental.recompiled"):
        monkeypatch.delattr(name)
    commit(running, token=token)
    assert upload_bps(running, "q17") == 1_000_000


def test_an_object_that_both_change_is_prepared_once_more(running: Configuration) -> None:
    token = running.prepare(asked(MANY, **RATE))
    commit(running, only("q5", **THEIRS))
    with pytest.raises(Conflict) as caught:
        running.apply_prepared(2, 3, token)
    assert caught.value.code == NOT_PREPARED
    assert upload_bps(running, "q5") == 3_000_000
    commit(running, token=running.prepare(asked(MANY, **RATE)))
    assert upload_bps(running, "q5") == 1_000_000
    agrees(running)


def test_what_is_valid_alone_only_is_refused(running: Configuration) -> None:
    token = running.prepare(asked(MANY, parent=f"q{MANY + 1}"))
    commit(running, [Change("queue", f"q{MANY + 1}", None, None)])
    with pytest.raises(Invalid):
        running.apply_prepared(2, 3, token)
    agrees(running)


def test_a_preparation_that_is_not_valid_is_refused_with_its_findings(running: Configuration) -> None:
    with pytest.raises(Invalid, match="which does not exist"):
        running.prepare(asked(MANY, parent="nobody"))
    assert running._missed is None, "nobody asks for what runs any more"


@pytest.mark.parametrize("fault", ["refuse", "is_wrong"])
def test_all_is_as_before_when_the_kernel_refuses_or_holds_something_else(
    running: Configuration, kernel: NoKernel, fault: str
) -> None:
    token = running.prepare(asked(MANY, **RATE))
    setattr(kernel, fault, True)
    with pytest.raises(ApplyFailed):
        running.apply_prepared(1, 2, token)
    assert (running.revision, running.state) == (1, "ok")
    setattr(kernel, fault, False)
    agrees(running)


def test_what_was_applied_and_never_settled_is_undone(running: Configuration) -> None:
    running.apply_prepared(1, 2, running.prepare(asked(MANY, **RATE)))
    running.abandoned(None)
    assert running.revision == 1 and upload_bps(running, "q17") == 0
    agrees(running)


def test_a_preparation_is_used_once_and_the_next_one_takes_its_place(running: Configuration) -> None:
    first, second = running.prepare(asked(MANY, **RATE)), running.prepare(asked(MANY, **THEIRS))
    with pytest.raises(Conflict):
        running.apply_prepared(1, 2, first)
    commit(running, token=second)
    with pytest.raises(Conflict):
        running.apply_prepared(2, 3, second)
    assert running._missed is None and running._prepared is None


def test_the_agent_prepares_while_it_applies_others_and_forgets_with_the_connection(rig: Rig) -> None:
    rig.commit(lan(), wan(), *(queue(number) for number in range(1, 40)))
    lines = [
        json.dumps(
            {"kind": "queue", "id": f"q{n}",
             "new": {"name": f"n{n}", "target": [f"10.64.1.{n}/32"], **RATE}}
        ).encode()
        for n in range(1, 30)
    ]  # fmt: skip
    client = AgentClient(rig.folder / "agent.sock", timeout_s=30.0)
    with client.connection() as link:
        token = link.call("prepare", lines=("changes", lines))["prepared"]
        rig.commit(queue(35, upload_bps=700_000))
        base = rig.store.head()
        link.call("apply", {"base": base, "revision": base + 1, "prepared": token})
        applied = rig.explain("q7")["kernel"]["class"]["upload"]["rate_bps"]
        assert (applied, rig.explain("q35")["kernel"]["class"]["upload"]["rate_bps"]) == (1_000_000, 700_000)
        assert rig.explain("q7")["agrees"]
        lost = link.call("prepare", lines=("changes", lines))["prepared"]
        link.close()
    until("the agent notices", lambda: "applied and not settled" in rig.agent_log())
    with pytest.raises(Conflict) as caught:
        client.call("apply", {"base": base, "revision": base + 1, "prepared": lost})
    assert caught.value.code == NOT_PREPARED
    client.close()


@pytest.mark.parametrize("step", ["validate", "update"])
def test_nobody_waits_for_a_preview_of_thousands(
    running: Configuration, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """It took 14 s of 20,000 changes, and each single change waited for that under the store's lock."""
    done, itself = [], getattr(agent_running, step)

    def beside(*arguments: object, **options: object) -> object:
        monkeypatch.setattr(agent_running, step, itself)
        helper = threading.Thread(target=lambda: done.append(commit(running, only("q1", **THEIRS))))
        helper.start()
        helper.join(20)
        return itself(*arguments, **options)

    monkeypatch.setattr(agent_running, step, beside)
    counts = running.preview(asked(MANY, **RATE))["counts"]
    assert len(done) == 1 and counts["changed"] == MANY
    agrees(running)

# SPDX-License-Identifier: Apache-2.0
"""Bundles as the agent checks them, with the real RAUC; installing one is the virtual machine's business."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.bundles import Bundler, missing_tools
from tests.polling import until
from weir.adapters.rauc import Rauc, Slot, Slots, problem_of
from weir.agent import updates
from weir.agent.updates import Updates
from weir.model.problem import ApplyFailed, Conflict, Invalid, NotFound, Problem, Unavailable, Unsupported
from weir.wire.server import Peer

pytestmark = pytest.mark.skipif(bool(missing_tools()), reason=f"missing: {', '.join(missing_tools())}")
PEER = Peer(1, 1, 0, 0)
UPLOAD = "0123456789abcdef" * 2


class Machine(Rauc):
    """The real RAUC where it reads bundles; slots and the boot loader are told."""

    def __init__(self, config: Path) -> None:
        super().__init__(config)
        self.go_on = threading.Event()
        self.installing = False
        self.failure: Problem | None = None
        self.installed: list[bytes] = []
        self.marked: list[tuple[str, str]] = []

    def status(self) -> Slots:
        """As RAUC's service on an image: silent while it installs."""
        self.require()
        if self.installing:
            raise Unavailable("RAUC: already processing a different method", code="rauc")
        slots = (Slot("A", True, True, "0.1.0", None), Slot("B", False, False, None, None))
        return Slots("weir-x86_64", "A", "A", slots)

    def mark(self, what: str, slot: str) -> None:
        self.marked.append((what, slot))

    def install(self, bundle: Path, progress: Callable[[int, str], None]) -> None:
        self.installing = True
        progress(40, "Copying image to system.1")
        assert self.go_on.wait(30)
        self.installing = False
        if self.failure is not None:
            raise self.failure
        self.installed.append(bundle.read_bytes())


@pytest.fixture(scope="module")
def bundler(tmp_path_factory: pytest.TempPathFactory) -> Bundler:
    return Bundler(tmp_path_factory.mktemp("bundles"))


class Agent:
    def __init__(self, folder: Path, config: Path) -> None:
        self.inbox, self.folder = folder / "uploads", folder / "own"
        self.inbox.mkdir()
        self.rauc = Machine(config)
        self.restarts = 0
        self.updates = Updates(self.rauc, self.inbox, self.folder, self._restart)

    def _restart(self) -> None:
        self.restarts += 1

    def call(self, method: str, **params: Any) -> Any:
        return self.updates.table()[method](params, PEER)

    def install(self, data: bytes) -> Any:
        (self.inbox / f"{UPLOAD}.raucb").write_bytes(data)
        return self.call("update_install", upload=UPLOAD)

    def job(self) -> Any:
        return self.call("updates")["job"]


@pytest.fixture
def agent(tmp_path: Path, bundler: Bundler) -> Agent:
    return Agent(tmp_path, bundler.config())


def refused(agent: Agent, data: bytes) -> str:
    with pytest.raises(Invalid) as caught:
        agent.install(data)
    assert agent.job()["state"] == "idle"
    assert list(agent.folder.iterdir()) == []
    assert agent.rauc.installed == []
    return caught.value.code


def test_a_good_bundle_is_copied_checked_and_installed_with_progress(agent: Agent, bundler: Bundler) -> None:
    data = bundler.make("0.3.0").read_bytes()
    begun = agent.install(data)
    assert (begun["job"]["state"], begun["job"]["version"]) == ("installing", "0.3.0")
    until("progress", lambda: agent.job()["percent"] == 40)
    watched = agent.call("updates")
    assert (watched["available"], watched["booted"]) == (True, "A")
    assert [slot["name"] for slot in watched["slots"]] == ["A", "B"]
    # What the API changes or removes now has no effect.
    (agent.inbox / f"{UPLOAD}.raucb").write_bytes(b"another")
    with pytest.raises(Conflict):
        agent.call("update_install", upload=UPLOAD)
    with pytest.raises(Conflict):
        agent.call("restart")
    with pytest.raises(Conflict):
        agent.call("update_choose", slot="A")
    agent.rauc.go_on.set()
    until("the end", lambda: agent.job()["state"] == "installed")
    assert agent.rauc.installed == [data]
    assert list(agent.folder.iterdir()) == []


def test_a_bundle_of_an_authority_that_nobody_here_trusts_is_refused(agent: Agent, bundler: Bundler) -> None:
    assert refused(agent, bundler.make("0.4.0", signer="strangers").read_bytes()) == "bundle-untrusted"


def test_a_bundle_that_was_cut_short_is_refused(agent: Agent, bundler: Bundler) -> None:
    data = bundler.make("0.4.1").read_bytes()
    for length in (10, len(data) // 2, len(data) - 1):
        assert refused(agent, data[:length]) in ("bundle-damaged", "bundle-untrusted"), length


def test_a_file_that_is_no_bundle_is_refused(agent: Agent) -> None:
    assert refused(agent, bytes(100_000)) == "bundle-damaged"


def test_a_bundle_for_another_product_is_refused(agent: Agent, bundler: Bundler) -> None:
    assert refused(agent, bundler.make("0.4.2", compatible="toaster").read_bytes()) == "bundle-foreign"


@pytest.mark.parametrize(
    ("version", "code"),
    [("0.0.9", "bundle-too-old"), ("0.1.0-rc.1", "bundle-too-old"), ("latest", "bundle-version")],
)
def test_a_bundle_that_is_older_than_allowed_is_refused(
    agent: Agent, bundler: Bundler, version: str, code: str
) -> None:
    assert refused(agent, bundler.make(version).read_bytes()) == code


def test_a_failed_installation_says_why_and_another_may_follow(agent: Agent, bundler: Bundler) -> None:
    data = bundler.make("0.5.0").read_bytes()
    agent.rauc.failure = ApplyFailed("the disk is broken", code="update-failed")
    agent.rauc.go_on.set()
    agent.install(data)
    until("the failure", lambda: agent.job()["state"] == "failed")
    assert agent.job()["message"] == "the disk is broken"
    agent.rauc.failure = None
    agent.install(data)
    until("the end", lambda: agent.job()["state"] == "installed")


@pytest.mark.parametrize("name", ["../etc/passwd", "", None, 7, UPLOAD.upper(), UPLOAD + "\n"])
def test_an_upload_is_never_a_path(agent: Agent, name: object) -> None:
    with pytest.raises(Invalid):
        agent.call("update_install", upload=name)


def test_a_link_and_a_pipe_in_place_of_the_upload_are_refused(agent: Agent, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"x" * 100)
    upload = agent.inbox / f"{UPLOAD}.raucb"
    upload.symlink_to(secret)
    with pytest.raises(Problem, match="upload"):
        agent.call("update_install", upload=UPLOAD)
    upload.unlink()
    os.mkfifo(upload)
    with pytest.raises(Problem, match="bundle is a file"):
        agent.call("update_install", upload=UPLOAD)
    assert list(agent.folder.iterdir()) == []


def test_a_full_data_partition_is_said_and_leaves_nothing(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        usage = shutil.disk_usage("/")._replace(free=99)
        patch.setattr(updates.shutil, "disk_usage", lambda _path: usage)
        with pytest.raises(Unavailable) as before:
            agent.install(bytes(100))
    assert before.value.code == "disk-full"

    def fill_up(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(updates.shutil, "copyfileobj", fill_up)
    with pytest.raises(Unavailable, match="no room") as meanwhile:
        agent.install(bytes(100))
    assert meanwhile.value.code == "disk-full"
    assert list(agent.folder.iterdir()) == []
    assert agent.job()["state"] == "idle"


def test_the_slot_for_the_next_start_is_chosen_among_those_that_hold_a_system(agent: Agent) -> None:
    with pytest.raises(Conflict, match="holds no system"):
        agent.call("update_choose", slot="B")
    with pytest.raises(NotFound):
        agent.call("update_choose", slot="C")
    agent.call("update_choose", slot="A")
    assert agent.rauc.marked == [("active", "booted")]


def test_where_there_are_no_slots_nothing_is_installed_and_nothing_restarted(tmp_path: Path) -> None:
    workstation = Agent(tmp_path, tmp_path / "absent.conf")
    told = workstation.call("updates")
    assert not told["available"] and "image" in told["reason"]
    for method in ("update_install", "update_choose", "restart"):
        with pytest.raises(Unsupported):
            workstation.call(method, upload=UPLOAD, slot="A")
    assert workstation.restarts == 0


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("Failed to write: No space left on device", "disk-full"),
        ("LastError: Failed updating slot system.1: failed to verify checksum", "bundle-corrupt"),
        ("Size of image (524288001) does not fit to slot size 2097152", "slot-too-small"),
        ("something nobody has seen before", "update-failed"),
        ("", "update-failed"),
    ],
)
def test_what_rauc_says_becomes_a_reason(said: str, code: str) -> None:
    assert problem_of(said).code == code

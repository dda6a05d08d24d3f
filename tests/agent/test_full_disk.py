# SPDX-License-Identifier: Apache-2.0
"""The disk of database and copy is full or read-only: what runs goes on, also from a start, and says so."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.agent.copies import kept_in
from tests.agent.list_server import list_server
from tests.agent.rig import Rig, client_queue, lan, queue, wan
from tests.polling import until
from tests.small_disk import SmallDisk
from weir.agent.last_good import LastGood, Mark
from weir.kinds.sets import Set
from weir.model.document import Document
from weir.model.problem import Conflict, Unavailable
from weir.store import ConfigStore


class DiskRig(Rig):
    """A router whose database and copy of what runs are on a small disk; all else is in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.store.close()
        self.small = SmallDisk(self.folder / "disk")
        self.disk = self.small.folder
        self.store = ConfigStore.open(self.disk / "weir.db", create=True)

    def start_agent(self, *options: str) -> None:
        super().start_agent(*self._places(), *options)

    def spawn_there(self) -> None:
        self.spawn_agent(*self._places())

    def _places(self) -> list[str]:
        return ["--database", str(self.disk / "weir.db"), "--last-good", str(self.disk / "last-good.db")]

    def close(self) -> None:
        super().close()
        self.small.close()


REASONS = {"full": "No space left on device (ENOSPC)", "read-only": "Read-only file system (EROFS)"}
HANDS: dict[str, Callable[[SmallDisk], None]] = {"full": SmallDisk.fill, "read-only": SmallDisk.forbid}


@pytest.fixture
def rig() -> Iterator[DiskRig]:
    made = DiskRig()
    try:
        made.start_agent()
        made.commit(lan(), wan(), client_queue())
        until("the copy is kept", lambda: kept_in(made.disk) == 1)
        yield made
    finally:
        print(made.agent_log()[-3000:])
        made.close()


def crash(rig: DiskRig) -> None:
    """The power goes: what was committed is in the logs only, nothing is tidied up."""
    saved = {path: path.read_bytes() for path in rig.disk.iterdir()}
    rig.kill_agent()
    rig.store.close()
    until("the process that reads the database has ended", lambda: not readers(rig))
    for path in rig.disk.iterdir():
        path.unlink()
    for path, data in saved.items():
        if not path.name.endswith("-shm"):
            path.write_bytes(data)


def readers(rig: DiskRig) -> list[str]:
    """Processes with a file of the disk open."""
    found = []
    for link in Path("/proc").glob("[1-9]*/fd/*"):
        with suppress(OSError):
            if str(link.readlink()).startswith(f"{rig.disk}/") and link.parts[2] != str(os.getpid()):
                found.append(str(link))
    return found


def limits(rig: DiskRig) -> bool:
    return rig.addresses("lan0") >= {"10.64.0.1/24"} and 0 < rig.arriving() < 50


@pytest.mark.parametrize("hand", HANDS)
def test_what_ran_last_runs_from_a_start_on_a_disk_that_cannot_be_written(rig: DiskRig, hand: str) -> None:
    crash(rig)
    HANDS[hand](rig.small)
    rig.spawn_there()
    until("it runs what ran last", lambda: rig.status()["revision"] == 1)
    assert limits(rig)
    told = rig.status()["store"]
    assert str(rig.disk / "weir.db") in told["reason"] and REASONS[hand] in told["reason"]
    assert REASONS[hand].partition(" (")[0] in told["copy_reason"]
    rig.small.free()
    until("it follows the database again", lambda: rig.status()["state"] == "ok")
    rig.store = ConfigStore.open(rig.disk / "weir.db")
    assert rig.commit(queue(1))["revision"] == 2
    until("and keeps the copy", lambda: kept_in(rig.disk) == 2)


def test_a_disk_that_fills_up_while_it_runs_loses_nothing(rig: DiskRig) -> None:
    rig.small.fill()
    with pytest.raises(Unavailable) as refused:
        rig.commit(*[queue(number) for number in range(1, 1500)])
    assert refused.value.code in ("store-full", "store-io") and "full" in refused.value.message
    until("the kernel has what it had", lambda: rig.status()["revision"] == 1)
    assert rig.status()["state"] == "ok"
    assert limits(rig)
    assert rig.store.head() == 1
    rig.small.free()
    assert rig.commit(queue(1))["revision"] == 2
    until("and keeps the copy", lambda: kept_in(rig.disk) == 2)


def test_a_copy_that_cannot_be_made_again_is_not_removed(tmp_path: Path) -> None:
    """On a full disk: the file before has to stay until the new one is whole."""
    with SmallDisk(tmp_path / "disk", "1m") as disk:
        copy = LastGood(disk.folder / "last-good.db")
        copy.replace(Mark(1, b"one"), Document.packed([client_queue()]))
        assert (copy.reason, copy.mark) == ("", Mark(1, b"one"))
        many = Document.packed(queue(number, comment="x" * 500) for number in range(1, 3000))
        copy.replace(Mark(2, b"two"), many)
        assert "full" in copy.reason or "No space" in copy.reason
        copy.close()
        again = LastGood(disk.folder / "last-good.db")
        assert again.mark == Mark(1, b"one")
        found = again.load()
        assert found is not None and found.get("queue", "client") == client_queue()
        again.close()


def test_a_list_that_cannot_be_kept_is_in_force_and_the_kept_one_stays_whole(rig: DiskRig) -> None:
    """The state says so; a restart has what was kept, and with room again the new list is kept."""

    def state() -> dict[str, Any]:
        return dict(rig.agent.call("state", {"kind": "set", "ids": ["drop"]})["objects"]["drop"])

    place = rig.disk / "fetched-sets" / "drop.list"
    with list_server(rig.internet, "203.0.113.1", says=b"198.51.100.0/24\n192.0.2.7\n") as server:
        rig.commit(Set("drop", source="url", url=f"http://203.0.113.1:{server.port}/"))
        until("it is kept", lambda: place.exists() and state().get("entries") == 2)
        whole = place.read_bytes()
        rig.small.fill()
        server.says = b"".join(b"10.%d.%d.0/24\n" % (n >> 8, n & 255) for n in range(20_000))
        until("the new one is taken", lambda: was_taken(rig))
        told = state()
        assert (told["entries"], place.read_bytes()) == (20_000, whole)
        said = "it is in force, and could not be kept for the next start: No space left on device"
        assert told["last_error"] == said
        assert not place.with_name("drop.list.new").exists(), "what is half takes no room"
        server.way = "hangs"
        rig.kill_agent()
        rig.start_agent()
        until("the kept one is in force", lambda: state().get("entries") == 2)
        assert place.read_bytes() == whole
        rig.small.free()
        server.way = "answers"
        until("the new one is kept, too", lambda: was_taken(rig) and len(place.read_bytes()) > 80_000)
        assert state()["last_error"] is None and state()["entries"] == 20_000


def was_taken(rig: DiskRig) -> bool:
    """Unless it is being fetched already."""
    with suppress(Conflict):
        return bool(rig.agent.call("set_refresh", {"id": "drop"})["fetched"])
    return False

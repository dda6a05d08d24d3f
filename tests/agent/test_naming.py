# SPDX-License-Identifier: Apache-2.0
"""The router's name and time zone: a real agent names its own UTS namespace and has a zone of its own, and
never those of the machine that runs the tests."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.frr import vty_socket
from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from weir.adapters.time_zone import TimeZone
from weir.adapters.vty import ask
from weir.backends.naming import NamingBackend, NamingState
from weir.kinds.identity import Identity
from weir.model.problem import ApplyFailed, Unavailable
from weir.parts.naming import NAMING, TIME_ZONE

BEFORE = socket.gethostname()


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running("--scan-interval-s", "0.5", frr=True) as made:
        made.commit(lan(), wan())
        yield made


def name_now(rig: Rig) -> str:
    found = rig.agent.call("state", {"kind": "identity", "ids": ["identity"]})["objects"]
    return str(found["identity"]["current_name"])


def inside(rig: Rig, *command: str) -> str:
    """In the agent's UTS namespace, and never in the host's."""
    assert rig.agent_process is not None
    place = Path(f"/proc/{rig.agent_process.pid}/ns/uts")
    assert place.readlink() != Path("/proc/self/ns/uts").readlink()
    done = subprocess.run(["nsenter", f"--uts={place}", *command], check=True, capture_output=True)
    return done.stdout.decode().strip()


def test_the_kernel_has_the_name_and_the_machine_keeps_its_own(rig: Rig) -> None:
    answer = rig.commit(Identity(hostname="tower-7.example.net", login_banner="Keep out."))
    assert not answer.get("effects"), "a name costs nobody anything"
    assert inside(rig, "hostname") == name_now(rig) == "tower-7.example.net"
    assert socket.gethostname() == BEFORE
    told = rig.agent.call("system")
    assert (told["hostname"], told["login_banner"]) == ("tower-7.example.net", "Keep out.")


def test_frrs_daemons_take_it(rig: Rig) -> None:
    rig.commit(Identity(hostname="core-1"))
    for daemon in ("zebra", "staticd"):
        printed = ask(vty_socket(daemon, rig.folder / "frr"), "show running-config", 5.0)
        assert "hostname core-1" in printed.splitlines(), daemon


def test_a_name_that_somebody_else_gave_goes(rig: Rig) -> None:
    rig.commit(Identity(hostname="core-2"))
    inside(rig, "hostname", "stolen")
    until("it has its name again", lambda: name_now(rig) == "core-2")
    until("it is told", lambda: any("core-2 (was stolen)" in item["text"] for item in rig.status()["drift"]))


def test_explain_compares_with_the_kernel(rig: Rig) -> None:
    rig.commit(Identity(hostname="core-3"))
    assert ("core-3", "core-3", True) in explained(rig)


def explained(rig: Rig) -> list[tuple[Any, Any, Any]]:
    lines = rig.explain("identity", "identity")["lines"]
    return [(line["compiled"], line["system"], line["agrees"]) for line in lines]


def test_without_a_name_the_machines_own_comes_back_also_after_a_restart(rig: Rig) -> None:
    rig.commit(Identity(hostname="core-4"))
    rig.kill_agent()
    rig.start_agent("--scan-interval-s", "0.5")
    until("the new agent names it", lambda: name_now(rig) == "core-4")
    rig.commit(Identity())
    assert name_now(rig) == BEFORE
    assert not (rig.folder / "own-name").exists()


def zone_now(rig: Rig) -> str:
    found = rig.agent.call("state", {"kind": "identity", "ids": ["identity"]})["objects"]
    return str(found["identity"]["current_zone"])


def test_the_time_zone_lasts_and_the_machines_own_comes_back_without_it(rig: Rig) -> None:
    before = zone_now(rig)
    answer = rig.commit(Identity(time_zone="Asia/Tokyo"))
    assert not answer.get("effects"), "a time zone costs nobody anything"
    assert zone_now(rig) == "Asia/Tokyo"
    rig.kill_agent()
    rig.start_agent("--scan-interval-s", "0.5")
    assert zone_now(rig) == "Asia/Tokyo"
    assert ("Asia/Tokyo", "Asia/Tokyo", True) in explained(rig)
    rig.commit(Identity())
    assert zone_now(rig) == before


class Zones:
    """An appliance's data partition, and its tz database."""

    def __init__(self, folder: Path) -> None:
        zones = folder / "zones"
        (zones / "Europe").mkdir(parents=True)
        for name in ("Europe/Berlin", "UTC"):
            (zones / name).write_bytes(b"TZif2")
        (zones / "zone.tab").write_text("a table")
        self.link = folder / "zone" / "localtime"
        self.link.parent.mkdir()
        self.zone = TimeZone(folder / "own", self.link, zones)


def test_the_time_zone_of_an_appliance_is_a_link_and_what_was_chosen_before_is_remembered(
    tmp_path: Path,
) -> None:
    made = Zones(tmp_path)
    backend = NamingBackend(TIME_ZONE, made.zone, tmp_path / "memory")
    assert made.zone.read() == "UTC" and not backend.diff(backend.read(), None)
    made.zone.set("Europe/Berlin")
    assert made.link.readlink() == tmp_path / "zones/Europe/Berlin" == made.zone.file.resolve()
    backend.apply(backend.diff(backend.read(), "UTC"))
    assert (made.zone.read(), backend.read().own) == ("UTC", "Europe/Berlin")
    backend.apply(backend.diff(backend.read(), None))
    assert made.zone.read() == "Europe/Berlin"


@pytest.mark.parametrize("name", ["Moon", "zone.tab", "Europe", "a" * 99])
def test_a_zone_that_the_system_does_not_have_is_not_set(tmp_path: Path, name: str) -> None:
    made = Zones(tmp_path)
    with pytest.raises(ApplyFailed):
        made.zone.set(name)
    assert not made.link.is_symlink()


class Machine:
    def __init__(self) -> None:
        self.name = "own"

    def read(self) -> str:
        return self.name

    def set(self, name: str) -> None:
        self.name = name


def test_who_cannot_take_a_name_stands_in_nobodys_way(tmp_path: Path) -> None:
    machine, told = Machine(), list[str]()
    backend = NamingBackend(NAMING, machine, tmp_path / "memory")

    def refuse(_name: str) -> None:
        raise Unavailable("FRR is silent", code="frr-down")

    backend.changed = (refuse, told.append)
    difference = backend.diff(backend.read(), "new")
    backend.apply(difference)
    backend.verify(difference)
    assert (machine.name, told) == ("new", ["new"])
    assert backend.read() == NamingState("new", "own") and not backend.diff(backend.read(), "new")
    backend.apply(backend.diff(backend.read(), None))
    assert (machine.name, backend.read().own) == ("own", None)

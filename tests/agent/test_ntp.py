# SPDX-License-Identifier: Apache-2.0
"""chronyd as the time service: it asks a server in another namespace and never sets this machine's clock."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import netns, process
from tests.agent.rig import Rig, running
from tests.polling import until
from weir.backends.ntp import CONF, SOURCES, NtpBackend
from weir.kinds.ntp import Ntp, NtpServer
from weir.model.interface import Interface
from weir.model.problem import ApplyFailed

SERVER = "203.0.113.1"
CLOCK_S = 2.0


def served(rig: Rig) -> subprocess.Popen[bytes]:
    """A chronyd on i0 that says that it knows the time, as stratum 4."""
    folder = rig.folder / "far"
    folder.mkdir()
    folder.chmod(0o755)
    lines = ("local stratum 3", "allow", "cmdport 0", "bindcmdaddress /", f"pidfile {folder / 'pid'}")
    (folder / "far.conf").write_text("\n".join(lines) + "\n")
    run = ("chronyd", "-d", "-x", "-f", str(folder / "far.conf"))
    return rig.spawn("far", run, netns.entering(rig.internet))


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        served(made)
        made.commit(
            Interface("wan0", "wan", addresses=("203.0.113.2/24",)),
            Ntp(servers=(NtpServer(SERVER),), serve_to=("10.64.0.0/24",)),
        )
        yield made


def learnt(rig: Rig) -> dict[str, Any]:
    answer = rig.agent.call("state", {"kind": "ntp", "ids": ["ntp"]})
    found: dict[str, Any] = answer["objects"].get("ntp", {})
    return found


def pid_of(rig: Rig) -> int:
    return int((rig.folder / "daemons/ntp/pid").read_text().split()[0])


def test_state_has_each_source_with_offset_and_stratum_and_the_clock_is_left_alone(rig: Rig) -> None:
    assert "-x" in Path(f"/proc/{pid_of(rig)}/cmdline").read_text().split("\0")
    until("the server answers", lambda: any(item["reachable"] for item in learnt(rig).get("sources", ())))
    (source,) = learnt(rig)["sources"]
    assert (source["name"], source["stratum"]) == (SERVER, 3)
    assert abs(source["offset_ns"]) < CLOCK_S * 1e9
    until("the clock would follow it", lambda: learnt(rig).get("synchronised"))
    now = learnt(rig)
    assert (now["stratum"], now["reference"]) == (4, SERVER)
    assert abs(now["offset_ns"]) < CLOCK_S * 1e9


def test_what_stays_keeps_its_measurements_and_unchanged_text_is_not_read_again(rig: Rig) -> None:
    before = pid_of(rig)
    files = (rig.folder / "daemons/ntp/config").readlink()
    rig.commit(Interface("lan0", "lan", addresses=("10.64.0.1/24",)))
    assert (rig.folder / "daemons/ntp/config").readlink() == files
    rig.commit(Ntp(servers=(NtpServer(SERVER), NtpServer("192.0.2.99")), serve_to=("10.64.0.0/24",)))
    assert pid_of(rig) == before
    sources = {item["name"]: item for item in learnt(rig)["sources"]}
    assert sources[SERVER]["reachable"] and not sources["192.0.2.99"]["reachable"]
    assert sources["192.0.2.99"]["offset_ns"] is None, "nothing was measured of it"


def test_a_daemon_that_dies_is_back_within_a_second(rig: Rig) -> None:
    before = pid_of(rig)
    os.kill(before, signal.SIGKILL)
    died_s = time.monotonic()
    until("another one runs", lambda: pid_of(rig) != before)
    until("it answers", lambda: learnt(rig))
    assert time.monotonic() - died_s < 5.0, "a busy machine"


def test_it_outlives_the_agent(rig: Rig) -> None:
    before = pid_of(rig)
    rig.kill_agent()
    assert Path(f"/proc/{before}").exists()
    rig.start_agent()
    assert pid_of(rig) == before


def test_it_serves_the_networks_that_are_named_and_no_other(rig: Rig) -> None:
    rig.commit(Interface("lan0", "lan", addresses=("10.64.0.1/24",)))
    until("it follows its source", lambda: learnt(rig).get("synchronised"))

    def asked(namespace: str, address: str) -> bool:
        own = ("cmdport 0", "bindcmdaddress /", "port 0", f"pidfile {rig.folder / 'asking.pid'}")
        run = ("chronyd", "-Q", "-t", "3", f"server {address} iburst maxsamples 1", *own)
        done = subprocess.run(("ip", "netns", "exec", namespace, *run), capture_output=True, check=False)
        return done.returncode == 0

    assert asked(rig.client_ns, "10.64.0.1")
    assert not asked(rig.internet, "203.0.113.2")


def test_without_anything_to_do_it_does_not_run(rig: Rig) -> None:
    pid = pid_of(rig)
    rig.commit(Ntp(enabled=False))
    until("it has ended", lambda: process.started_ticks(pid) == -1)
    assert learnt(rig) == {}


# -- without a router -------------------------------------------------------------------------------------


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[NtpBackend]:
    folder = Path(f"/run/weir-ntp-test-{os.getpid()}")
    found = NtpBackend(folder, sets_clock=False)
    yield found
    found.daemon.stop()
    subprocess.run(("rm", "-rf", str(folder)), check=True)


def bring(backend: NtpBackend, wanted: Ntp) -> None:
    difference = backend.diff(backend.read(), wanted)
    backend.apply(difference)
    backend.verify(difference)


ONE = Ntp(servers=(NtpServer("127.0.0.1"),))


class Spoilt(NtpBackend):
    """Writes a line that chronyd does not know."""

    place = CONF

    def files(self, wanted: Ntp | None) -> dict[str, str]:
        found = dict(super().files(wanted))
        return {**found, self.place: found[self.place] + "bogus 7\n"}


@pytest.mark.parametrize("place", [CONF, SOURCES])
def test_a_file_that_chronyd_refuses_is_refused_in_its_words(backend: NtpBackend, place: str) -> None:
    bring(backend, ONE)
    before = backend.daemon.identity()
    backend.__class__, Spoilt.place = Spoilt, place
    started_s = time.monotonic()
    with pytest.raises(ApplyFailed, match=r"ntp refuses its files: .*Invalid directive"):
        bring(backend, ONE)
    assert time.monotonic() - started_s < 2.5
    backend.__class__ = NtpBackend
    assert backend.daemon.identity() == before and not backend.diff(backend.read(), ONE)


def test_one_that_hangs_is_started_again_in_bounded_time(backend: NtpBackend) -> None:
    bring(backend, ONE)
    identity = backend.daemon.identity()
    assert identity is not None
    os.kill(identity[0], signal.SIGSTOP)
    started_s = time.monotonic()
    bring(backend, Ntp(servers=(NtpServer("127.0.0.2"),)))
    assert time.monotonic() - started_s < 6.0
    assert backend.daemon.identity() != identity


def test_a_source_that_somebody_took_from_chronyd_comes_back(backend: NtpBackend) -> None:
    bring(backend, ONE)
    chronyc = ("chronyc", "-h", str(backend._socket))
    subprocess.run((*chronyc, "delete", "127.0.0.1"), check=True, capture_output=True)
    assert backend.diff(backend.read(), ONE).is_behind
    bring(backend, ONE)
    assert not backend.diff(backend.read(), ONE)

# SPDX-License-Identifier: Apache-2.0
"""Others do not notice: changes of one queue, and crashes of the control plane, while traffic goes on."""

from __future__ import annotations

import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from bench.resources import descendants
from lab import frr, measure, plan, process
from lab.router import FRR_RUN
from tests.image.front import Front
from tests.router import Router, customer, rate

NEIGHBOURS = 1000
IP_PKTINFO = 8
"""Of linux/in.h; Python names it from 3.14 on."""
PACKET = struct.Struct("!II")
PAYLOAD_BYTES = 200
PACKETS_PER_S = 500 if os.environ.get("WEIR_IN_VM") else 2000


class Echoes:
    """A stream of numbered packets from 1,000 clients through the router and back, each under its limit.

    The internet echoes every packet, so that one counts in both directions; a packet that is not back by
    the end is lost.
    """

    def __init__(self) -> None:
        self.near = measure.bound(plan.CLIENT, "0.0.0.0")
        self.near.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
        self.far = measure.bound(plan.INTERNET, plan.INTERNET_ADDRESSES[0])
        self.destination = (plan.INTERNET_ADDRESSES[0], self.far.getsockname()[1])
        self.near.settimeout(0.1)
        self.far.settimeout(0.1)
        self.over = threading.Event()
        self.counted = threading.Event()
        self.sent = 0
        self.back: set[int] = set()

    def during(self, action: Callable[[], None]) -> list[int]:
        """Run the action while packets flow; returns the numbers of those that were lost."""
        workers = [threading.Thread(target=work) for work in (self._echo, self._collect, self._send)]
        for worker in workers:
            worker.start()
        try:
            self._warm()
            action()
        finally:
            self.over.set()
            workers[2].join()
            measure.poll(lambda: len(self.back) == self.sent, 3)
            self.counted.set()
            for worker in workers:
                worker.join()
            self.near.close()
            self.far.close()
        return sorted(set(range(self.sent)) - self.back)

    def _warm(self) -> None:
        assert measure.poll(lambda: len(self.back) > 2 * NEIGHBOURS, 10), "the echoes do not come back"

    def _send(self) -> None:
        filler = bytes(PAYLOAD_BYTES - PACKET.size)
        begin_s = time.monotonic()
        while not self.over.is_set():
            due = int((time.monotonic() - begin_s) * PACKETS_PER_S)
            while self.sent < due:
                source = socket.inet_aton(plan.client_v4(100 + self.sent % NEIGHBOURS))
                information = struct.pack("@I4s4s", 0, source, bytes(4))
                payload = PACKET.pack(self.sent, self.sent % NEIGHBOURS) + filler
                control = [(socket.IPPROTO_IP, IP_PKTINFO, information)]
                self.near.sendmsg([payload], control, 0, self.destination)
                self.sent += 1
            time.sleep(0.002)

    def _echo(self) -> None:
        while not self.counted.is_set():
            with suppress(TimeoutError):
                payload, peer = self.far.recvfrom(2048)
                self.far.sendto(payload, peer)

    def _collect(self) -> None:
        while not self.counted.is_set():
            with suppress(TimeoutError):
                self.back.add(PACKET.unpack_from(self.near.recv(2048))[0])


@pytest.fixture
def neighbours(router: Router) -> Router:
    """1,000 customers of 1 Mbit/s beside the one that the test is about."""
    queues = [customer(100 + n, max_limit_bps=rate(1, 1)) for n in range(NEIGHBOURS)]
    router.bulk(upsert=[customer(0, max_limit_bps=rate(5, 5)), *queues])
    return router


def test_no_packet_of_1000_others_is_lost_when_one_queue_changes(neighbours: Router) -> None:
    def change() -> None:
        for step in range(40):
            neighbours.put_queue(
                "c0",
                name="client-0",
                target=[f"{plan.client_v4(0)}/32", f"{plan.client_v4(50 + step)}/32"],
                max_limit_bps=rate(1 + step % 7, 2 + step % 5),
            )

    assert Echoes().during(change) == []


def test_no_packet_of_1000_others_is_lost_when_queues_come_and_go(neighbours: Router) -> None:
    def change() -> None:
        for _ in range(5):
            neighbours.bulk(upsert=[customer(n, max_limit_bps=rate(3, 3)) for n in range(1, 40)])
            neighbours.bulk(delete=[f"c{n}" for n in range(1, 40)])

    assert Echoes().during(change) == []


def test_no_packet_is_lost_while_agent_and_api_crash_and_come_back(neighbours: Router) -> None:
    def crash() -> None:
        with neighbours.dead("agent", "api"):
            deadline = time.monotonic() + 1
            measure.poll(lambda: time.monotonic() > deadline, 2)

    assert Echoes().during(crash) == []


KILLS = 50


@pytest.mark.parametrize("service", [*(f"frr-{name}" for name in frr.daemons()), "agent", "api"])
def test_no_packet_is_lost_by_50_kills_of_a_daemon(neighbours: Router, service: str) -> None:
    """All packets go by static routes: the clients' subnet and the default route are FRR's."""

    def kill() -> None:
        for _ in range(KILLS):
            pid = until_running(neighbours, service)
            os.kill(pid, signal.SIGKILL)
            assert measure.poll(lambda pid=pid: neighbours.pid_of(service) not in (pid,), 20)

    lost = Echoes().during(kill)
    until_running(neighbours, service)
    assert lost == []
    assert measure.poll(neighbours.answers, 60)


def test_no_packet_is_lost_by_50_kills_of_watchfrr(neighbours: Router) -> None:
    """Nor does a new one restart a daemon that runs."""
    restarts = plan.RUN / "restarts"
    place = partial(frr.place, plan.ROUTER, FRR_RUN)
    daemons = {name: neighbours.pid_of(f"frr-{name}") for name in frr.daemons()}

    def kill() -> None:
        for _ in range(KILLS):
            child = process.start("watchfrr", frr.watch_command(FRR_RUN, restarts), prepare=place)
            process.wait_for("watchfrr", frr.vty_socket("watchfrr", FRR_RUN).exists, [child])
            child.popen.kill()
            child.popen.wait()

    assert Echoes().during(kill) == []
    assert not restarts.exists()
    assert {name: neighbours.pid_of(f"frr-{name}") for name in frr.daemons()} == daemons


def test_no_packet_is_lost_by_50_kills_of_nginx(neighbours: Router, tmp_path: Path) -> None:
    """With its workers, as systemd does it (KillMode=mixed); a browser is let in again after each."""
    front = Front(tmp_path, int(neighbours.api.url.rpartition(":")[2]))

    def kill() -> None:
        for _ in range(KILLS):
            with front:
                assert front.get("/api/v1/system")[0] == 401
                for pid in (front.process.pid, *descendants(front.process.pid)):
                    os.kill(pid, signal.SIGKILL)

    assert Echoes().during(kill) == []
    assert neighbours.answers()


def until_running(router: Router, service: str) -> int:
    assert measure.poll(lambda: router.pid_of(service) is not None, 20), f"{service} is not started again"
    pid = router.pid_of(service)
    assert pid is not None
    return pid

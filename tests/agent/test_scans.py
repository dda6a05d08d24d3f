# SPDX-License-Identifier: Apache-2.0
"""E1: who scans is seen among those who do not, named, and bounded by one button; nothing stays attached."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import count

import pytest

from lab import ills, netns
from lab.measure import bound
from tests.agent.rig import Rig, lan, running, wan
from tests.polling import until
from weir.adapters.datapath_lib import find_library
from weir.agent.scan_watch import ScanWatch
from weir.diagnosis.sample import Core, Scan
from weir.kinds.bounded_source import BoundedSource
from weir.kinds.firewall import Firewall
from weir.model.problem import Unavailable
from weir.probes.scan_sources import ScanSources, Seen

SCANNER, TALKER = "10.64.0.2", "10.64.0.3"
SCANNER6 = "2001:db8:64::2"
UNBOUNDED = Firewall(masquerade=False, connections_per_source=0)
"""One host may fill the table of connections."""


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running("--look-interval-s", "1") as made:
        made.commit(lan(), wan(addresses=("203.0.113.2/24", "2001:db8:100::2/64")), UNBOUNDED)
        near = [f"addr add {TALKER}/24 dev c0", f"addr add {SCANNER6}/64 dev c0 nodad"]
        netns.ip(made.client_ns, [*near, "route replace default via 2001:db8:64::1 dev c0"])
        for source, gateway in ((SCANNER, "10.64.0.1"), (SCANNER6, "2001:db8:64::1")):
            until(f"{gateway} has been found", partial(found_gateway, made, source, gateway))
        yield made


def found_gateway(rig: Rig, source: str, gateway: str) -> bool:
    """Until it has, the kernel keeps some 140 packets of a scan and drops the rest."""
    with bound(rig.client_ns, source) as link:
        link.sendto(b"", (gateway, 9))
    shown = netns.run(["ip", "-n", rig.client_ns, "neighbour", "show", "to", gateway, "nud", "reachable"])
    return "lladdr" in shown


def scan(rig: Rig, source: str, packets: int) -> None:
    """One packet to each of so many hosts."""
    chance = random.Random(5)
    with bound(rig.client_ns, source) as link:
        for _ in range(packets):
            host = chance.randrange(1, 65_000)
            to = f"2001:db8:100::{host:x}" if ":" in source else f"203.0.{host >> 8}.{host & 255}"
            link.sendto(b"", (to, 9))


def talk(rig: Rig, packets: int) -> None:
    with bound(rig.client_ns, TALKER) as link:
        for number in range(packets):
            link.sendto(b"", (f"203.0.113.{20 + number % 5}", 9))


def opened(rig: Rig) -> ScanSources:
    """In the router's network namespace, as the agent does."""
    made: list[ScanSources] = []

    def enter() -> None:
        netns.enter(rig.router)
        made.append(ScanSources(str(find_library())))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    return made[0]


def seen(rig: Rig, send: Callable[[], None], least: int = 2) -> dict[str, Seen]:
    with closing(opened(rig)) as sources:
        sources.watch(True)
        send()
        sources.watch(False)
        return {found.source: found for found in sources.read(least)}


def test_a_scanner_asks_for_many_destinations_and_others_for_few(rig: Rig) -> None:
    rig.run("ip", "route", "replace", "203.0.0.0/16", "via", "203.0.113.1")

    def send() -> None:
        scan(rig, SCANNER, 600)
        talk(rig, 300)

    found = seen(rig, send)
    scanner, talker = found[f"{SCANNER}/32"], found[f"{TALKER}/32"]
    print("lookups for a scan of 600:", scanner.lookups)
    assert 590 <= scanner.lookups <= 640
    assert 540 <= scanner.destinations <= 660
    assert talker.lookups >= 300
    assert 4 <= talker.destinations <= 7


def test_a_source_of_ipv6_is_its_64(rig: Rig) -> None:
    found = seen(rig, lambda: scan(rig, SCANNER6, 400))
    assert 350 <= found["2001:db8:64::/64"].destinations <= 450


def test_what_is_not_watched_or_of_another_router_is_not_counted(rig: Rig) -> None:
    with closing(opened(rig)) as sources:
        scan(rig, SCANNER, 50)
        assert sources.read(1) == []
        sources.watch(True)
        sources.watch(False)
        scan(rig, SCANNER, 50)
        assert sources.read(1) == []
    with closing(ScanSources(str(find_library()))) as elsewhere:
        elsewhere.watch(True)
        scan(rig, SCANNER, 50)
        elsewhere.watch(False)
        assert f"{SCANNER}/32" not in {found.source for found in elsewhere.read(1)}


def test_a_bounded_scanner_costs_no_lookup(rig: Rig) -> None:
    rig.commit(BoundedSource("b1", f"{SCANNER}/32", packets_per_second=10, burst=10))
    found = seen(rig, lambda: scan(rig, SCANNER, 600))
    rig.commit(delete=[("bounded-source", "b1")])
    print("lookups for a scan of 600, bounded:", found[f"{SCANNER}/32"].lookups)
    assert found[f"{SCANNER}/32"].lookups < 150


def findings(rig: Rig) -> dict[str, str]:
    """Who scans and what is full, with the sentences."""
    listed = rig.agent.call("findings")["findings"]
    return {item["code"]: item["sentence"] for item in listed if item["code"] in ("scan", "connections-full")}


def outcome(rig: Rig) -> str:
    (trial,) = rig.agent.call("findings")["trials"]
    return "" if trial["outcome"] == "measuring" else f"{trial['outcome']}: {trial['sentence']}"


def test_a_scan_that_fills_the_table_is_a_finding_and_its_remedy_helps(rig: Rig) -> None:
    """From sick to healed under the same scan; by default no host can fill the table."""
    rig.run("ip", "route", "replace", ills.SCANNED, "via", "203.0.113.1")
    with ills.scanner(rig.client_ns, SCANNER):
        until("it is found", lambda: len(findings(rig)) == 2)
        sick = findings(rig)
        assert re.match(rf"{SCANNER}/32 asks for the way to new destinations, [0-9,]+/s", sick["scan"])
        rig.commit(BoundedSource("b1", f"{SCANNER}/32", packets_per_second=100, burst=100))
        asked = {"code": "scan", "subject": f"{SCANNER}/32", "remedy": "bound-source", "revision": 2}
        rig.agent.call("try_remedy", asked)
        assert until("it is measured", lambda: outcome(rig)).startswith("helped")
        until("the scan is over", lambda: "scan" not in findings(rig))
    print(*sick.values(), outcome(rig))
    rig.commit(delete=[("bounded-source", "b1")])
    rig.run("conntrack", "-F")
    until("nothing is full", lambda: not findings(rig))


class Sources:
    """Sees one scanner in each window, and counts what is attached."""

    def __init__(self) -> None:
        self.attached, self.windows = False, 0

    def watch(self, on: bool) -> None:
        self.attached = on
        self.windows += on

    def read(self, least: int) -> list[Seen]:
        return [Seen("192.0.2.7/32", 500, 400)]

    def close(self) -> None:
        self.attached = False


def watching(sources: Sources, packets_each: int) -> ScanWatch:
    """Each look of 50 ms at the cores finds so many packets more."""
    counter = count(step=packets_each)
    cores = lambda: [Core(next(counter), 0, 0, 0, 0)]  # noqa: E731
    return ScanWatch(0.05, lambda: sources, cores)  # type: ignore[arg-type, return-value]


def test_windows_are_short_and_nothing_is_attached_between_or_after_them() -> None:
    sources = Sources()
    watch = watching(sources, 100_000)
    watch.start()
    until("there was a window", lambda: watch.found())
    watch.stop()
    assert not sources.attached
    (found,) = watch.found() or ()
    assert isinstance(found, Scan) and found.source == "192.0.2.7/32"
    assert found.destinations_ps > 400  # in far less than a second


def test_a_router_that_receives_little_is_not_watched() -> None:
    sources = Sources()
    watch = watching(sources, 1)
    watch.start()
    until("it was looked", lambda: watch.found() is not None)
    watch.stop()
    assert watch.found() == () and sources.windows == 0


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (OSError(95, "the kernel refuses programs at the tracepoints of route lookups"), "route lookups"),
        (RuntimeError("nobody foresaw it"), "it failed, and is tried again"),
    ],
)
def test_what_cannot_be_watched_is_told(failure: Exception, words: str) -> None:
    def refuses() -> ScanSources:
        raise failure

    watch = ScanWatch(0.05, refuses, list)

    def is_told() -> bool:
        try:
            watch.found()
        except Unavailable as problem:
            return words in problem.message
        return False

    watch.start()
    until("it is told", is_told)
    watch.stop()

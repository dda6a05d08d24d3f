# SPDX-License-Identifier: Apache-2.0
"""radvd announces the router to hosts behind it: a Linux host makes an address of its own, and a solicitation
is answered with the options that were configured."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv6Address, IPv6Network
from pathlib import Path
from typing import Any

import pytest

from lab import netns
from tests.agent.rig import Rig, lan, running, wan
from tests.agent.test_effects import committed
from tests.agent.test_parts import configured
from tests.polling import until
from weir.backends.announced import Announced
from weir.backends.announcing import CONF, AnnouncingBackend
from weir.backends.daemons import SETTLED_S
from weir.kinds.dns import Dns
from weir.model.announcing import Announcement
from weir.model.document import Change
from weir.model.interface import Interface
from weir.model.problem import ApplyFailed
from weir.parts.announcing import AnnounceSpec, PrefixSpec
from weir.parts.registry import PARTS
from weir.store.clock import Now

PREFIX, OTHER = "2001:db8:64::/64", "2001:db8:65::/64"
ASK = """
import socket, struct
link = socket.if_nametoindex("c0")
asking = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
asking.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"c0")
asking.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
asking.settimeout(5)
asking.sendto(bytes((133, 0, 0, 0, 0, 0, 0, 0)), ("ff02::2", 0, 0, link))
while True:
    packet = asking.recv(2000)
    if packet[0] == 134:
        print(packet.hex())
        break
"""


def told(rig: Rig) -> dict[str, Any]:
    """The announcement that answers a solicitation, read by RFC 4861, RFC 8106."""
    packet = bytes.fromhex(rig.run(sys.executable, "-c", ASK, namespace=rig.client_ns).strip())
    found: dict[str, Any] = {
        "managed": bool(packet[5] & 0x80),
        "other": bool(packet[5] & 0x40),
        "lifetime_s": int.from_bytes(packet[6:8], "big"),
        "prefixes": {},
    }
    at = 16
    while at < len(packet):
        option = packet[at : at + packet[at + 1] * 8]
        if option[0] == 3:
            network = str(IPv6Network((option[16:32], option[2])))
            valid_s, preferred_s = (int.from_bytes(option[n : n + 4], "big") for n in (4, 8))
            found["prefixes"][network] = (bool(option[3] & 0x40), preferred_s, valid_s)
        elif option[0] == 25:
            found["dns"] = str(IPv6Address(option[8:24]))
        elif option[0] == 31:
            found["domain"] = _domain(option[8:])
        at += len(option)
    return found


def _domain(labels: bytes) -> str:
    found = []
    while labels and labels[0]:
        found.append(labels[1 : 1 + labels[0]].decode())
        labels = labels[1 + labels[0] :]
    return ".".join(found)


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    with running() as made:
        made.commit(lan(ra=Announcement()), wan(), Dns(enabled=True, domain="home.example"))
        yield made


def addresses(rig: Rig) -> dict[str, bool]:
    """Of the host: which of the router's prefixes it has addresses of, and whether these are deprecated."""
    (link,) = json.loads(rig.run("ip", "-j", "-6", "address", "show", "c0", namespace=rig.client_ns))
    return {
        str(IPv6Network((item["local"], 64), strict=False)): bool(item.get("deprecated"))
        for item in link["addr_info"]
        if item.get("dynamic")
    }


def gateways(rig: Rig) -> str:
    return rig.run("ip", "-6", "route", "show", "default", namespace=rig.client_ns)


def learnt(rig: Rig) -> Any:
    return rig.agent.call("state", {"kind": "interface"})["objects"].get("lan0", {}).get("announced")


def test_a_host_gets_an_address_a_gateway_and_a_name_server(rig: Rig) -> None:
    until("it has an address", lambda: PREFIX in addresses(rig), 15.0)
    until("it has a default route", lambda: "via fe80::" in gateways(rig))
    found = told(rig)
    assert found["prefixes"] == {PREFIX: (True, 14_400, 86_400)}
    assert (found["lifetime_s"], found["managed"], found["other"]) == (1800, False, False)
    assert (found["dns"], found["domain"]) == ("2001:db8:64::1", "home.example")
    assert learnt(rig) == [{"prefix": PREFIX, "autonomous": True, "preferred_s": 14_400, "valid_s": 86_400}]
    lines = rig.explain("lan0", "interface")["lines"]
    assert [line for line in lines if "announces" in str(line)], lines


def test_flags_and_lifetimes_are_those_that_were_configured(rig: Rig) -> None:
    rig.commit(lan(ra=Announcement(False, True, True, 0, 1000, 2000)))
    found = told(rig)
    assert found["prefixes"] == {PREFIX: (True, 1000, 2000)} and "dns" not in found
    assert (found["lifetime_s"], found["managed"], found["other"]) == (0, True, True)
    until("it gives up the gateway", lambda: not gateways(rig))


def test_another_prefix_ends_the_one_before_also_after_a_start(rig: Rig) -> None:
    rig.commit(lan(ra=Announcement()))
    until("it has an address", lambda: addresses(rig).get(PREFIX) is False)
    said = committed(rig, lan(addresses=("10.64.0.1/24", "2001:db8:65::1/64"), ra=Announcement()))
    assert "give up 2001:db8:64::/64" in said["interface", "lan0"]["text"]
    until("it has one of the new prefix", lambda: addresses(rig).get(OTHER) is False)
    until("that of before is deprecated", lambda: addresses(rig).get(PREFIX) is True)
    pid = int((rig.folder / "daemons/announcing/pid").read_text().split()[0])
    rig.kill_agent()
    os.kill(pid, 9)
    rig.start_agent()
    until("another one answers", lambda: learnt(rig))
    assert told(rig)["prefixes"] == {OTHER: (True, 14_400, 86_400), PREFIX: (True, 0, 0)}


def test_announcements_that_end_take_the_gateway_along(rig: Rig) -> None:
    rig.commit(lan(ra=Announcement()))
    until("it has a gateway", lambda: gateways(rig))
    said = committed(rig, lan())["interface", "lan0"]
    assert said["effect"] == "drops-sessions" and "gateway" in said["text"]
    until("it gives up the gateway", lambda: not gateways(rig))
    assert learnt(rig) is None


def test_a_forwarding_router_takes_nothing_from_others_that_announce(rig: Rig) -> None:
    """As Linux does with `accept_ra` 1."""
    conf = rig.folder / "far.conf"
    conf.write_text("interface i0 { AdvSendAdvert on; MaxRtrAdvInterval 4; MinRtrAdvInterval 3; };\n")
    rig.run("sysctl", "-qw", "net.ipv6.conf.all.forwarding=1", namespace=rig.internet)
    far = ("radvd", "-n", "-m", "stderr", "-C", str(conf), "-p", str(rig.folder / "far.pid"))
    rig.spawn("far", far, netns.entering(rig.internet))
    rig.commit(lan(ra=Announcement()))
    before = rig.run("cat", "/proc/net/snmp6")
    until("it has heard one", lambda: _heard(rig.run("cat", "/proc/net/snmp6")) > _heard(before), 15.0)
    assert "default" not in rig.run("ip", "-6", "route")


def _heard(table: str) -> int:
    (count,) = [line.split()[1] for line in table.splitlines() if line.startswith("Icmp6InRouterAdv")]
    return int(count)


# -- without a router -------------------------------------------------------------------------------------


SPEC = AnnounceSpec("lo", (PrefixSpec(PREFIX, True, 60, 60),), (), None, False, False, 1800)


def bring(backend: AnnouncingBackend, *wanted: AnnounceSpec) -> None:
    difference = backend.diff(backend.read(), {spec.ifname: spec for spec in wanted})
    backend.apply(difference)
    backend.verify(difference)


def made(folder: Path, now: list[float], ahead_s: float = 0.0) -> AnnouncingBackend:
    """The clock on the wall goes `ahead_s` before the one since boot."""

    def both() -> Now:
        return Now(int((now[0] + ahead_s) * 1000), "this boot", int(now[0] * 1000))

    return AnnouncingBackend(folder / "ra", folder / "memory.json", now=both)


def test_one_interface_that_ends_beside_another_says_so_until_no_host_can_have_it(tmp_path: Path) -> None:
    now = [1000.0]
    backend = made(tmp_path, now)
    one = AnnounceSpec("eth8", (PrefixSpec(OTHER, True, 60, 60),), (), None, False, False, 1800)
    try:
        bring(backend, SPEC, one)
        bring(backend, SPEC)
        text = backend.daemon.read()[CONF]
        ended = text.partition("interface eth8 ")[2].partition("\ninterface ")[0]
        assert "AdvDefaultLifetime 0;" in ended
        assert f"prefix {OTHER} {{ AdvAutonomous on; AdvPreferredLifetime 0; AdvValidLifetime 0;" in ended
        now[0] += 61.0
        again = made(tmp_path, now)
        assert not again.diff(again.read(), {"lo": SPEC}), "time alone changes no file"
        more = AnnounceSpec("eth9", (), (), None, False, False, 1800)
        again.diff(again.read(), {"lo": SPEC, "eth9": more})
        assert not again.diff(again.read(), {"lo": SPEC}), "nor does a look at what would be"
        bring(again, SPEC, more)
        assert OTHER not in again.daemon.read()[CONF]
        assert OTHER not in (tmp_path / "memory.json").read_text()
        again.daemon.stop()
    finally:
        backend.daemon.stop()


def test_a_clock_that_is_set_ends_nothing_early_nor_late(tmp_path: Path) -> None:
    now, year_s = [1000.0], 365 * 86_400.0
    backend = made(tmp_path, now)
    changed = replace(SPEC, prefixes=(PrefixSpec(OTHER, True, 60, 60),))
    try:
        bring(backend, SPEC)
        bring(backend, changed)
        for ahead_s in (-year_s, year_s):
            assert PREFIX in made(tmp_path, [1059.0], ahead_s).files({"lo": changed})[CONF]
            assert PREFIX not in made(tmp_path, [1061.0], ahead_s).files({"lo": changed})[CONF]
    finally:
        backend.daemon.stop()


def test_a_memory_from_before_deadlines_is_read_and_one_bad_row_costs_no_other(tmp_path: Path) -> None:
    """It has seconds by the clock on the wall."""
    memory = tmp_path / "memory.json"
    rows = {PREFIX: [60, 1030.5], OTHER: [60, None], "2001:db8:66::/64": [60, "noon"], "x": 3}
    memory.write_text(json.dumps({"eth8": rows, "eth9": {PREFIX: [60, 990.0]}}))
    held = Announced(memory, lambda: Now(1_000_000, "this boot", 5000))
    assert held.ended({}) == {"eth8": [PREFIX, OTHER]}
    late = Announced(memory, lambda: Now(1_031_000, "this boot", 36_000))
    assert late.ended({}) == {"eth8": [OTHER]}


def test_what_no_host_has_any_more_leaves_by_itself_and_that_is_no_drift(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    backend = made(tmp_path, now)
    addresses = ("10.64.0.1/24", "2001:db8:65::1/64")
    port = Interface("lan0", "lan", addresses=("2001:db8:64::1/64",), ra=Announcement())
    try:
        with configured(tmp_path, PARTS, announcing=backend) as found:
            found.apply(0, 1, [Change("interface", "lan0", None, port)])
            found._settled(found.following.judge(None))
            found.apply(1, 2, [Change("interface", "lan0", port, replace(port, addresses=addresses))])
            found._settled(found.following.judge(None))
            found.pass_time()
            assert PREFIX in backend.daemon.read()[CONF]
            now[0] += 86_401.0
            found.reconcile()
            assert PREFIX in backend.daemon.read()[CONF]
            found.pass_time()
            assert PREFIX not in backend.daemon.read()[CONF] and OTHER in backend.daemon.read()[CONF]
            assert PREFIX not in (tmp_path / "memory.json").read_text()
            assert found.drift.to_json() == []
    finally:
        backend.daemon.stop()


def test_a_file_that_radvd_refuses_is_refused_in_its_words(tmp_path: Path) -> None:
    backend = made(tmp_path, [0.0])
    try:
        bring(backend, SPEC)
        before = backend.daemon.identity()
        odd = AnnounceSpec("lo", (PrefixSpec("nonsense", True, 60, 60),), (), None, False, False, 1800)
        with pytest.raises(ApplyFailed, match=r"announcing refuses its files: .*syntax error"):
            bring(backend, odd)
        assert backend.daemon.identity() == before and not backend.diff(backend.read(), {"lo": SPEC})
    finally:
        backend.daemon.stop()


def test_what_hosts_may_have_heard_is_remembered_also_when_the_commit_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hangs(_is_settled: object, _deadline_s: float) -> None:
        raise ApplyFailed("announcing has not taken its files")

    backend = made(tmp_path, [0.0])
    try:
        bring(backend, SPEC)
        monkeypatch.setattr(backend.daemon, "wait", hangs)
        with pytest.raises(ApplyFailed):
            bring(backend, replace(SPEC, prefixes=(PrefixSpec(OTHER, True, 60, 60),)))
        again = made(tmp_path, [0.0])
        (text,) = again.diff(again.read(), {"lo": SPEC}).wanted.values()
        assert f"prefix {OTHER} {{ AdvAutonomous on; AdvPreferredLifetime 0; AdvValidLifetime 0;" in text
    finally:
        backend.daemon.stop()


LATE = """#!/usr/bin/env -S --default-signal=HUP sh
case "$*" in *--configtest*) exit 0;; esac
echo started
sleep 0.5
trap 'echo resuming normal operation' HUP
while :; do sleep 0.05; done
"""
"""A radvd that says that it has begun before it knows what SIGHUP is, as radvd does on a slow machine."""


def test_a_commit_right_after_the_first_one_does_not_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = in_place_of_radvd(LATE, tmp_path, monkeypatch)
    try:
        bring(backend, SPEC)
        first = backend.daemon.identity()
        bring(backend, replace(SPEC, router_lifetime_s=900))
        assert backend.daemon.identity() == first
    finally:
        backend.daemon.stop()


def in_place_of_radvd(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> AnnouncingBackend:
    program = folder / "radvd"
    program.write_text(script)
    program.chmod(0o755)
    monkeypatch.setattr("weir.backends.announcing.shutil.which", lambda *_, **__: str(program))
    return made(folder, [0.0])


SLOW = """#!/usr/bin/env -S --default-signal=HUP sh
case "$*" in *--configtest*) sleep 1.2; exit 0;; esac
trap : HUP
echo started
while :; do sleep 0.05; done
"""
"""A radvd that takes long over a check, and does not say that it has read its file again."""


def test_check_and_answer_share_one_deadline_and_a_late_answer_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = in_place_of_radvd(SLOW, tmp_path, monkeypatch)
    try:
        bring(backend, SPEC)
        other = replace(SPEC, router_lifetime_s=900)
        difference = backend.diff(backend.read(), {"lo": other})
        begun = time.monotonic()
        with pytest.raises(ApplyFailed, match="announcing has not taken its files"):
            backend.apply(difference)
        assert time.monotonic() - begun < SETTLED_S + 1.0
        with (tmp_path / "ra/said").open("a") as said:
            said.write("resuming normal operation\n")
        assert backend.learn(None) == {}, "who only asks notes nothing"
        backend.verify(difference)
        assert backend.learn(None).keys() == {"lo"}
    finally:
        backend.daemon.stop()

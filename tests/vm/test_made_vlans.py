# SPDX-License-Identifier: Apache-2.0
"""VLANs that the router makes, with a kernel that has them: made, stacked, changed, removed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.datapath.topology import run
from weir.adapters.netlink import Links
from weir.backends.network import NetworkBackend
from weir.model.interface import Vlan
from weir.model.problem import ApplyFailed
from weir.parts.network import NetworkSpec

pytestmark = [
    pytest.mark.skipif(not os.environ.get("WEIR_IN_VM"), reason="needs the virtual machine's kernel"),
]

PORT, PEER = "vlport0", "vlpeer0"
OUTER, INNER = Vlan(PORT, 100, "802.1ad"), Vlan("acme", 7)
PLAIN = NetworkSpec(PORT, True, (), None, "")


def acme(vlan: Vlan = OUTER, mtu: int | None = None, *, up: bool = True) -> NetworkSpec:
    return NetworkSpec("acme", up, ("10.9.0.1/24",) if up else (), mtu, "", vlan)


VOICE = NetworkSpec("voice", True, ("10.9.7.1/24",), None, "", INNER)


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[NetworkBackend]:
    """A port whose other end is in a namespace of its own, so that frames have to pass the cable."""
    run("ip", "netns", "add", "vlfar")
    run("ip", "link", "add", PORT, "type", "veth", "peer", "name", PEER, "netns", "vlfar")
    links = Links()
    try:
        yield NetworkBackend(links, tmp_path / "mtus")
    finally:
        links.close()
        for words in (["ip", "link", "del", PORT], ["ip", "netns", "del", "vlfar"]):
            with suppress(Exception):
                run(*words)


def bring(backend: NetworkBackend, *wanted: NetworkSpec) -> list[str]:
    """As the agent does it; the steps, and then nothing is left to do."""
    specs = {spec.ifname: spec for spec in wanted}
    difference = backend.diff(backend.read(), specs)
    steps = [f"{step.action} {step.text}" for step in difference.steps() if step.what != "setting"]
    backend.apply(difference)
    backend.verify(difference)
    assert not backend.diff(backend.read(), specs)
    return steps


def shown(name: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = json.loads(run("ip", "-j", "-d", "link", "show", name))
    return found[0]


def far(*words: str) -> str:
    return run("ip", "netns", "exec", "vlfar", *words)


def test_frames_with_two_tags_reach_the_other_end(backend: NetworkBackend) -> None:
    bring(backend, VOICE, acme(), PLAIN)
    for words in (
        f"ip link set {PEER} up",
        f"ip link add link {PEER} name outer up type vlan id 100 protocol 802.1ad",
        "ip link add link outer name inner up type vlan id 7",
        "ip address add 10.9.7.2/24 dev inner",
    ):
        far(*words.split())
    assert " 0% packet loss" in run("ping", "-q", "-c", "3", "-i", "0.1", "-W", "5", "10.9.7.2")
    assert shown("voice")["linkinfo"]["info_data"]["protocol"] == "802.1Q"
    assert {shown(name)["group"] for name in ("acme", "voice")} == {"87"}
    assert shown(PORT)["group"] == "default"


def test_what_can_change_in_place_does(backend: NetworkBackend) -> None:
    bring(backend, acme(), PLAIN)
    index = shown("acme")["ifindex"]
    assert bring(backend, acme(mtu=1400), PLAIN) == ["change acme mtu 1400"]
    grown = NetworkSpec(PORT, True, (), 9000, "")
    assert bring(backend, acme(), grown) == [f"change {PORT} mtu 9000", "change acme mtu 9000"]
    assert bring(backend, acme(), NetworkSpec(PORT, True, (), 1450, ""))[0] == f"change {PORT} mtu 1450"
    assert shown("acme")["mtu"] == 1450
    bring(backend, acme(up=False), PLAIN)
    run("ip", "link", "set", PORT, "down")
    bring(backend, acme(up=False), PLAIN)
    assert "UP" not in shown("acme")["flags"]
    bring(backend, acme(), PLAIN)
    assert shown("acme")["ifindex"] == index


def test_another_tag_and_its_end_leave_what_is_not_ours(backend: NetworkBackend) -> None:
    bring(backend, VOICE, acme(), PLAIN)
    run("ip", "link", "add", "link", PORT, "name", "theirs", "type", "vlan", "id", "5")
    bring(backend, VOICE, acme(Vlan(PORT, 101)), PLAIN)
    assert shown("acme")["linkinfo"]["info_data"]["id"] == 101
    assert json.loads(run("ip", "-j", "address", "show", "voice"))[0]["addr_info"][0]["local"] == "10.9.7.1"
    assert bring(backend, PLAIN) == ["remove voice", "remove acme"]
    assert shown("theirs")["linkinfo"]["info_data"]["id"] == 5
    with pytest.raises(
        ApplyFailed, match=r"VLAN 5 \(802\.1Q\) of vlport0 is theirs, which Weir did not make"
    ):
        bring(backend, acme(Vlan(PORT, 5)), PLAIN)


def test_it_comes_with_its_port(backend: NetworkBackend) -> None:
    bring(backend, acme(), PLAIN)
    run("ip", "link", "del", PORT)
    assert backend.diff(backend.read(), {"acme": acme(), PORT: PLAIN}).missing == [PORT, "acme"]
    run("ip", "link", "add", PORT, "type", "veth", "peer", "name", PEER, "netns", "vlfar")
    assert bring(backend, acme(), PLAIN)[0] == "add acme: VLAN 100 (802.1ad) of vlport0"


def test_a_failing_request_names_the_interface(backend: NetworkBackend) -> None:
    with pytest.raises(ApplyFailed, match="acme: MTU 9000: Numerical result out of range"):
        bring(backend, acme(mtu=9000), PLAIN)
    assert subprocess.run(["ip", "link", "show", "acme"], check=False, capture_output=True).returncode == 0

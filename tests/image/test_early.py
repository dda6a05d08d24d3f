# SPDX-License-Identifier: Apache-2.0
"""What a start does before the agent is there: the image's script in a network namespace of its own."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import netns
from weir.agent.early import MAX_BYTES, content_of
from weir.model.document import Document
from weir.model.interface import Interface
from weir.parts.firewall import FIREWALL
from weir.parts.network import NETWORK

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "board/overlay/usr/libexec/weir/early"
PORTS = ("lan0", "wan0")


@pytest.fixture
def router() -> Iterator[str]:
    """A namespace with two ports, as the kernel leaves them."""
    name = f"weir-early-test-{os.getpid()}"
    netns.remove(name)
    netns.create(name)
    try:
        netns.ip(name, [f"link add {port} type veth peer name {port}-peer" for port in PORTS])
        yield name
    finally:
        netns.remove(name)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    lan = Interface("lan0", role="lan", addresses=("192.168.88.1/24", "2001:db8:88::1/64"))
    document = Document([lan, Interface("wan0", role="wan", addresses=("198.51.100.2/30",))])
    path = tmp_path / "early"
    path.write_bytes(content_of(FIREWALL.wanted(document), NETWORK.wanted(document)))
    return path


def start(router: str, kept: Path, *, wait_ms: int = 0) -> subprocess.CompletedProcess[str]:
    command = [str(SCRIPT), str(kept), str(kept.parent / "run/early"), str(wait_ms)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=30, check=False, preexec_fn=netns.entering(router)
    )


def asked(router: str, *command: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, preexec_fn=netns.entering(router)
    )
    return done.stdout


def addresses(router: str) -> set[str]:
    links = json.loads(asked(router, "ip", "-j", "address"))
    return {
        f"{item['local']}/{item['prefixlen']}"
        for link in links
        for item in link.get("addr_info", ())
        if item.get("scope") == "global"
    }


def up(router: str) -> set[str]:
    links = json.loads(asked(router, "ip", "-j", "link"))
    return {link["ifname"] for link in links if "UP" in link["flags"]}


def has_firewall(router: str) -> bool:
    return "table inet weir" in asked(router, "nft", "list", "tables")


def signed(words: str) -> bytes:
    body = words.encode()
    return f"weir-early 1 {hashlib.sha256(body).hexdigest()}\n".encode() + body


def test_firewall_and_addresses_are_there_and_nothing_is_forwarded(router: str, kept: Path) -> None:
    done = start(router, kept)
    assert (done.returncode, done.stderr) == (0, "")
    assert addresses(router) == {"192.168.88.1/24", "2001:db8:88::1/64", "198.51.100.2/30"}
    assert up(router) == set(PORTS)
    told = asked(router, "nft", "list", "chain", "inet", "weir", "input")
    assert 'iifname "wan0" counter name "f_wan_router" drop' in told
    for setting in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding", "net.ipv6.conf.wan0.accept_ra"):
        assert asked(router, "sysctl", "-n", setting).strip() == "0", setting


def test_a_port_that_is_gone_keeps_the_others_waiting_for_no_longer_than_that(
    router: str, kept: Path
) -> None:
    asked(router, "ip", "link", "delete", "wan0")
    began = time.monotonic()
    done = start(router, kept, wait_ms=200)
    assert time.monotonic() - began >= 0.2
    assert done.returncode == 0
    assert "the agent does the rest" in done.stderr
    assert addresses(router) == {"192.168.88.1/24", "2001:db8:88::1/64"}
    assert has_firewall(router)


def test_a_port_that_udev_names_later_is_waited_for(router: str, kept: Path) -> None:
    asked(router, "ip", "link", "set", "wan0", "name", "eth1")
    command = [str(SCRIPT), str(kept), str(kept.parent / "run/early"), "20000"]
    with subprocess.Popen(command, preexec_fn=netns.entering(router)) as script:
        while not has_firewall(router):
            assert script.poll() is None
        assert not addresses(router)
        asked(router, "ip", "link", "set", "eth1", "name", "wan0")
        assert script.wait(timeout=30) == 0
    assert "198.51.100.2/30" in addresses(router)


def test_no_port_comes_up_when_the_firewall_is_refused(router: str, kept: Path) -> None:
    kept.write_bytes(
        signed('{"nftables": [{"add": {"chain": {"family": "none"}}}]}\nlan0\nlink set dev lan0 up\n')
    )
    done = start(router, kept)
    assert done.returncode == 1
    assert not up(router)


def test_the_largest_file_that_the_agent_keeps_is_not_taken_for_a_damaged_one(
    router: str, kept: Path
) -> None:
    rules, ports = kept.read_text().splitlines()[1:3]
    words = "link set dev lan0 up\n"
    head = f"{rules}\n{ports}\n"
    content = signed(head + words * ((MAX_BYTES - len(signed(head))) // len(words)))
    kept.write_bytes(content)
    assert MAX_BYTES - len(words) < len(content) <= MAX_BYTES
    done = start(router, kept)
    assert (done.returncode, done.stderr) == (0, "")
    assert up(router) == {"lan0"}


@pytest.mark.parametrize(
    "damage", ["cut", "changed", "longer", "other format", "empty", "foreign", "link", "gone"]
)
def test_a_file_that_is_not_whole_or_not_ours_is_left_alone(router: str, kept: Path, damage: str) -> None:
    content = kept.read_bytes()
    if damage == "foreign":
        os.chown(kept, 64711, 64711)
    elif damage == "link":
        kept.rename(kept.with_name("other"))
        kept.symlink_to(kept.with_name("other"))
    elif damage == "gone":
        kept.unlink()
    else:
        kept.write_bytes(
            {
                "cut": content[:-20],
                "changed": content.replace(b"198.51.100.2/30", b"198.51.100.3/30"),
                "longer": content + b"link set dev wan0 down\n",
                "other format": content.replace(b"weir-early 1 ", b"weir-early 2 "),
                "empty": b"",
            }[damage]
        )
    done = start(router, kept)
    assert done.returncode == 1
    assert "addresses come with the agent" in done.stderr
    assert not up(router)
    assert not addresses(router)
    assert not has_firewall(router)

# SPDX-License-Identifier: Apache-2.0
"""Tunnels and peers through REST, and a client's configuration that is shown once."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.kinds.toys import Toy, toy
from weir import x25519
from weir.model.codec import from_json
from weir.model.document import Document
from weir.model.interface import Interface, Wireguard
from weir.model.rules import validate_all
from weir.parts.firewall import FIREWALL
from weir.parts.network import NETWORK
from weir.parts.wireguard import WIREGUARD

ROUTERS_KEY = x25519.public_of(x25519.new_private())


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Toy]:
    with toy(tmp_path) as found:
        yield found


def tunnel(router: Toy, **more: Any) -> Any:
    body = {"type": "wireguard", "addresses": ["10.9.0.1/24"], **more}
    answer = router.api("PUT", "/interfaces/wg0", body)
    assert answer.status_code == 201, answer.json
    router.world.agent.learnt["interface"] = {"wg0": {"public_key": ROUTERS_KEY}}
    return answer.json


def peer(router: Toy, name: str = "phone", **more: Any) -> Any:
    return router.api("POST", "/wireguard-peers", {"id": name, "interface": "wg0", **more})


def test_a_tunnel_needs_nothing_but_its_type(router: Toy) -> None:
    made = tunnel(router)
    assert made["wireguard"] == {"private_key": {"set": True}, "listen_port": 51820}
    agent = router.world.agent
    key = agent.secrets.texts(agent.kernel["interface", "wg0"])["wireguard.private_key"]
    assert len(base64.b64decode(key)) == 32
    assert router.api("GET", "/interfaces/wg0/state").json["fields"]["public_key"] == ROUTERS_KEY
    page = router.api("GET", "/interfaces?with=state").json
    assert [item["fields"]["public_key"] for item in page["states"]] == [ROUTERS_KEY]


def test_a_client_is_made_once(router: Toy) -> None:
    tunnel(router)
    client = {"addresses": ["10.9.0.2/32"], "dns": ["10.9.0.1"], "endpoint": "vpn.example.net:51820"}
    made = peer(router, client=client)
    assert [item["code"] for item in made.json["warnings"]] == ["no-public-key", "nothing-allowed"]
    assert router.api("POST", "/wireguard-peers/phone/client").status_code == 428
    answer = router.api("POST", "/wireguard-peers/phone/client", etag=made.json["etag"])
    assert answer.status_code == 200 and answer.headers["Cache-Control"] == "no-store"
    text = answer.json["config"]
    said = dict(line.split(" = ", 1) for line in text.splitlines() if " = " in line)
    shown = router.api("GET", "/wireguard-peers/phone").json
    assert shown["public_key"] == x25519.public_of(said["PrivateKey"])
    assert shown["allowed_ips"] == ["10.9.0.2/32"] and shown["preshared_key"] == {"set": True}
    assert said["PublicKey"] == ROUTERS_KEY and said["Endpoint"] == "vpn.example.net:51820"
    assert said["AllowedIPs"] == "0.0.0.0/0, ::/0" and said["DNS"] == "10.9.0.1"
    agent = router.world.agent
    assert agent.secrets.texts(agent.kernel["wireguard-peer", "phone"]) == {
        "preshared_key": said["PresharedKey"]
    }
    assert ElementTree.fromstring(answer.json["qr_svg"]).tag.endswith("svg")
    trail = router.api("GET", "/system/audit?limit=1").json["items"]
    assert trail[0]["action"] == "config.commit" and said["PrivateKey"] not in str(trail)
    files = b"".join(path.read_bytes() for path in router.folder.rglob("*") if path.is_file())
    for secret in (said["PrivateKey"], said["PresharedKey"]):
        assert secret.encode() not in files
    stale = router.api("POST", "/wireguard-peers/phone/client", etag=made.json["etag"])
    assert stale.status_code == 412
    again = router.api("POST", "/wireguard-peers/phone/client", etag=shown["etag"])
    assert said["PrivateKey"] not in again.text


def test_a_command_makes_a_client_too(router: Toy) -> None:
    router.weir("interface", "add", "wg0", "--type", "wireguard", "--address", "10.9.0.1/24")
    router.world.agent.learnt["interface"] = {"wg0": {"public_key": ROUTERS_KEY}}
    client = ("--client-addresses", "10.9.0.2/32", "--client-endpoint", "vpn.example.net:51820")
    router.weir("peer", "add", "phone", "wg0", *client)
    assert "Endpoint = vpn.example.net:51820" in router.weir("peer", "client", "phone")
    blocks = set("\N{FULL BLOCK}\N{UPPER HALF BLOCK}\N{LOWER HALF BLOCK}\N{NO-BREAK SPACE}")
    said = router.weir("peer", "client", "phone", "--qr").splitlines()
    drawn = [line for line in said if line and set(line) <= blocks]
    assert len(drawn) > 20 and len({len(line) for line in drawn}) == 1
    assert "10.9.0.2/32" in router.weir("peer", "list")
    assert ROUTERS_KEY in router.weir("interface", "state", "wg0")


def test_a_client_that_cannot_be_made_says_why(router: Toy) -> None:
    tunnel(router)
    made = peer(router).json
    refused = router.api("POST", "/wireguard-peers/phone/client", etag=made["etag"])
    assert (refused.status_code, refused.json["code"]) == (422, "missing")
    patch = {"client": {"addresses": ["10.9.0.2/32"]}}
    made = router.api("PATCH", "/wireguard-peers/phone", patch, etag=made["etag"]).json
    refused = router.api("POST", "/wireguard-peers/phone/client", etag=made["etag"])
    assert "client.endpoint" in refused.json["detail"]
    wan = {"role": "wan", "addresses": ["203.0.113.9/24"]}
    router.api("PUT", "/interfaces/eth0", wan)
    router.world.agent.learnt["interface"] = {}
    refused = router.api("POST", "/wireguard-peers/phone/client", etag=made["etag"])
    assert (refused.status_code, refused.json["code"]) == (503, "no-public-key")
    router.world.agent.learnt["interface"] = {"wg0": {"public_key": ROUTERS_KEY}}
    answer = router.api("POST", "/wireguard-peers/phone/client", etag=made["etag"])
    assert "Endpoint = 203.0.113.9:51820" in answer.json["config"]


def test_what_is_never_is_not_zero(router: Toy) -> None:
    tunnel(router)
    peer(router)
    unknown = router.api("GET", "/wireguard-peers/phone/state").json["fields"]
    assert set(unknown.values()) == {None}
    router.world.agent.learnt["wireguard-peer"] = {"phone": {"session": "never", "rx_bytes": 0}}
    known = router.api("GET", "/wireguard-peers/phone/state").json["fields"]
    assert (known["session"], known["last_handshake_at"], known["rx_bytes"]) == ("never", None, 0)


WG0 = Interface("wg0", "lan", ("10.9.0.1/24",), wireguard=Wireguard())
KEYS = [x25519.public_of(x25519.new_private()) for _ in range(3)]


def document(*peers: dict[str, Any], interfaces: tuple[Interface, ...] = (WG0,)) -> Document:
    made = [
        from_json("wireguard-peer", {"interface": "wg0", "public_key": KEYS[number], **body}, f"p{number}")
        for number, body in enumerate(peers)
    ]
    return Document([*interfaces, *made])


def codes(*peers: dict[str, Any], interfaces: tuple[Interface, ...] = (WG0,)) -> set[str]:
    return {item.code for item in validate_all(document(*peers, interfaces=interfaces))}


@pytest.mark.parametrize(
    ("peers", "code"),
    [
        ([{"allowed_ips": ["10.9.0.2"]}, {"allowed_ips": ["10.9.0.2"]}], "allowed-ips-taken"),
        ([{"allowed_ips": ["10.9.0.2"]}, {"public_key": KEYS[0]}], "duplicate-key"),
        ([{"allowed_ips": ["0.0.0.0/0"]}], "route-of-everything"),
        ([{"allowed_ips": ["192.0.2.0/24"], "endpoint": "192.0.2.7:51820"}], "endpoint-in-tunnel"),
        ([{"allowed_ips": []}], "nothing-allowed"),
        ([{"interface": "eth0", "allowed_ips": ["10.9.0.2"]}], "unknown-wireguard-tunnel"),
    ],
)
def test_what_cannot_be_is_said(peers: list[dict[str, Any]], code: str) -> None:
    assert code in codes(*peers)


@pytest.mark.parametrize(
    "peers",
    [
        [{"allowed_ips": ["10.9.0.2", "fd00::2"]}, {"allowed_ips": ["10.9.0.3", "fd00::3"]}],
        [{"allowed_ips": ["0.0.0.0/0", "::/0"], "route_allowed_ips": False}],
        [{"allowed_ips": ["10.9.0.2"]}, {"allowed_ips": ["10.9.0.2"], "disabled": True}],
        [{"allowed_ips": ["10.1.0.0/16"]}, {"allowed_ips": ["10.1.2.0/24"]}],
    ],
)
def test_what_can_be_is_taken(peers: list[dict[str, Any]]) -> None:
    assert codes(*peers) == set()


def test_a_tunnel_has_no_frames_and_a_port_of_its_own() -> None:
    others = (
        Interface("wg1", wireguard=Wireguard()),
        from_json("interface", {"vlan": {"parent": "wg0", "id": 7}}, "wg0.7"),
        from_json("interface", {"loopback": {}, "role": "wan", "addressing": "dhcp"}, "lo1"),
    )
    assert codes(interfaces=(WG0, *others)) >= {"port-taken", "not-of-this-type"}  # type: ignore[arg-type]


def test_what_becomes_of_it() -> None:
    found = document({"allowed_ips": ["10.9.0.2", "10.1.0.0/16"]}, {"disabled": True})
    (_, spec) = WIREGUARD.wanted(found).values()
    assert spec.routes == ("10.1.0.0/16",), "10.9.0.2 is in the tunnel's own network"  # type: ignore[union-attr]
    assert (NETWORK.wanted(found)["wg0"].device, NETWORK.wanted(found)["wg0"].mtu) == ("wireguard", 1420)


def test_a_wan_lets_peers_in() -> None:
    wan = Interface("eth0", "wan", ("203.0.113.9/24",))
    rules = FIREWALL.wanted(Document([wan, WG0]))
    (allowed,) = [rule for rule in rules if rule.protocol == "udp"]
    assert (allowed.chain, allowed.verdict, allowed.ports) == ("input", "accept", ("51820",))
    last = next(rule for rule in rules if rule.chain == "input" and rule.verdict == "drop")
    assert rules.index(allowed) < rules.index(last)

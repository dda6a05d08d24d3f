# SPDX-License-Identifier: Apache-2.0
"""Which keys of SSH are taken, what is said of the server, and what the firewall lets in for it."""

from __future__ import annotations

import base64
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from weir.kinds.firewall import Firewall
from weir.kinds.ssh_key import SshKey
from weir.kinds.ssh_server import SshServer
from weir.kinds.zone import Zone
from weir.model.codec import from_json
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.problem import Invalid, Problem
from weir.model.rules import validate_all
from weir.model.ssh_keys import ssh_key
from weir.parts.firewall import FIREWALL
from weir.parts.registry import PARTS
from weir.parts.rule import PacketRule
from weir.parts.ssh import SSH

ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPHXDCSQ9kVhfKRHOnwQYpcIB9v4rLrbjyvhd3CW7zSm"
OTHER = ED25519[:-1] + "n"


def line(kind: str, *parts: bytes) -> str:
    blob = b"".join(struct.pack(">I", len(part)) + part for part in (kind.encode(), *parts))
    return f"{kind} {base64.b64encode(blob).decode()}"


def read(text: str) -> SshKey:
    found = from_json("ssh-key", {"account": "admin", "key": text}, "k")
    assert isinstance(found, SshKey)
    return found


@pytest.mark.parametrize(
    ("options", "kind", "bits"),
    [
        (("-t", "ed25519"), "ssh-ed25519", 256),
        (("-t", "ecdsa", "-b", "256"), "ecdsa-sha2-nistp256", 256),
        (("-t", "ecdsa", "-b", "384"), "ecdsa-sha2-nistp384", 384),
        (("-t", "ecdsa", "-b", "521"), "ecdsa-sha2-nistp521", 521),
        (("-t", "rsa", "-b", "2048"), "ssh-rsa", 2048),
    ],
)
def test_keys_of_ssh_keygen_are_known_as_it_knows_them(
    tmp_path: Path, options: Sequence[str], kind: str, bits: int
) -> None:
    file = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-N", "", "-C", "anna@laptop", "-f", file, *options], check=True)
    text = Path(f"{file}.pub").read_text()
    found = ssh_key(text)
    shown = subprocess.run(["ssh-keygen", "-l", "-f", file], capture_output=True, text=True, check=True)
    assert (found.type, found.bits) == (kind, bits)
    assert shown.stdout.split()[:2] == [str(bits), found.fingerprint]
    assert read(text).key == text.rsplit(" ", 1)[0], "the comment is left out"


def test_security_keys_are_taken() -> None:
    point, application = b"\x04" + bytes(64), b"ssh:"
    assert ssh_key(line("sk-ssh-ed25519@openssh.com", bytes(32), application)).bits == 256
    assert ssh_key(line("sk-ecdsa-sha2-nistp256@openssh.com", b"nistp256", point, application)).bits == 256


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must begin with one of"),
        ("AAAAC3NzaC1lZDI1NTE5AAAAIPHXDCSQ9kVhfKRHOnwQYpcIB9v4rLrbjyvhd3CW7zSm", "must begin with one of"),
        (f'command="id" {ED25519}', "options before the key are not taken"),
        (f"restrict {ED25519}", "options before the key are not taken"),
        (f'from="10.0.0.0/8,!10.1.0.0/16" {ED25519}', "options before the key are not taken"),
        (f"{ED25519}\nssh-rsa AAAA", "one line"),
        ("-----BEGIN OPENSSH PRIVATE KEY----- b3BlbnNzaC1rZXk", "private key"),
        ("---- BEGIN SSH2 PUBLIC KEY ----", "one line"),
        (line("ssh-dss", b"x"), "too weak"),
        ("ssh-ed25519-cert-v01@openssh.com AAAA", "certificate"),
        ("ssh-ed25519", "copied whole"),
        (ED25519[:-4], "damaged"),
        ("ssh-ed25519 %%%%", "not base64"),
        (ED25519.replace("ssh-ed25519 ", "ssh-rsa "), "of another type"),
        (line("ssh-rsa", b"\x01\x00\x01", b"\x7f" + bytes(127)), "RSA key of 1023 bits"),
        (line("ssh-rsa", b"\x01\x00\x01", b"\x7f" + bytes(2000)), "RSA key of 16007 bits"),
        (line("ssh-rsa", b"\x02", b"\x7f" + bytes(300)), "exponent"),
        (line("ssh-rsa", b"\x03"), "damaged"),
        (line("ecdsa-sha2-nistp256", b"nistp384", b"\x04" + bytes(96)), "its curve"),
        (line("ecdsa-sha2-nistp256", b"nistp256", b"\x04" + bytes(63)), "lengths"),
        (line("ssh-ed25519", bytes(33)), "lengths"),
        (line("sk-ssh-ed25519@openssh.com", bytes(32)), "damaged"),
        (line("sk-ssh-ed25519@openssh.com", bytes(32), b""), "lengths"),
    ],
)
def test_anything_else_is_refused_with_the_reason_and_not_repeated(text: str, reason: str) -> None:
    with pytest.raises(Invalid, match=reason) as refused:
        ssh_key(text)
    assert refused.value.code == "bad-ssh-key"
    assert not any(len(word) > 30 and word in refused.value.message for word in text.split())


@pytest.mark.parametrize("value", [None, 7, ["ssh-ed25519"], "ssh-ed25519 \ud800"])
def test_what_is_no_key_at_all_is_refused_at_the_field(value: Any) -> None:
    with pytest.raises(Problem):
        from_json("ssh-key", {"account": "admin", "key": value}, "k")


def codes(*items: Any) -> set[tuple[str, str]]:
    return {(item.code, item.severity) for item in validate_all(Document(items))}


def test_a_key_opens_one_account() -> None:
    first = SshKey(id="a", account="admin", key=ED25519)
    assert ("ssh-key-twice", "error") in codes(first, replace(first, id="b", account="desk", disabled=True))
    assert not codes(first, replace(first, id="b", key=OTHER))


def test_what_makes_no_sense_of_the_server_is_said() -> None:
    key = SshKey(id="a", account="admin", key=ED25519)
    on = SshServer(enabled=True)
    open_port = Firewall(allowed_wan_tcp_ports=(22,))
    wan = Interface("wan0", "wan")
    assert codes(on) == {("ssh-without-keys", "warning")}
    assert codes(on, replace(key, disabled=True)) == {("ssh-without-keys", "warning")}
    assert codes(on, key) == set()
    assert ("ssh-port-taken", "error") in codes(replace(on, port=443), key)
    assert ("ssh-from-everywhere", "warning") in codes(on, key, open_port, wan)
    for sources in (("192.0.2.0/24",), ()):
        found = codes(replace(on, sources=sources, port=22), key, open_port, wan)
        assert (("ssh-from-everywhere", "warning") in found) is not bool(sources)


def let_in(*items: Any) -> list[PacketRule]:
    rules = FIREWALL.wanted(Document(items))
    return [
        rule for rule in rules if rule.chain == "input" and rule.verdict == "accept" and "SSH" in rule.comment
    ]


def test_a_zone_with_management_reaches_the_port_that_is_configured_from_the_sources() -> None:
    zone, port = Zone(id="ops", reaches=("management",)), Interface("lan0", "ops")
    assert let_in(zone, port) == [], "there is no server to be reached"
    (rule,) = let_in(zone, port, SshServer(enabled=True, port=2222))
    assert (rule.ports, rule.in_interfaces, rule.sources, rule.family) == (("2222",), ("lan0",), (), 0)
    assert (rule.protocol, rule.made_by, rule.comment) == ("tcp", "zone/ops", "SSH for zone ops")
    limited = SshServer(enabled=True, sources=("192.0.2.0/24", "2001:db8::/32"))
    assert [(rule.family, rule.sources) for rule in let_in(zone, port, limited)] == [
        (4, ("192.0.2.0/24",)),
        (6, ("2001:db8::/32",)),
    ]
    assert let_in(replace(zone, reaches=("dns",)), port, limited) == []
    others = [rule for rule in FIREWALL.wanted(Document((zone, port))) if rule.ports == ("80", "443", "8080")]
    assert [rule.verdict for rule in others] == ["accept"]


def test_a_wan_lets_in_the_port_from_the_sources_alone() -> None:
    wan, policy = Interface("wan0", "wan"), Firewall(allowed_wan_tcp_ports=(22, 443))

    def allowed(*items: Any) -> list[tuple[tuple[Any, ...], tuple[str, ...]]]:
        rules = FIREWALL.wanted(Document((wan, policy, *items)))
        found = [rule for rule in rules if rule.chain == "input" and (rule.tcp_ports or rule.ports)]
        return [(rule.tcp_ports or rule.ports, rule.sources) for rule in found]

    assert allowed() == [((22, 443), ())]
    assert allowed(SshServer(enabled=True)) == [((22, 443), ())]
    limited = SshServer(enabled=True, sources=("192.0.2.0/24",))
    assert allowed(limited) == [((443,), ()), (("22",), ("192.0.2.0/24",))]
    assert allowed(replace(limited, port=2222)) == [((22, 443), ())]


def test_the_server_is_done_after_the_firewall_and_told_by_its_keys() -> None:
    names = [part.name for part in PARTS]
    assert names.index("firewall") < names.index("ssh")
    key = SshKey(id="a", account="admin", key=ED25519)
    before, after = (SSH.wanted(Document(items)) for items in ((), (SshServer(enabled=True), key)))
    delta = SSH.delta(before, after)
    assert [step.text for step in SSH.made(delta)] == ["SSH server", "key a of admin"]
    assert [step.text for step in SSH.removed(delta.inverse())] == ["SSH server", "key a of admin"]
    assert not SSH.delta(before, SSH.wanted(Document((key,)))), "keys of a server that is off open nothing"

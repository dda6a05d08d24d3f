# SPDX-License-Identifier: Apache-2.0
"""What the agent leaves for the next start, and what it makes of a start that has used it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.agent.rig import Rig, lan, wan
from tests.polling import until
from weir.agent.early import EarlyStart, content_of
from weir.compiler import SlotAllocation, compile_document
from weir.kinds.firewall_rule import FirewallRule
from weir.model.document import Document
from weir.model.interface import Interface, Vlan
from weir.model.objects import ConfigObject, TimeWindow
from weir.parts.firewall import FIREWALL
from weir.parts.network import NETWORK

SCRIPT = Path(__file__).resolve().parents[2] / "board/overlay/usr/libexec/weir/early"


@pytest.fixture(scope="module")
def keeping() -> Iterator[Rig]:
    """A rig whose agent keeps a file for the next start."""
    made = Rig()
    try:
        kept(made).parent.mkdir(mode=0o700)
        made.start_agent("--early-file", str(kept(made)))
        yield made
    finally:
        print(made.agent_log())
        made.close()


def kept(rig: Rig) -> Path:
    return rig.folder / "kept" / "early"


def words(rig: Rig) -> str:
    return kept(rig).read_text() if kept(rig).exists() else ""


def start_early(rig: Rig) -> None:
    """As a start does it, with the agent's state folder where it is here."""
    rig.run(str(SCRIPT), str(kept(rig)), str(rig.folder / "early"), "0")


def bare_again(rig: Rig) -> None:
    """The router's namespace as after a start of the kernel."""
    for port in ("lan0", "wan0"):
        rig.run("ip", "address", "flush", "dev", port)
        rig.run("ip", "link", "set", "dev", port, "down")
    rig.run("nft", "delete", "table", "inet", "weir")


def test_the_next_start_finds_what_is_committed_and_makes_the_same_of_it(keeping: Rig) -> None:
    keeping.commit(lan(), wan())
    until("it is kept", lambda: "203.0.113.2/24 dev wan0" in words(keeping))
    assert kept(keeping).stat().st_mode & 0o777 == 0o600
    rules = keeping.json("nft", "-j", "list", "table", "inet", "weir")
    keeping.stop_agent()
    bare_again(keeping)
    start_early(keeping)
    assert keeping.addresses("lan0") == {"10.64.0.1/24", "2001:db8:64::1/64"}
    assert keeping.addresses("wan0") == {"203.0.113.2/24"}
    assert without_handles(keeping.json("nft", "-j", "list", "table", "inet", "weir")) == without_handles(
        rules
    )
    keeping.run("ip", "address", "add", "10.99.0.1/24", "dev", "lan0")
    log_before = len(keeping.agent_log())
    keeping.start_agent("--early-file", str(kept(keeping)))
    told = until("it says what it changed", lambda: "brought in line" in keeping.agent_log()[log_before:])
    assert told and " 0 entries brought in line" in keeping.agent_log()[log_before:]
    keeping.commit(lan(addresses=("10.64.0.1/24",)))
    assert keeping.addresses("lan0") == {"10.64.0.1/24", "10.99.0.1/24"}, "the start's are ours, others stay"
    keeping.run("ip", "address", "delete", "10.99.0.1/24", "dev", "lan0")


def without_handles(items: dict[str, object]) -> str:
    def plain(value: object) -> object:
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items() if key not in ("handle", "metainfo")}
        return [plain(inner) for inner in value] if isinstance(value, list) else value

    return str(plain(items))


def test_a_change_that_waits_for_its_confirmation_is_not_what_a_start_comes_back_to(keeping: Rig) -> None:
    keeping.commit(lan(), wan())
    until("it is kept", lambda: "10.64.0.1/24 dev lan0" in words(keeping))

    def is_over() -> bool:
        assert "10.64.7.1" not in words(keeping)
        return keeping.status()["confirm"] is None

    keeping.commit(lan(addresses=("10.64.7.1/24",)), confirm_within_s=5)
    until("it is rolled back", is_over)
    keeping.commit(lan(addresses=("10.64.8.1/24",)), confirm_within_s=600)
    with keeping.store.write() as transaction:
        transaction.clear_pending()
    until("the confirmed one is kept", lambda: "10.64.8.1/24 dev lan0" in words(keeping))


class Configured:
    """A configuration that runs a revision."""

    def __init__(self, revision: int, address: str, *others: ConfigObject) -> None:
        document = Document([lan(addresses=(address,)), wan(), *others])
        self.lock = nullcontext()
        self.loaded, self.revision, self.is_held = True, revision, False
        self.following = self.store = self
        self.compiled = compile_document(document, SlotAllocation(16), datetime(2026, 1, 5))

    def pending(self) -> Any:
        return None

    def head(self) -> int:
        return self.revision


class Committing(Configured):
    """A change to be confirmed that is applied, and committed between the first look and the next."""

    is_committed = False

    def _look(self, committed: object, before: object) -> Any:
        found = committed if self.is_committed else before
        self.is_committed = True
        return found

    def pending(self) -> Any:
        return self._look("waits", None)

    def head(self) -> int:
        return int(self._look(self.revision, self.revision - 1))


def test_a_change_that_is_committed_while_it_is_looked_at_is_not_kept_unconfirmed(tmp_path: Path) -> None:
    start = EarlyStart(tmp_path / "early")
    configuration = Committing(2, "10.64.0.1/24")
    for _ in range(2):
        start.follow(configuration)  # type: ignore[arg-type]
    assert not (tmp_path / "early").exists()


def test_what_cannot_be_written_is_removed_and_nobody_else_is_troubled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    early = EarlyStart(tmp_path / "early")
    early.follow(Configured(1, "10.1.0.1/24"))  # type: ignore[arg-type]
    assert "10.1.0.1/24" in (tmp_path / "early").read_text()

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        early.follow(Configured(2, "10.2.0.1/24"))  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
    early.follow(Configured(3, "10.3.0.1/24"))  # type: ignore[arg-type]
    assert "10.3.0.1/24" in (tmp_path / "early").read_text()


def test_a_firewall_with_hours_waits_for_the_agent(tmp_path: Path) -> None:
    """Before it nobody knows which hours it is."""
    early, rule = EarlyStart(tmp_path / "early"), FirewallRule("r", "input", "accept")
    early.follow(Configured(1, "10.1.0.1/24", rule))  # type: ignore[arg-type]
    assert "10.1.0.1/24" in (tmp_path / "early").read_text()
    early.follow(Configured(2, "10.1.0.1/24", replace(rule, time=TimeWindow(0, 60, ("mon",)))))  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_vlans_are_made_after_what_they_are_on() -> None:
    inner = Interface("inner", vlan=Vlan("outer", 7), addresses=("10.7.0.1/24",))
    document = Document([inner, Interface("outer", vlan=Vlan("port", 5, "802.1ad")), Interface("port")])
    lines = content_of((), NETWORK.wanted(document)).decode().splitlines()
    assert lines[2:] == [
        "port",
        "link set dev port up",
        "link add link port name outer group 87 type vlan protocol 802.1ad id 5",
        "link set dev outer up",
        "link add link outer name inner group 87 type vlan protocol 802.1Q id 7",
        "link set dev inner up",
        "address add 10.7.0.1/24 dev inner",
    ]


def test_what_is_in_a_vrf_waits_for_the_agent() -> None:
    document = Document([lan(), Interface("red", vrf_table=5), wan(vrf="red")])
    kept = content_of(FIREWALL.wanted(document), NETWORK.wanted(document)).decode()
    assert "dev lan0" in kept
    assert "dev wan0" not in kept

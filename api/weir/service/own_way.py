# SPDX-License-Identifier: Apache-2.0
"""Nobody takes away the way by which he is at the router without a way back (docs/adr/0241)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from ipaddress import ip_address, ip_network

from weir.accounts.principal import Caller, Principal
from weir.kinds.ssh_key import SshKey
from weir.kinds.ssh_server import SshServer
from weir.model.document import Change, Document
from weir.model.packed_changes import kinds_of
from weir.model.problem import Conflict, Problem
from weir.parts.decision import Members, Rules
from weir.parts.firewall import FIREWALL
from weir.service.deciders import configured_way, now_local
from weir.service.request import Request
from weir.service.running_document import Running, Trial
from weir.service.way_in import HARMLESS, Seen, YourWay, compare, look
from weir.wire.client import AgentClient

_NAME = re.compile(r"SSH key (\S+) from (\S+)")
_ASK_S = 2.0
NOT_TOLD = Caller(unknown="it is not known from where you come")
UNCONCERNED = YourWay("stays", "nothing that decides about your way to the router is changed")


def name_of(key: str, source: str) -> str:
    """What the token of a session is called, by which its way is known again."""
    return f"SSH key {key} from {source}"


@dataclass(frozen=True, slots=True)
class Asked:
    """Who comes by which interface, and the minute of the router's local time."""

    caller: Caller
    came: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Judged:
    """`after` is what would be seen of the way, None where nobody had to look."""

    way: YourWay
    asked: Asked | None = None
    after: Seen | None = None


class OwnWay:
    """Judges changes for the one who makes them. Thread-safe."""

    def __init__(self, running: Running, agent: AgentClient) -> None:
        self._running = running
        self._agent = agent
        self._known: tuple[int, Asked, Seen] | None = None

    def require_way_back(self, by: Principal, request: Request, trial: Trial) -> Judged | None:
        """Raises `Conflict` (`cuts-off-you`) where changes take away the way by which the caller is here, and
        nothing takes them back unless he confirms them. What goes back to the revision before is let be.
        What was judged is for `took`."""
        if request.confirm_within_s is not None or request.answers_pending or not trial.changes:
            return None
        judged = self._judged(by, trial)
        found = judged.way
        if found.fate == "cuts-off-you":
            text = (
                f"This would cut you off: {found.text}. Commit it with a timer (confirm_within_s; "
                "--confirm-within of the command line), so that it is taken back unless you confirm it in "
                "time. A single change is staged first."
            )
            path = None if found.kind is None else f"{found.kind}/{found.id}"
            raise Conflict(text, code="cuts-off-you", path=path)
        return judged

    def took(self, revision: int, judged: Judged | None) -> None:
        """What was judged is the revision now: the caller's next change is compared with what was seen. Of
        2,000 rules that takes half of the time."""
        if judged is not None and judged.asked is not None and judged.after is not None:
            self._known = revision, judged.asked, judged.after

    def judged(self, by: Principal, trial: Trial) -> YourWay:
        """What becomes of the caller's way with changes that are valid; asks the agent by which interface he
        comes, and goes by the configuration where it does not answer."""
        return self._judged(by, trial).way

    def _judged(self, by: Principal, trial: Trial) -> Judged:
        key = _NAME.fullmatch(by.credential_name)
        if key is not None:
            for change in trial.changes:
                why = _why_cut(change, key[1], key[2])
                if why:
                    text = f"{why}, and you are here by it"
                    return Judged(YourWay("cuts-off-you", text, change.kind, change.id, key[2]))
        changed = kinds_of(trial.changes)
        if changed <= HARMLESS:
            return Judged(UNCONCERNED)
        caller = by.caller or NOT_TOLD
        if caller.unknown:
            return Judged(YourWay("not-known", caller.unknown, address=caller.address))
        came = self._told(caller)
        with self._running.at_head() as (revision, document):
            came = came or configured_way(document, caller.address) or ""
            if not came:
                text = f"nothing says by which interface {caller.address} comes"
                return Judged(YourWay("not-known", text, address=caller.address))
            asked = Asked(caller, came, now_local())
            known, ssh_port = self._known, document.single(SshServer).port
            if known is None or known[:2] != (revision, asked):
                known = self._known = revision, asked, _look(document, ssh_port, asked)
            before = known[2]
            after = _after(trial, document, partial(_look, ssh_port=ssh_port, asked=asked))
        return Judged(compare(before, after, caller, changed), asked, after)

    def _told(self, caller: Caller) -> str | None:
        """The interface by which the kernel's way back to a caller leaves; None where it does not say."""
        packet = {
            "interface": None,
            "sent": False,
            "source": caller.address,
            "destination": caller.reached,
            "first": caller.reached,
            "protocol": "tcp",
            "port": caller.port,
            "source_port": 0,
            "tos": 0,
        }
        try:
            ingress = self._agent.call("packet_path", packet, timeout_s=_ASK_S)["ingress"]
        except Problem:
            return None
        return None if ingress is None else str(ingress["name"])


def _rules_of(document: Document) -> Rules:
    return Rules(FIREWALL.wanted(document), lambda: Members.of(document))


def _after(trial: Trial, document: Document, seen: Callable[[Document], Seen]) -> Seen:
    """What is seen in the document with the changes of the trial."""
    if trial.successor is not None:
        return seen(trial.successor)
    document.apply(trial.changes)
    try:
        return seen(document)
    finally:
        document.revert(trial.changes)


def _look(document: Document, ssh_port: int, asked: Asked) -> Seen:
    """A caller by SSH asks for the port that the server then has. `ssh_port` is the one of what runs."""
    caller = asked.caller
    if caller.port == ssh_port:
        caller = replace(caller, port=document.single(SshServer).port)
    return look(document, _rules_of(document), caller, asked.came, asked.at)


def _why_cut(change: Change, key: str, source: str) -> str:
    old, new = change.old, change.new
    if change.kind == SshKey.kind and change.id == key:
        if new is None:
            return f"SSH key {key} would be gone"
        if isinstance(new, SshKey) and isinstance(old, SshKey):
            is_other = (new.key, new.account, new.disabled) != (old.key, old.account, old.disabled)
            return f"SSH key {key} would open something else or nothing" if is_other else ""
    if change.kind == SshServer.kind:
        if not isinstance(new, SshServer) or not new.enabled:
            return "the SSH server would be off"
        if new.sources and not _is_within(source, new.sources):
            return f"{source} would not be among the sources of the SSH server"
    return ""


def _is_within(source: str, networks: Sequence[str]) -> bool:
    try:
        address = ip_address(source.partition("%")[0])
    except ValueError:
        return False
    return any(address in ip_network(text) for text in networks)

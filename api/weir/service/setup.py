# SPDX-License-Identifier: Apache-2.0
"""The first minutes of a router: an address to reach it by, and the first visitor makes the account.

There is no password before that one. While there is no account the router has one address, on its first port;
nothing leads there from outside, and a request from a public address is refused.
"""

from __future__ import annotations

import ipaddress
import logging
import threading
from collections.abc import Iterator, Sequence, Set
from dataclasses import asdict, dataclass, replace
from typing import Any

from weir.accounts.auth import AuthService
from weir.accounts.passwords import check_rules
from weir.accounts.principal import Principal
from weir.kinds.identity import Identity, is_time_zone
from weir.loop import Loop
from weir.model.document import Document
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.model.overhead import FRAME_BYTES
from weir.model.problem import Conflict, Finding, Forbidden, Invalid, Problem
from weir.model.reader import shown
from weir.service.configuration import ConfigService
from weir.service.edits import changes_of
from weir.service.presets import PRESETS, REVERSE_PATH, Choices, Made, Preset, default_routes, made_of
from weir.service.types import Edit, ObjectDiff
from weir.wire.client import AgentClient

log = logging.getLogger(__name__)

LAN_ADDRESS = "192.168.88.1/24"
POLL_S = 1.0
WEIR = Principal(0, "weir", "admin", "local", "first-start", "local", 0)
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the first visitor chose; None leaves a thing as it is. `preset` is in the place of LAN and WAN."""

    password: str
    preset: Choices | None = None
    lan: Interface | None = None
    wan: Interface | None = None
    gateways: tuple[str, ...] = ()
    time_zone: str | None = None


class SetupService:
    """No method takes a principal: nobody has an account yet, and all of them end with the first one."""

    def __init__(self, auth: AuthService, config: ConfigService, agent: AgentClient) -> None:
        self._auth = auth
        self._config = config
        self._agent = agent
        self._turn = threading.Lock()
        self._preparing = Loop("first-start", self._prepare_again, again_s=POLL_S)

    def start(self) -> None:
        """Give a new router its address as soon as the agent and a port are there."""
        self._preparing.start()

    def stop(self) -> None:
        self._preparing.stop()

    def state(self, source: str) -> Json | None:
        """What the wizard has to know: `ports` and the address so far. None once there is an account."""
        if not self._auth.unclaimed():
            return None
        _require_near(source)
        ports = self._ports()
        with self._config.document(WEIR) as document:
            lans = [item for item in document.interfaces() if item.role == "lan" and item.addresses]
            presets: Sequence[Preset] = PRESETS if _is_new(document) else ()
        return {
            "needed": True,
            "reason": None if ports else "no network port was found: the kernel has no driver for one",
            "lan": {"interface": lans[0].id, "address": lans[0].addresses[0]} if lans else None,
            "ports": ports,
            "presets": [asdict(preset) for preset in presets],
        }

    def login_banner(self) -> str:
        """What everybody reads before signing in; empty also while the configuration cannot be read."""
        try:
            with self._config.document(WEIR) as document:
                return document.single(Identity).login_banner
        except Problem:
            return ""

    def finish(self, wishes: Wishes, source: str) -> int:
        """Configure the router and make the account; the revision. Either both or neither.

        Raises `Conflict` (`setup-done`), `Forbidden`, `Invalid`, and as a commit does.
        """
        _require_near(source)
        with self._turn:
            if not self._auth.unclaimed():
                raise Conflict("this router has been set up already; sign in", code="setup-done")
            edits = self._edits(wishes) if wishes.preset is None else self._edits_of_preset(wishes)
            edits = [*edits, *self._edits_of_zone(wishes.time_zone)]
            revision = self._config.commit(WEIR, edits, "first setup").revision
            self._auth.claim(wishes.password, source)
        return revision

    def plan(self, choices: Choices, source: str) -> tuple[list[ObjectDiff], list[Finding]]:
        """What `finish` would change for a preset, and what validation says of it. Nothing is changed.

        Raises `Conflict` (`setup-done`, `setup-configured`), `Forbidden`, and `Invalid` with a finding for
        each field that cannot stay.
        """
        _require_near(source)
        if not self._auth.unclaimed():
            raise Conflict("this router has been set up already; sign in", code="setup-done")
        edits, findings = self._planned(choices)
        _refuse_errors(findings)
        with self._config.document(WEIR) as document:
            changes = changes_of(edits, document)
        return [ObjectDiff(change) for change in changes], findings

    def prepare(self) -> bool:
        """Give the first port its address. True when nothing is left to do; raises without an agent."""
        if not self._auth.unclaimed() or self._config.revision(WEIR) > 0:
            return True
        ports = self._ports()
        if not ports:
            return False
        first = Interface(
            ports[0]["id"],
            role="lan",
            addresses=(LAN_ADDRESS,),
            reverse_path=REVERSE_PATH["lan"],
            description="first setup",
            overhead_bytes=FRAME_BYTES,
        )
        with self._turn:
            self._config.commit(WEIR, [Edit("interface", first.id, first)], "first start: an address")
        log.info("first start: %s has the address %s", first.id, LAN_ADDRESS)
        return True

    def _prepare_again(self) -> float | None:
        return None if self.prepare() else POLL_S

    def _ports(self) -> list[Json]:
        """Physical ports in the kernel's order."""
        found = self._agent.call("interfaces")["value"]
        ports = [item for item in found if item.get("kind") in ("physical", "veth")]
        return [
            {
                "id": str(item["name"]),
                "mac": str(item.get("mac") or ""),
                "carrier": bool(item.get("carrier")),
                "speed_bps": item.get("speed_bps"),
            }
            for item in sorted(ports, key=lambda item: int(item["index"]))[:256]
        ]

    def _edits(self, wishes: Wishes) -> list[Edit]:
        """The first start's address goes where the visitor chose another port."""
        check_rules(wishes.password, "admin")
        wanted: dict[tuple[str, str], ConfigObject | None] = {}
        with self._config.document(WEIR) as document:
            before = {item.id for item in document.interfaces()}
        _require_reach(wishes, before)
        if wishes.lan is not None:
            wanted = {("interface", name): None for name in before}
        for chosen in filter(None, (wishes.lan, wishes.wan)):  # ports, so Ethernet
            way = REVERSE_PATH["lan" if chosen is wishes.lan else "wan"]
            wanted["interface", chosen.id] = replace(chosen, overhead_bytes=FRAME_BYTES, reverse_path=way)
        wanted |= {("static-route", route.id): route for route in default_routes(wishes.gateways)}
        return [Edit(kind, object_id, new) for (kind, object_id), new in wanted.items()]

    def _edits_of_zone(self, name: str | None) -> Iterator[Edit]:
        """Raises `Invalid` at the request's field."""
        if name is None:
            return
        if not is_time_zone(name):
            text = f"there is no time zone {shown(name)}; give a name such as Europe/Berlin"
            raise Invalid(text, code="unknown-time-zone", path="time_zone")
        with self._config.document(WEIR) as document:
            identity = replace(document.single(Identity), time_zone=name)
        yield Edit(identity.kind, identity.id, identity)

    def _edits_of_preset(self, wishes: Wishes) -> Sequence[Edit]:
        """Raises `Invalid` with all that is wrong at once, the password included."""
        assert wishes.preset is not None
        edits, findings = self._planned(wishes.preset)
        try:
            check_rules(wishes.password, "admin")
        except Invalid as problem:
            findings.insert(0, Finding("error", problem.code, problem.message, "request", "", problem.path))
        _refuse_errors(findings)
        return edits

    def _planned(self, choices: Choices) -> tuple[list[Edit], list[Finding]]:
        """What to write, and what is to be said of it: errors at the request's fields. Raises `Conflict`."""
        with self._config.document(WEIR) as document:
            if not _is_new(document):
                text = "this router is configured already: presets are for a new one"
                raise Conflict(text, code="setup-configured", path="preset.id")
            before = {item.id for item in document.interfaces()}
        made = made_of(choices, {port["id"] for port in self._ports()})
        if made.findings:
            return [], made.findings
        edits = [Edit(item.kind, item.id, item) for item in made.objects]
        kept = {item.id for item in made.objects if item.kind == "interface"}
        edits += [Edit("interface", name, None) for name in sorted(before - kept)]
        return edits, [_at_field(made, finding) for finding in self._config.check(WEIR, edits)]


def _is_new(document: Document) -> bool:
    """Whether there is nothing yet but what the first start may have made."""
    items = list(document)
    return len(items) <= 1 and all(item.kind == "interface" for item in items)


def _at_field(made: Made, finding: Finding) -> Finding:
    where = made.fields.get((finding.kind, finding.id))
    if finding.severity != "error" or where is None:
        return finding
    return replace(finding, kind="request", id="", field=where)


def _refuse_errors(findings: Sequence[Finding]) -> None:
    """Raises `Invalid` for errors, all of them."""
    errors = [item for item in findings if item.severity == "error"]
    if errors:
        first, many = errors[0], len(errors) > 1
        text = f"{len(errors)} things cannot stay as they are: {first.message}" if many else first.message
        raise Invalid(text, code=first.code, path=first.field, findings=errors)


def _require_reach(wishes: Wishes, before: Set[str]) -> None:
    """Raises `Invalid` for what would leave a router that nobody reaches, or that reaches nobody."""
    lan, wan = wishes.lan, wishes.wan
    if lan is not None and not lan.addresses:
        raise Invalid("nobody reaches a router whose LAN has no address", path="lan.addresses")
    if wan is not None and wan.id in ({lan.id} if lan is not None else before):
        raise Invalid("LAN and WAN need a port each", code="one-port", path="wan.interface")
    networks = [ipaddress.ip_interface(text).network for text in wan.addresses] if wan is not None else []
    if wan is not None and wan.addressing == "static" and not wan.addresses:
        raise Invalid("a WAN needs an address, or DHCP that asks for one", path="wan.addresses")
    for gateway in map(ipaddress.ip_address, wishes.gateways):
        if not any(gateway in network for network in networks):
            raise Invalid(
                f"the gateway {gateway} is not in a network of the WAN address", path="wan.gateways"
            )


def is_near(source: str) -> bool:
    """Whether a request comes from an address that not anybody in the world may have."""
    try:
        address = ipaddress.ip_address(source.partition("%")[0])
    except ValueError:
        return True  # a socket of this machine has no address
    return address.is_private or address.is_link_local or address.is_loopback


def _require_near(source: str) -> None:
    """Raises `Forbidden` for an address that anybody in the world may have."""
    if not is_near(source):
        raise Forbidden("a router is set up from its own network or its console", code="setup-from-outside")

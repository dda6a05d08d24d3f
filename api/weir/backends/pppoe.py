# SPDX-License-Identifier: Apache-2.0
"""PPPoE sessions: what pppd is told of each. Who dials, and dials again, is `weir.agent.dialler`: a session
that ends is no drift of the configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from weir.adapters.pppd import Sessions, options_text, read_said
from weir.backends.backend import Comparison, Look, Topic, refuse, step
from weir.fields.secret import LOST
from weir.model.interface import Interface
from weir.model.objects import ConfigObject
from weir.model.problem import ApplyFailed
from weir.parts.delta import Delta, Step
from weir.parts.effect import Effect
from weir.parts.explained import Line
from weir.parts.pppoe import SessionSpec

ECHO_FAILURES = 3
DISCOVERY_S = 2
"""pppd waits for an answer for as long, then for twice as long, and four times: 14 s in all."""
_NOTHING = "/bin/true"


@dataclass(frozen=True, slots=True)
class PppoeDifference:
    """Options to be written by name, and sessions that are to end; `held` are the names that there are."""

    write: Mapping[str, str]
    remove: tuple[str, ...]
    held: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.write or self.remove)

    def steps(self) -> Sequence[Step]:
        """None of them tells the options, which have the password."""
        return [
            *(step("pppoe", "remove", "session", name) for name in self.remove),
            *(
                step("pppoe", "change" if name in self.held else "add", "session", name)
                for name in self.write
            ),
        ]


class PppoeBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset()
    is_scanned_apart: ClassVar[bool] = False

    def __init__(
        self,
        sessions: Sessions,
        opened: Callable[[str, str], str],
        wake: Callable[[], None],
        told: Callable[[str], tuple[str, bool]],
    ) -> None:
        """`opened(place, sealed)` is the plain text of a secret; `wake()` has the dialler look at once, and
        `told(name)` says how a session is, and whether it is up."""
        self._sessions = sessions
        self._opened = opened
        self._wake = wake
        self._told = told

    def read(self) -> Mapping[str, str]:
        return self._sessions.options()

    def diff(self, held: Mapping[str, str], wanted: Mapping[str, SessionSpec]) -> PppoeDifference:
        texts = {name: self._options(spec) for name, spec in wanted.items()}
        changed = {name: text for name, text in texts.items() if held.get(name) != text}
        return PppoeDifference(changed, tuple(sorted(held.keys() - texts.keys())), frozenset(held))

    def apply(self, difference: PppoeDifference) -> None:
        try:
            for name in difference.remove:
                self._sessions.remove(name)
        except OSError as error:
            raise ApplyFailed(f"session {name} cannot be ended: {error.strerror}", code="session") from error
        for name, text in difference.write.items():
            self._sessions.write(name, text)
        self._wake()

    def verify(self, difference: PppoeDifference) -> None:
        held = self.read()
        wrong = [
            f"session {name} has other options"
            for name, text in difference.write.items()
            if held.get(name) != text
        ]
        wrong += [f"session {name} is still wanted" for name in difference.remove if name in held]
        refuse("pppoe", wrong)

    def effects(
        self, look: Look[Mapping[str, str], Mapping[str, SessionSpec], PppoeDifference]
    ) -> Iterator[Effect]:
        """Of sessions that are up: what goes by them ends with their address."""
        delta: Delta[SessionSpec] = look.delta or Delta()
        for spec in delta.removed:
            yield from self._ends(look, spec.ifname, "hangs up")
        for before, new in delta.set:
            if before is not None and new.ifname in look.difference.write:
                yield from self._ends(look, new.ifname, "is dialled again, and may get another address")

    def _ends(
        self, look: Look[Mapping[str, str], Mapping[str, SessionSpec], PppoeDifference], name: str, what: str
    ) -> Iterator[Effect]:
        if self._told(name)[1]:
            address = read_said(self._sessions.said(name)).address
            sessions = look.sessions([f"{address}/32"] if address else [])
            yield Effect("interface", name, "drops-sessions", f"{name} {what}", None, sessions)

    def explain(
        self,
        found: Comparison[Mapping[str, str], Mapping[str, SessionSpec], PppoeDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        """The options are compared, and never printed: the password is among them."""
        if item.id not in found.wanted:
            if isinstance(item, Interface) and item.pppoe is not None and item.pppoe.password == LOST:
                words = "it is not dialled: its password is unknown to this router, so enter it again"
                yield Line("pppoe.password", "a session", words, False)
            if item.id in found.held:
                yield Line("pppoe", "no session", "pppd is still told to keep one", False)
            return
        is_told = item.id not in found.difference.write
        yield Line("pppoe.options", "what is configured", "so" if is_told else "something else", is_told)
        words, is_up = self._told(item.id)
        yield from (Line("pppoe", text, words, is_up) for text in told)

    def _options(self, spec: SessionSpec) -> str:
        lines: list[tuple[str, ...]] = [
            ("plugin", "pppoe.so"),
            (f"nic-{spec.parent}",),
            ("ifname", spec.ifname),
            *_given("pppoe-service", spec.service_name),
            *_given("pppoe-ac", spec.ac_name),
            ("pppoe-padi-timeout", str(DISCOVERY_S)),
            *_given("user", spec.username),
            *_given("password", "" if spec.password is None else self._opened(*spec.password)),
            *((word,) for word in ("noauth", "noipdefault", "nodefaultroute", "noproxyarp", "usepeerdns")),
            *((word,) for word in ("nodetach", "noccp", "novj", "+ipv6" if spec.ipv6 else "noipv6")),
            ("mtu", str(spec.mtu)),
            ("mru", str(spec.mtu)),
            ("lcp-echo-interval", str(spec.keepalive_s)),
            ("lcp-echo-failure", str(ECHO_FAILURES)),
            # The distribution's would write /etc/resolv.conf.
            ("ip-up-script", _NOTHING),
            ("ip-down-script", _NOTHING),
        ]
        return options_text(lines)


def _given(name: str, value: str) -> Iterator[tuple[str, str]]:
    if value:
        yield name, value

# SPDX-License-Identifier: Apache-2.0
"""Certificates: OpenSSL takes each before anything uses it, and what the web server shows is read back.

What the router signs itself lies with its key in a folder of root's own, outside the configuration: it is
made again in time, and elsewhere (docs/adr/0234). An uploaded key is in the store alone, sealed, and in the
file of the web server while that shows it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from weir.adapters import certificates as openssl
from weir.adapters import files
from weir.adapters.web_server import WebServer
from weir.backends.backend import Comparison, Look, Topic, refuse
from weir.diagnosis.certificates import SOON_DAYS
from weir.diagnosis.sample import CertificateLook
from weir.model.moment import moment
from weir.model.objects import ConfigObject
from weir.model.problem import ApplyFailed, Invalid, Problem, Unavailable
from weir.model.x509 import X509, fingerprint, read_chain
from weir.parts.certificates import CERTIFICATES, WEB, CertificateSpec, ShownSpec, Spec
from weir.parts.delta import Delta, Step
from weir.parts.effect import Effect
from weir.parts.explained import Line
from weir.parts.wireguard import Sealed

DAY_S = 86_400
RENEW_S, EXPIRING_S = 30 * DAY_S, SOON_DAYS * DAY_S
"""Before the end one of the router's own is made again; and so long before, one that is not is told."""
NO_SERVER = "the web interface is served without TLS here, by no web server of the router's own"
SETTLES_S = 0.5
_KEYS = {"p256": "EC P-256", "p384": "EC P-384", "rsa2048": "RSA 2048", "rsa4096": "RSA 4096"}
"""As `X509.key` has them."""
_UNKNOWN = ShownSpec("")
FIRST_PAUSE_S, LAST_PAUSE_S = 900, 86_400
"""Between tries that failed; an authority allows few of them in an hour."""


@dataclass(frozen=True, slots=True)
class Tried:
    """The last time that an authority was asked for one. `error` "": it was made. `of` is what was asked."""

    of: str
    at_ms: int
    error: str
    failures: int

    @property
    def next_ms(self) -> int:
        """When it may be asked again."""
        pause_s = min(FIRST_PAUSE_S * 2 ** min(max(self.failures - 1, 0), 10), LAST_PAUSE_S)
        return self.at_ms + 1000 * pause_s if self.failures else 0


@dataclass(frozen=True, slots=True)
class CertificatesState:
    """What is in force. `is_shown`: whether a client gets what the web server reads; None: nobody answers."""

    entries: Mapping[str, Spec]
    is_shown: bool | None


@dataclass(frozen=True, slots=True)
class CertificatesDifference:
    held: CertificatesState
    wanted: Mapping[str, Spec]
    delta: Delta[Spec]

    def __bool__(self) -> bool:
        return bool(self.delta) or self.held.is_shown is False

    def steps(self) -> Sequence[Step]:
        found = [*CERTIFICATES.made(self.delta), *CERTIFICATES.removed(self.delta)]
        if self.held.is_shown is False:
            found.append(
                Step(CERTIFICATES.name, "change", "certificate", "the web server reads its own again")
            )
        return found


class CertificatesBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset()
    is_scanned_apart: ClassVar[bool] = False

    def __init__(
        self,
        folder: Path,
        opened: Callable[[Sealed], str],
        web: WebServer | None,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        """`folder` is root's own and lasts. Without `web` nothing here is served by TLS."""
        self._folder = folder
        self._opened = opened
        self._web = web
        self._now_s = now_s
        self._taken: Mapping[str, CertificateSpec] = {}
        self._shown: ShownSpec | None = None
        """What the web server was given."""
        self.tried: Callable[[str], Tried | None] = lambda name: None
        """Of one that an authority makes."""
        self.changed: Callable[[], None] = lambda: None
        """Called after each change, by the thread that makes it."""

    # -- read and compare --------------------------------------------------------------------------------

    def read(self) -> CertificatesState:
        return CertificatesState(self._entries(), self._is_shown())

    def _entries(self) -> Mapping[str, Spec]:
        entries: dict[str, Spec] = {name: spec for name, spec in self._taken.items() if self._is_kept(spec)}
        shown = self._shown
        if self._web is not None and self._web.chosen() != self._pair(shown):
            shown = _UNKNOWN  # somebody changed the file, or the authority made another one
        if shown is not None:
            entries[WEB] = shown
        return entries

    def _is_kept(self, spec: CertificateSpec) -> bool:
        if spec.type != "self":
            return True
        own = self._own(spec)
        return own is not None and own.not_before_s <= self._now_s() < own.not_after_s - RENEW_S

    def _is_shown(self) -> bool | None:
        """Also None where what answers speaks no TLS, or is slow: that says nothing of files."""
        if self._web is None:
            return None
        with suppress(Unavailable):
            shown, used = self._web.shown(), _first(self._web.used())
            if shown is None or used is None:
                return None
            return shown == used.der or self._web.shows(used.der, SETTLES_S)
        return None

    def diff(self, held: CertificatesState, wanted: Mapping[str, Spec]) -> CertificatesDifference:
        return CertificatesDifference(held, wanted, CERTIFICATES.delta(held.entries, wanted))

    # -- apply -------------------------------------------------------------------------------------------

    def apply(self, difference: CertificatesDifference) -> None:
        for _, spec in difference.delta.set:
            if isinstance(spec, CertificateSpec):
                self._take(spec)
        self._taken = {k: v for k, v in difference.wanted.items() if isinstance(v, CertificateSpec)}
        shown = difference.wanted.get(WEB)
        self._show(shown if isinstance(shown, ShownSpec) else None, difference.held.is_shown)
        for spec in difference.delta.removed:
            if isinstance(spec, CertificateSpec) and spec.id not in self._taken:
                self._file(spec.id).unlink(missing_ok=True)
        self.changed()

    def _take(self, spec: CertificateSpec) -> None:
        """Make one, or have OpenSSL look at one. Raises `Invalid` naming the field, and `ApplyFailed`."""
        if spec.type == "self":
            if not self._is_kept(spec):
                self._make(spec)
        elif spec.type == "upload" and spec.key is not None:
            try:
                openssl.check(self._opened(spec.key), spec.chain)
            except Invalid as problem:
                text = f"the {problem.path} of certificate {spec.id} {problem.message}"
                path = f"certificate/{spec.id}/{problem.path}"
                raise Invalid(text, code=problem.code, path=path) from problem

    def _make(self, spec: CertificateSpec) -> None:
        key = self.key_for(spec)
        self._keep(spec, key + openssl.sign_oneself(key, spec.names))

    def key_for(self, spec: CertificateSpec) -> str:
        """The key that it has already, where that is of the kind that is wanted, or another one."""
        text = self._text(spec.id) or ""
        present = _first(text)
        if present is not None and present.key == _KEYS[spec.key_type]:
            return _key_in(text)
        return openssl.make_key(spec.key_type)

    def _keep(self, spec: CertificateSpec, text: str) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.replace(self._file(spec.id), text.encode("ascii"), durable=True)
        except OSError as error:
            what = f"{self._file(spec.id)} cannot be written: {error.strerror}"
            raise ApplyFailed(what, code="certificate-file") from error

    def _show(self, shown: ShownSpec | None, is_shown: bool | None) -> None:
        """The one before comes back where the web server does not answer with the new one."""
        if self._web is None:
            self._shown = shown
            return
        text, before = self._pair(shown), self._web.chosen()
        if text != before or is_shown is False:
            self._web.choose(text)
            said = self._refused(self._web, text, is_shown is not None)
            if said:
                self._web.choose(before)
                path = "management/management/certificate"
                raise ApplyFailed(
                    f"{said}; it has the one before again", code="certificate-refused", path=path
                )
        self._shown = shown

    def _refused(self, web: WebServer, text: str | None, answers: bool) -> str:
        used = web.used()
        first = _first(used)
        if first is None or (text is not None and used != text):
            return "the web server did not get the certificate"
        is_shown = not answers or web.shows(first.der)
        return "" if is_shown else "the web server does not show the certificate that it was given"

    def _pair(self, shown: ShownSpec | None) -> str | None:
        """Key and chain; None: the router's own, also where the key is not known."""
        spec = None if shown is None else self._taken.get(shown.certificate)
        if spec is None or (spec.type == "upload" and spec.key is None):
            return None
        if spec.type != "upload":
            return self._text(spec.id)
        assert spec.key is not None
        return f"{self._opened(spec.key).rstrip()}\n{spec.chain}"

    def verify(self, difference: CertificatesDifference) -> None:
        """What a client gets was looked at when it was done."""
        held = CertificatesState(self._entries(), None)
        left = self.diff(held, difference.wanted)
        refuse(CERTIFICATES.name, [item.text for item in left.steps()])

    # -- by authorities: thread-safe, as what was taken is replaced as one ----------------------------------

    def known(self) -> Collection[str]:
        return self._taken.keys()

    def orders(self) -> Sequence[CertificateSpec]:
        """Those that an authority is to make, now for the first time or again."""
        return [spec for spec in self._taken.values() if spec.type == "acme" and self._is_due(spec)]

    def _is_due(self, spec: CertificateSpec) -> bool:
        first = self._certificate(spec)
        if first is None or set(first.names) != set(spec.names) or first.key != _KEYS[spec.key_type]:
            return True
        early_s = min(RENEW_S, (first.not_after_s - first.not_before_s) / 3)
        return not first.not_before_s <= self._now_s() < first.not_after_s - early_s

    def take_issued(self, spec: CertificateSpec, text: str) -> None:
        """What an authority made, with its key. The web server gets it when the system is compared next."""
        if self._taken.get(spec.id) == spec:
            self._keep(spec, text)

    # -- tell --------------------------------------------------------------------------------------------

    def effects(
        self, look: Look[CertificatesState, Mapping[str, Spec], CertificatesDifference]
    ) -> Iterator[Effect]:
        return iter(())  # connections that are open keep theirs, and no packet has to do with it

    def explain(
        self,
        found: Comparison[CertificatesState, Mapping[str, Spec], CertificatesDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        if item.kind == "management":
            asked = next(iter(told), "the web interface shows the router's own")
            state = self.learn_management(None)["management"]
            right = not found.difference if self._web is not None else None
            yield Line("certificate", asked, state["shown_sha256"] or state["not_served"], right)
            return
        is_held = found.held.entries.get(item.id) == found.wanted.get(item.id)
        for text in told:
            first = self._certificate(found.wanted.get(item.id))
            system = "there is none" if first is None else f"valid until {moment(first.not_after_s * 1000)}"
            yield Line("certificate", text, system, is_held and first is not None)

    def learn(self, ids: Collection[str] | None) -> Mapping[str, Mapping[str, Any]]:
        """Thread-safe: what was taken is replaced as one."""
        chosen = [spec for name, spec in self._taken.items() if ids is None or name in ids]
        return {spec.id: {**self._told(spec), **self._asked(spec)} for spec in chosen}

    def _asked(self, spec: CertificateSpec) -> dict[str, Any]:
        tried = self.tried(spec.id) if spec.type == "acme" else None
        if tried is None:
            return {}
        return {
            "last_try_at": moment(tried.at_ms),
            "last_error": tried.error or None,
            "next_try_at": moment(tried.next_ms) if tried.failures else None,
        }

    def learn_management(self, _ids: Collection[str] | None) -> Mapping[str, Mapping[str, Any]]:
        if self._web is None:
            return {"management": {"shown_sha256": None, "not_served": NO_SERVER}}
        try:
            shown = self._web.shown()
            said = "nobody answers by TLS on this router" if shown is None else self._lacking()
        except Problem as problem:
            shown, said = None, problem.message
        found = None if shown is None else fingerprint(shown)
        return {"management": {"shown_sha256": found, "not_served": said}}

    def looks(self) -> Mapping[str, CertificateLook]:
        """Of those in use, for the diagnosis. Thread-safe."""
        shown = self._shown
        spec = None if shown is None or self._web is None else self._taken.get(shown.certificate)
        first = self._certificate(spec)
        if spec is None or first is None:
            return {}
        left_s, waits_s = first.not_after_s - self._now_s(), first.not_before_s - self._now_s()
        return {spec.id: CertificateLook(left_s / DAY_S, max(-left_s, waits_s, 0) / DAY_S)}

    def _lacking(self) -> str | None:
        shown = self._shown
        if shown is None or self._pair(shown) is not None:
            return None
        if self._taken[shown.certificate].type == "acme":
            return f"certificate {shown.certificate} was not made yet, and the router shows its own"
        return f"the key of {shown.certificate} is unknown to this router, which shows its own: enter it"

    def _told(self, spec: CertificateSpec) -> dict[str, Any]:
        first, shown = self._certificate(spec), self._shown
        if first is None:
            return {"status": "not-made"} if spec.type == "acme" else {}
        is_used = self._web is not None and shown is not None and shown.certificate == spec.id
        left_s = first.not_after_s - self._now_s()
        return {
            "status": self._status(first, left_s),
            "subject": first.subject,
            "issuer": first.issuer,
            "certified": list(first.names),
            "algorithm": first.key,
            "not_before": moment(first.not_before_s * 1000),
            "not_after": moment(first.not_after_s * 1000),
            "days_left": int(left_s // DAY_S),
            "sha256": first.sha256,
            "used_by": WEB if is_used else None,
        }

    def _status(self, first: X509, left_s: float) -> str:
        if first.not_before_s > self._now_s():
            return "not-yet-valid"
        return "expired" if left_s <= 0 else "expiring" if left_s < EXPIRING_S else "valid"

    # -- files -------------------------------------------------------------------------------------------

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.pem"

    def _text(self, name: str) -> str | None:
        with suppress(OSError, ValueError):
            return self._file(name).read_text(encoding="ascii")
        return None

    def _own(self, spec: CertificateSpec) -> X509 | None:
        """What was made for just this, with its key."""
        text = self._text(spec.id)
        first = _first(text)
        if first is None or first.key != _KEYS[spec.key_type] or first.names != spec.names:
            return None
        try:
            openssl.check(text or "", text or "")
        except Invalid:
            return None
        return first

    def _certificate(self, spec: Spec | None) -> X509 | None:
        """Also one that its authority made for other names before: it stays until there is another."""
        if not isinstance(spec, CertificateSpec):
            return None
        if spec.type == "acme":
            return _first(self._text(spec.id))
        return self._own(spec) if spec.type == "self" else _first(spec.chain)


def _first(text: str | None) -> X509 | None:
    """The first certificate in what may begin with a key; None where there is none that can be read."""
    begin = (text or "").find("-----BEGIN CERTIFICATE")
    with suppress(Invalid):
        return next(iter(read_chain((text or "")[begin:])), None) if begin >= 0 else None
    return None


def _key_in(text: str) -> str:
    return text[: text.find("-----BEGIN CERTIFICATE")]

# SPDX-License-Identifier: Apache-2.0
"""Has certificates made by authorities: when they are wanted first, and again before their end.

What fails keeps what there is, and is tried again after a pause that doubles, also over a restart of the
agent: an authority that is asked too often stops answering.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from weir.adapters import certificates as openssl
from weir.adapters import dehydrated, files
from weir.adapters.dehydrated import Authority
from weir.backends.certificates import CertificatesBackend, Tried
from weir.loop import Loop
from weir.model.problem import Invalid, Problem
from weir.model.x509 import read_chain, to_pem
from weir.parts.certificates import CertificateSpec
from weir.store.clock import wall_ms

log = logging.getLogger(__name__)

LOOK_S = 60.0
HINT = "The authority has to reach port 80 of this router by each of the names."


class Orders:
    """One order at a time, by a thread of its own."""

    def __init__(
        self, backend: CertificatesBackend, folder: Path, passing: Path, ca_bundle: Path, look_s: float
    ) -> None:
        """`folder` is root's own and lasts; `passing` is one that others may look into."""
        self._backend = backend
        self._folder = folder
        self._passing = passing
        self._ca_bundle = ca_bundle
        self._look_s = look_s
        self._loop = Loop("acme", self._look, again_s=LOOK_S, first_s=look_s)
        backend.tried = self.tried
        backend.changed = self._loop.wake

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        self._loop.end()

    def tried(self, name: str) -> Tried | None:
        with suppress(OSError, ValueError, TypeError):
            return Tried(**json.loads((self._folder / f"{name}.tried").read_text(encoding="utf-8")))
        return None

    def _look(self) -> float:
        self._forget(self._backend.known())
        for spec in self._backend.orders():
            before = self.tried(spec.id)
            is_new = before is None or before.of != _asked(spec)
            if not self._loop.ending and (is_new or before is None or wall_ms() >= before.next_ms):
                self._try(spec, 0 if is_new or before is None else before.failures)
        return self._look_s

    def _forget(self, known: Collection[str]) -> None:
        """Accounts and tries of certificates that are no more."""
        with suppress(OSError):
            for path in self._folder.iterdir():
                if path.stem not in known:
                    path.unlink()

    def _try(self, spec: CertificateSpec, failures: int) -> None:
        error = ""
        try:
            self._order(spec)
            log.info("certificate %s was made by its authority", spec.id)
        except Problem as problem:
            error = f"{problem.message.rstrip('.')}. {HINT}"
            log.warning("certificate %s was not made: %s", spec.id, error)
        result = Tried(_asked(spec), wall_ms(), error, failures + 1 if error else 0)
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.replace(self._folder / f"{spec.id}.tried", json.dumps(asdict(result)).encode())

    def _order(self, spec: CertificateSpec) -> None:
        """Raises `Problem`; what there is stays then."""
        key = self._backend.key_for(spec)
        authority = Authority(spec.directory, spec.email, self._ca_bundle)
        said = dehydrated.order(
            authority,
            openssl.request(key, spec.names),
            self._folder / f"{spec.id}.account",
            self._passing / "acme-order",
            self._passing / "acme-challenge",
        )
        chain = read_chain(said)
        if not chain or set(chain[0].names) != set(spec.names):
            raise Invalid("the authority sent no certificate for these names", code="acme-refused")
        text = "".join(map(to_pem, chain))
        openssl.check(key, text)
        self._backend.take_issued(spec, key + text)


def _asked(spec: CertificateSpec) -> str:
    return " ".join((spec.directory, spec.email, spec.key_type, *spec.names))

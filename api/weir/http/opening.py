# SPDX-License-Identifier: Apache-2.0
"""The application from the first moment on: who signs in need not wait until the rest is loaded.

Pages, signing in and whether the router waits for its first setup are served by a small application that is
there a third of a second's work after the process began. Meanwhile the whole one is loaded, which takes three
times as long (docs/adr/0281). Who is signed in waits for it, and so do programs of the router itself, such as
the shell of an SSH session; all others are told to ask again, as they would hold the threads that signing in
needs.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from flask import Request

from weir import memory
from weir.accounts.accounts import Accounts
from weir.http import security
from weir.http.answers import NO_SETUP
from weir.http.application import make_app
from weir.http.endpoint import PREFIX, answer
from weir.http.problems import render
from weir.http.resources import auth, security_keys
from weir.http.settings import Settings
from weir.model.problem import Problem, Unavailable

if TYPE_CHECKING:
    from flask import Flask

log = logging.getLogger("weir.http")

Environ = dict[str, Any]
Application = Callable[[Environ, Any], Iterable[bytes]]

SIGNING_IN = frozenset(
    {("POST", security.SIGN_IN_PATH), ("POST", f"{security.SIGN_IN_PATH}/key"), ("GET", f"{PREFIX}/auth/me")}
)
SETUP = ("GET", f"{PREFIX}/setup")
STARTING = Unavailable("Weir is starting; ask again in a few seconds.", code="starting")
PATIENCE_S = 120.0
"""So long who is signed in waits for the rest."""
GRACE_S = 0.5
"""Loading begins so long after people can sign in, or when somebody waits for it: beside it a sign-in takes
twice as long where there is one processor."""


class Opening:
    """A WSGI application. `failed` is called when the whole one cannot be loaded."""

    def __init__(self, settings: Settings, failed: Callable[[], None]) -> None:
        self._settings = settings
        self._failed = failed
        self._accounts = Accounts.open(settings.database)
        self._door = make_app(settings, (auth.resource, security_keys.resource))
        self._door.extensions["weir-accounts"] = self._accounts
        self._whole: Flask | None = None
        self._is_loaded = threading.Event()
        self._is_closed = False
        self._is_wanted = threading.Event()

    def begin(self) -> None:
        """Load the rest beside what is served."""
        threading.Thread(target=self._load, name="loading", daemon=True).start()

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        application: Application = self._whole or self._who_serves(environ)
        return application(environ, start_response)

    def close(self) -> None:
        """Stop the sampler, end the streams, close the store."""
        self._is_closed = True
        if self._whole is None:
            self._accounts.close()
            return
        parts = self._whole.extensions["weir"]
        parts.stats.stop()
        parts.service.close()

    def _load(self) -> None:
        begun_s = time.monotonic()
        self._is_wanted.wait(GRACE_S)
        try:
            from weir.http.app import create_app

            self._whole = create_app(self._settings, self._accounts)
        except BaseException:
            if not self._is_closed:
                log.exception("the API cannot serve")
                self._failed()
            return
        self._is_loaded.set()
        log.info("all of the API is loaded, %.1f s after people could sign in", time.monotonic() - begun_s)
        memory.keep_trimmed()

    def _who_serves(self, environ: Environ) -> Application:
        asked = Request(environ)
        operation = ("GET" if asked.method == "HEAD" else asked.method, asked.path)
        if operation in SIGNING_IN or not asked.path.startswith(security.API_PREFIX):
            return self._door
        if operation == SETUP and not self._waits_for_setup():
            return security.add_headers(answer(NO_SETUP), asked.path)
        if _is_a_program_here(asked) or self._is_known(asked):
            self._is_wanted.set()
            if self._is_loaded.wait(PATIENCE_S) and self._whole is not None:
                return self._whole
        return security.add_headers(render(STARTING), asked.path)

    def _waits_for_setup(self) -> bool:
        return self._settings.first_setup and self._accounts.auth.unclaimed()

    def _is_known(self, asked: Request) -> bool:
        try:
            return self._accounts.auth.is_good(*security.credential_of(asked))
        except Problem:
            return False


def _is_a_program_here(asked: Request) -> bool:
    """Whether a request comes from the router itself and not by its proxy, which says whose it brings."""
    return asked.remote_addr in ("127.0.0.1", "::1") and "X-Forwarded-For" not in asked.headers

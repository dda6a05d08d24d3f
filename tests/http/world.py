# SPDX-License-Identifier: Apache-2.0
"""A whole API over a fake agent with counters, in a folder of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from argon2 import PasswordHasher
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.serving import make_server

from tests.http.agent import Agent
from weir.accounts import passwords, totp
from weir.accounts.principal import Principal
from weir.http.app import attach, make_whole, open_parts, resources
from weir.http.context import Context
from weir.http.endpoint import Operation
from weir.http.settings import Settings
from weir.kinds import DECLARED
from weir.kinds.declaration import Declaration
from weir.store.clock import wall_ms


def app_of(static_dir: Path | None) -> Flask:
    """One application per process: building it takes longer than most tests. Its parts are swapped."""
    return _app_of(static_dir, tuple(DECLARED.values()))


@cache
def _app_of(static_dir: Path | None, _declared: tuple[Declaration, ...]) -> Flask:
    return make_whole(Settings(Path(), Path(), static_dir))


def registered() -> tuple[Flask, dict[str, Operation]]:
    """An application with all resources, and their operations by endpoint."""
    app, operations = Flask("weir"), {}
    for resource in resources():
        app.register_blueprint(resource)
        operations |= resource.operations
    return app, operations


class World:
    """`app` over a store in `folder` and a fake agent; `token(scope)` gives credentials."""

    def __init__(
        self,
        folder: Path,
        *,
        socket: Path | None = None,
        tokens: dict[str, str] | None = None,
        **settings: Any,
    ) -> None:
        """`tokens` are those of accounts that are there already."""
        self.database = folder / "weir.db"
        self.socket = socket or folder / "agent.sock"
        self.settings = Settings(self.database, self.socket, **settings)
        self.parts: Context = open_parts(self.settings)
        self.app = app_of(self.settings.static_dir)
        attach(self.app, self.settings, self.parts)
        self.agent = Agent(self.socket, self.database)
        is_new = tokens is None and not self.settings.first_setup
        self.password = self._first_password() if is_new else None
        self._tokens = tokens or {}

    def _first_password(self) -> str | None:
        """Its hash takes a thousandth of the time of the product's; who signs in gets one of those."""
        cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
        with mock.patch.object(passwords, "_HASHER", cheap):
            return self.parts.service.auth.bootstrap()

    def __enter__(self) -> World:
        self.agent.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self.parts.stats.stop()
        self.parts.service.close()
        self.agent.__exit__(*exception)

    def token(self, scope: str = "admin") -> str:
        if scope not in self._tokens:
            self._tokens[scope] = self.parts.service.auth.issue_local_token(f"test-{scope}", scope)
        return self._tokens[scope]

    def client(self, scope: str | None = "admin") -> Client:
        return Client(self.app.test_client(), self.token(scope) if scope else None)


@contextmanager
def still_world(folder: Path) -> Iterator[World]:
    """It has a file for statistics, and samples when it is told to."""
    with World(folder, statistics_database=folder / "weir-statistics.db") as found:
        found.parts.stats._stop.set()
        thread = found.parts.stats._thread
        assert thread is not None
        thread.join(timeout=60)
        yield found


class Client:
    """A test client that sends a token and JSON."""

    def __init__(self, http: FlaskClient, token: str | None) -> None:
        self.http = http
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def __call__(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        headers = {**self.headers, **options.pop("headers", {})}
        if (etag := options.pop("etag", None)) is not None:
            headers["If-Match"] = f'"{etag}"'
        if body is not None:
            options["json"] = body
        path = path if path.startswith("/api") else f"/api/v1{path}"
        return self.http.open(path, method=method, headers=headers, **options)


class Live:
    """The world's application on a loopback port of its own."""

    def __init__(self, world: World) -> None:
        self._server = make_server("127.0.0.1", 0, world.app, threaded=True)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Live:
        self._thread.start()
        return self

    def _serve(self) -> None:
        self._server.serve_forever(poll_interval=0.02)

    def __exit__(self, *_exception: object) -> None:
        self._server.shutdown()
        self._thread.join(timeout=5)
        self._server.server_close()


def probes() -> set[int]:
    """Processes of runs that this process started."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"weir.probes" in words and str(os.getpid()).encode() in words:
            found.add(int(path.name))
    return found


def set_second_factor(world: World, who: Principal, password: str) -> list[str]:
    """Of an account of the world; the recovery codes."""
    service = world.parts.service.second_factor
    secret = service.offer(who, "Weir").secret
    return service.begin(who, password, secret, totp.code_at(secret, wall_ms() // 30_000))

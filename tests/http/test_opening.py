# SPDX-License-Identifier: Apache-2.0
"""Who signs in while the rest of the API is being loaded, and who waits."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from werkzeug.test import Client, TestResponse

from weir.accounts.accounts import Accounts
from weir.http.opening import GRACE_S, Opening
from weir.http.settings import Settings

PASSWORD = "correct horse battery"
SIGN_IN = "/api/v1/auth/sign-in"
OF_THE_REST = {"weir.service", "weir.kinds", "weir.parts", "weir.formats", "weir.http.app", "weir.wire"}
"""What takes most of the time to load."""
ALONE = """
import sys
from pathlib import Path

from weir.http.opening import Opening
from weir.http.settings import Settings

Opening(Settings(Path(sys.argv[1]) / "weir.db", Path(sys.argv[1]) / "agent.sock"), lambda: None)
print(*sys.modules)
"""


@pytest.fixture
def opening(tmp_path: Path) -> Iterator[Opening]:
    """With an administrator; the rest is loaded by `begin`."""
    accounts = Accounts.open(tmp_path / "weir.db")
    accounts.auth.claim(PASSWORD, "test")
    accounts.close()
    settings = Settings(tmp_path / "weir.db", tmp_path / "agent.sock", first_setup=True)
    opened = Opening(settings, lambda: pytest.fail("the rest could not be loaded"))
    yield opened
    opened.close()


def signed_in(client: Client, password: str = PASSWORD) -> TestResponse:
    return client.post(SIGN_IN, json={"username": "admin", "password": password})


def test_signing_in_needs_little_of_the_api(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not OF_THE_REST & set(done.stdout.split())


def test_somebody_signs_in_before_the_rest_is_there(opening: Opening) -> None:
    client = Client(opening)
    assert client.get("/api/v1/auth/me").status_code == 401
    assert client.get("/api/v1/setup").json["needed"] is False  # type: ignore[index]
    assert signed_in(client, "a wrong password").json["code"] == "bad-credentials"  # type: ignore[index]
    answer = signed_in(client)
    assert answer.status_code == 200 and answer.json["user"]["username"] == "admin"  # type: ignore[index]
    assert client.get("/api/v1/auth/me").json["username"] == "admin"  # type: ignore[index]


@pytest.mark.parametrize("path", ["/api/v1/queues", "/api/v1/system/live", "/api/v1/nothing"])
def test_strangers_are_told_to_ask_again(opening: Opening, path: str) -> None:
    answer = Client(opening).get(path, headers={"Authorization": "Bearer weir_nobody"})
    assert answer.status_code == 503 and answer.json["code"] == "starting"  # type: ignore[index]
    assert answer.headers["Retry-After"] == "2" and answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_who_is_signed_in_waits_for_the_rest_which_begins_then(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weir.http.opening.GRACE_S", 60 * GRACE_S)
    client = Client(opening)
    signed_in(client)
    opening.begin()
    begun_s = time.monotonic()
    answer = client.get("/api/v1/queues")
    assert time.monotonic() - begun_s < 60 * GRACE_S
    assert answer.status_code == 200 and answer.json["items"] == []  # type: ignore[index]
    assert Client(opening).get("/api/v1/queues").json["code"] == "unauthenticated"  # type: ignore[index]
    assert client.get("/api/v1/auth/me").status_code == 200


@pytest.mark.parametrize(("headers", "status"), [({}, 200), ({"X-Forwarded-For": "192.0.2.1"}, 503)])
def test_a_program_of_the_router_waits_and_who_comes_by_the_proxy_does_not(
    opening: Opening, headers: dict[str, str], status: int
) -> None:
    opening.begin()
    here = {"REMOTE_ADDR": "127.0.0.1"}
    answer = Client(opening).get("/api/v1/system/live", headers=headers, environ_overrides=here)
    assert answer.status_code == status


def test_a_new_router_says_nothing_of_its_setup_before_it_knows(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "weir.db", tmp_path / "agent.sock", first_setup=True)
    new = Opening(settings, lambda: None)
    try:
        assert Client(new).get("/api/v1/setup").json["code"] == "starting"  # type: ignore[index]
    finally:
        new.close()


def test_what_cannot_be_loaded_ends_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = threading.Event()
    opened = Opening(Settings(tmp_path / "weir.db", tmp_path / "agent.sock"), failed.set)
    monkeypatch.setattr("weir.http.app.create_app", lambda *_: 1 / 0)
    opened.begin()
    assert failed.wait(10)
    opened.close()

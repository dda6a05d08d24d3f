# SPDX-License-Identifier: Apache-2.0
"""A service with an agent that has no kernel, and people who use it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from tests.service.fake_agent import FakeAgent
from tests.service.people import GOOD, HERE, Clock
from tests.service.router import Router
from tests.service.soft_key import HOST, Passing
from weir.accounts import passwords
from weir.accounts.challenges import Challenges
from weir.accounts.principal import Principal
from weir.accounts.security_keys import SecurityKeyService
from weir.kinds.identity import Identity
from weir.model.document import Document
from weir.service import Service
from weir.service.own_names import own_names


@pytest.fixture
def router(tmp_path: Path) -> Iterator[Router]:
    database, socket = tmp_path / "weir.db", tmp_path / "agent.sock"
    service = Service.open(database, socket)
    with FakeAgent(socket, database) as agent:
        yield Router(service, agent, database)
    service.close()


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> PasswordHasher:
    """The hasher that is really used; tests get one that takes a thousandth of the time."""
    real = passwords._HASHER
    monkeypatch.setattr(passwords, "_HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    return real


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(1_800_000_000_000)
    for module in ("auth", "users", "audit", "second_factor", "security_keys", "proof"):
        monkeypatch.setattr(f"weir.accounts.{module}.wall_ms", clock)
    return clock


@pytest.fixture
def service(tmp_path: Path, clock: Clock) -> Iterator[Service]:
    """Without an agent: accounts need none."""
    service = Service.open(tmp_path / "weir.db", tmp_path / "nobody.sock")
    yield service
    service.close()


@pytest.fixture
def admin(service: Service) -> Principal:
    """Signed in, with the first password changed to `GOOD`."""
    first = service.auth.bootstrap()
    assert first is not None
    signed = service.auth.sign_in("admin", first, HERE)
    service.auth.change_password(signed.principal, first, GOOD)
    return service.auth.authenticate_session(signed.secret, HERE)


def named() -> frozenset[str]:
    return own_names(Document([Identity(hostname=HOST)]))


@pytest.fixture
def passing() -> Passing:
    return Passing()


@pytest.fixture
def keys(service: Service, passing: Passing) -> SecurityKeyService:
    """Of a router that is called `HOST`."""
    service.auth._challenges = Challenges(passing)
    return SecurityKeyService(service.auth._store, service.auth._challenges, named)

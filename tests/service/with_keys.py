# SPDX-License-Identifier: Apache-2.0
"""What tests of security keys do over and over: add one, ask it, sign in with it."""

from __future__ import annotations

import pytest

from tests.service.people import GOOD, HERE
from tests.service.soft_key import (
    HOST,
    ORIGIN,
    SoftKey,
)
from weir.accounts.principal import Principal
from weir.accounts.security_keys import SecurityKeyService
from weir.accounts.webauthn import KeyAnswer
from weir.model.problem import Unauthenticated
from weir.service import Service


def added(
    keys: SecurityKeyService, who: Principal, key: SoftKey, name: str = "blue", password: str = GOOD
) -> list[str]:
    """The recovery codes."""
    offer = keys.offer(who, password, "https", HOST)
    return keys.add(who, name, key.new(offer.challenge))[1]


def challenge(service: Service, origin: str = ORIGIN, name: str = "admin", password: str = GOOD) -> bytes:
    return service.auth.ask_key(name, password, origin, HERE).challenge


def opened(service: Service, answer: KeyAnswer, name: str = "admin", password: str = GOOD) -> Principal:
    return service.auth.sign_in(name, password, HERE, code=answer).principal


def refusal(service: Service, answer: KeyAnswer, name: str = "admin", password: str = GOOD) -> str:
    with pytest.raises(Unauthenticated) as caught:
        opened(service, answer, name, password)
    assert caught.value.code == "wrong-key"
    return caught.value.message


def trail(service: Service, admin: Principal) -> list[tuple[str, str, str]]:
    return [(entry.action, entry.outcome, entry.detail) for entry in service.audit.list(admin, None, 50)]


def sign_in_with(service: Service, key: SoftKey) -> Principal:
    return opened(service, key.answer(challenge(service)))

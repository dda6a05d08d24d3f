# SPDX-License-Identifier: Apache-2.0
"""Who signs in to the tests' service, from where, and when."""

from __future__ import annotations

from weir.accounts.principal import SignedIn
from weir.model.problem import Problem, Throttled, Unauthenticated
from weir.service import Service

HERE, ELSEWHERE = "192.0.2.1", "198.51.100.7"
GOOD, OTHER = "correct horse battery", "a rather long word 7"
HOUR_MS = 3600 * 1000


class Clock:
    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def pass_s(self, seconds: float) -> None:
        self.now_ms += int(seconds * 1000)


def sign_in(service: Service, name: str = "admin", password: str = GOOD, source: str = HERE) -> SignedIn:
    return service.auth.sign_in(name, password, source)


def guess(service: Service, name: str = "admin", source: str = ELSEWHERE) -> type[Problem]:
    try:
        service.auth.sign_in(name, "wrong password", source)
    except (Unauthenticated, Throttled) as problem:
        return type(problem)
    raise AssertionError("a wrong password let somebody in")

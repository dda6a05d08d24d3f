# SPDX-License-Identifier: Apache-2.0
"""What a view can reach: the services of this process and who is asking."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from flask import current_app, g

from weir.accounts.accounts import Accounts
from weir.accounts.principal import Principal
from weir.http.settings import Settings

if TYPE_CHECKING:
    from weir.service import Service
    from weir.service.imports import ImportService
    from weir.service.stats import StatsService


@dataclass(frozen=True, slots=True)
class Context:
    """`warned` remembers how many queues have findings, by revision."""

    service: Service
    stats: StatsService
    imports: ImportService
    warned: dict[int, int] = field(default_factory=dict)

    @property
    def hostname(self) -> str:
        return str(self.stats.router.system_answer.get("hostname") or "router")

    def attachment(self, what: str, ending: str) -> str:
        """The header of a file that a browser saves: `weir-NAME-WHAT.ENDING`."""
        name = "".join(char for char in self.hostname if char.isascii() and (char.isalnum() or char in "-."))
        return f'attachment; filename="weir-{name[:63]}-{what}.{ending}"'


def context() -> Context:
    return cast(Context, current_app.extensions["weir"])


def settings() -> Settings:
    return cast("Settings", current_app.extensions["weir-settings"])


def accounts() -> Accounts:
    """Those of the router, which are there before its services are (`weir.http.opening`)."""
    return cast("Accounts", current_app.extensions["weir-accounts"])


def service() -> Service:
    return context().service


def me() -> Principal:
    """The authenticated principal. Only called by views whose scope is not public."""
    return cast(Principal, g.principal)

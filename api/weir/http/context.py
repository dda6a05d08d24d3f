# SPDX-License-Identifier: Apache-2.0
"""What a view can reach: the services of this process and who is asking."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from flask import current_app, g

from weir.http.settings import Settings
from weir.service import Principal, Service
from weir.service.imports import ImportService
from weir.service.stats import StatsService


@dataclass(frozen=True, slots=True)
class Context:
    """`warned` remembers how many queues have findings, by revision."""

    settings: Settings
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


def service() -> Service:
    return context().service


def me() -> Principal:
    """The authenticated principal. Only called by views whose scope is not public."""
    return cast(Principal, g.principal)

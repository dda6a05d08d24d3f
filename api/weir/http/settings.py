# SPDX-License-Identifier: Apache-2.0
"""Settings of the API process, from the environment and the command line."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """`trusted_proxies` counts the reverse proxies whose X-Forwarded-* headers are believed."""

    database: Path
    agent_socket: Path
    static_dir: Path | None = None
    listen: str = "127.0.0.1:8080"
    threads: int = 64
    max_streams: int = 48
    trusted_proxies: int = 0
    statistics_database: Path | None = None
    allow_root: bool = False
    allowed_hosts: tuple[str, ...] = field(default=())

    @classmethod
    def from_environment(cls) -> Settings:
        """`WEIR_DATABASE`, `WEIR_AGENT_SOCKET`, `WEIR_STATIC_DIR`, `WEIR_LISTEN`, ..."""
        env = os.environ
        static = env.get("WEIR_STATIC_DIR")
        statistics = env.get("WEIR_STATISTICS_DATABASE")
        return cls(
            database=Path(env.get("WEIR_DATABASE", "/var/lib/weir/weir.db")),
            agent_socket=Path(env.get("WEIR_AGENT_SOCKET", "/run/weir/agent.sock")),
            static_dir=Path(static) if static else None,
            listen=env.get("WEIR_LISTEN", "127.0.0.1:8080"),
            trusted_proxies=int(env.get("WEIR_TRUSTED_PROXIES", "0")),
            statistics_database=Path(statistics) if statistics else None,
            allow_root=env.get("WEIR_ALLOW_ROOT") == "1",
        )

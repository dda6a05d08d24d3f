# SPDX-License-Identifier: Apache-2.0
"""Settings of the API process, from the environment and the command line."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """`trusted_proxies` counts the reverse proxies whose X-Forwarded-* headers are believed. `first_setup` is
    the appliance's: while there is no account, the first visitor creates one."""

    database: Path
    agent_socket: Path
    static_dir: Path | None = None
    listen: str = "127.0.0.1:8080"
    threads: int = 64
    max_streams: int = 1024
    trusted_proxies: int = 0
    statistics_database: Path | None = None
    allow_root: bool = False
    first_setup: bool = False

    @classmethod
    def from_environment(cls) -> Settings:
        """`WEIR_DATABASE`, `WEIR_AGENT_SOCKET`, `WEIR_STATIC_DIR`, `WEIR_LISTEN`, ..."""
        env = os.environ
        static = env.get("WEIR_STATIC_DIR")
        database = Path(env.get("WEIR_DATABASE", "/var/lib/weir/weir.db"))
        statistics = env.get("WEIR_STATISTICS_DATABASE")
        return cls(
            database=database,
            agent_socket=Path(env.get("WEIR_AGENT_SOCKET", "/run/weir/agent.sock")),
            static_dir=Path(static) if static else None,
            listen=env.get("WEIR_LISTEN", "127.0.0.1:8080"),
            trusted_proxies=int(env.get("WEIR_TRUSTED_PROXIES", "0")),
            statistics_database=Path(statistics) if statistics else beside(database),
            allow_root=env.get("WEIR_ALLOW_ROOT") == "1",
            first_setup=env.get("WEIR_FIRST_SETUP") == "1",
        )


def beside(database: Path) -> Path:
    """`weir.db` -> `weir-statistics.db` in the same folder."""
    return database.with_name(f"{database.stem}-statistics{database.suffix}")

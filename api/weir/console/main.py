# SPDX-License-Identifier: Apache-2.0
"""`weir-console`: what a monitor or a serial cable shows of the router, instead of a login."""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from weir.console.keyboard import Keyboard
from weir.console.menu import Menu
from weir.console.router import Router
from weir.wire.client import AgentClient

SHELL_IDLE_S = 900
AGENT_TIMEOUT_S = 5.0


def main(argv: Sequence[str] | None = None) -> int:
    """0 when the line is gone; the line's supervisor starts it again."""
    options = _parser().parse_args(argv)
    logging.basicConfig(level=logging.CRITICAL)
    agent = AgentClient(options.socket, timeout_s=AGENT_TIMEOUT_S, connections=1)
    router = Router(options.database, agent)
    menu = Menu(
        Keyboard(),
        router,
        options.certificate,
        lambda: shell(options.shell),
        lambda: install(options.installer),
    )
    try:
        menu.run()
    except EOFError:
        return 0
    finally:
        agent.close()


def shell(program: str) -> None:
    """One that ends by itself when nobody types."""
    print(f"The shell ends after {SHELL_IDLE_S // 60} minutes without a word, or with exit.")
    environment = {**os.environ, "TMOUT": str(SHELL_IDLE_S), "HOME": "/root", "PS1": "weir# "}
    subprocess.run([program, "--norc", "-i"], env=environment, check=False)


def install(program: str) -> None:
    try:
        subprocess.run([program], check=False)
    except OSError as error:
        print(f"Not done: {program}: {error.strerror}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="weir-console", description="Weir's menu for monitor and serial line."
    )
    add = parser.add_argument
    add("--socket", type=Path, default=Path("/run/weir/agent.sock"), help="the agent's socket")
    add("--database", type=Path, default=Path("/var/lib/weir/weir.db"), help="the configuration")
    add("--certificate", type=Path, default=Path("/run/weir-tls/weir.pem"), help="of the web interface")
    add("--shell", default="/bin/bash", help="what administrators get")
    add("--installer", default="/usr/bin/weir-install", help="what puts the system onto another disk")
    return parser


if __name__ == "__main__":
    sys.exit(main())

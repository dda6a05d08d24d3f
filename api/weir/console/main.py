# SPDX-License-Identifier: Apache-2.0
"""`weir-console`: what a monitor or a serial cable shows of the router, instead of a login.

It does one thing of the menu and ends. Until the next one is chosen a shell waits
(board/overlay/usr/libexec/weir/console), which takes a tenth of the memory.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from weir.console.keyboard import Keyboard
from weir.console.menu import CHOICES, SHOW, Menu
from weir.console.router import Router
from weir.wire.client import AgentClient

SHELL_IDLE_S = 900
AGENT_TIMEOUT_S = 5.0


def main(argv: Sequence[str] | None = None) -> int:
    """0 also when somebody changed their mind or the line is gone."""
    options = _parser().parse_args(argv)
    logging.basicConfig(level=logging.CRITICAL)
    agent = AgentClient(options.socket, timeout_s=AGENT_TIMEOUT_S, connections=1)
    router = Router(options.database, agent)
    menu = Menu(
        Keyboard(),
        router,
        options.certificate,
        lambda: shell(options.shell),
        lambda: become(options.installer),
    )
    try:
        menu.act(options.choice)
    except KeyboardInterrupt:
        print()
    except EOFError:
        return 0
    finally:
        agent.close()
    return 0


def shell(program: str) -> None:
    """One that ends by itself when nobody types."""
    print(f"The shell ends after {SHELL_IDLE_S // 60} minutes without a word, or with exit.")
    become(program, "--norc", "-i", TMOUT=str(SHELL_IDLE_S), HOME="/root", PS1="weir# ")


def become(program: str, *words: str, **environment: str) -> None:
    """Go on as another program; return only where it cannot be started, which is said."""
    sys.stdout.flush()
    try:
        os.execve(program, (program, *words), {**os.environ, **environment})
    except OSError as error:
        print(f"Not done: {program}: {error.strerror}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="weir-console", description="Weir's menu for monitor and serial line."
    )
    add = parser.add_argument
    numbers = [number for number, _ in CHOICES]
    add("choice", nargs="?", choices=numbers, default=SHOW, help="a number of the menu")
    add("--socket", type=Path, default=Path("/run/weir/agent.sock"), help="the agent's socket")
    add("--database", type=Path, default=Path("/var/lib/weir/weir.db"), help="the configuration")
    add("--certificate", type=Path, default=Path("/run/weir-tls/weir.pem"), help="of the web interface")
    add("--shell", default="/bin/bash", help="what administrators get")
    add("--installer", default="/usr/bin/weir-install", help="what puts the system onto another disk")
    return parser


if __name__ == "__main__":
    sys.exit(main())

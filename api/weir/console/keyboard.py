# SPDX-License-Identifier: Apache-2.0
"""Lines from the terminal, with an interrupt that is neither lost nor comes at the wrong moment.

`input` misses an interrupt that arrives between its prompt and its read, and one that arrives while the
program works would end it. Here an interrupt counts only while somebody is asked.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager

_PIECE_BYTES = 4096


class Keyboard:
    """Standard input, line by line. One per process: it takes SIGINT for itself."""

    def __init__(self) -> None:
        self._interrupts, writer = socket.socketpair()
        self._interrupts.setblocking(False)
        writer.setblocking(False)
        self._writer = writer  # open as long as signals may write to it
        signal.signal(signal.SIGINT, lambda _number, _frame: None)
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        self._pending = b""

    def ask(self, question: str, *, hidden: bool = False) -> str:
        """The answer without spaces around it, or, `hidden`, as it is and not shown.

        Raises `KeyboardInterrupt` for an interrupt since the question, `EOFError` when the line is gone.
        """
        if not hidden:
            return self._line(question).strip()
        with _without_echo():
            answer = self._line(question)
        print()
        return answer

    def _line(self, question: str) -> str:
        self._forget_interrupts()
        print(question, end="", flush=True)
        while b"\n" not in self._pending:
            ready, _, _ = select.select([sys.stdin, self._interrupts], [], [])
            if self._interrupts in ready:
                self._pending = b""
                raise KeyboardInterrupt
            piece = os.read(sys.stdin.fileno(), _PIECE_BYTES)
            if not piece:
                raise EOFError
            self._pending += piece
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode(errors="replace")

    def _forget_interrupts(self) -> None:
        try:
            while self._interrupts.recv(_PIECE_BYTES):
                pass
        except BlockingIOError:
            return


@contextmanager
def _without_echo() -> Iterator[None]:
    """As getpass(3): what was typed before the question is thrown away."""
    held = termios.tcgetattr(sys.stdin)
    silent = list(held)
    silent[3] = int(held[3]) & ~termios.ECHO
    termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, silent)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, held)

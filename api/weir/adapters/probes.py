# SPDX-License-Identifier: Apache-2.0
"""The process of a tool's run: started, given time, and ended."""

from __future__ import annotations

import os
import subprocess

from weir.adapters.confined import start_confined
from weir.model.problem import Unavailable

END_S = 1.0
"""For so long it may say how it ended before it is killed."""
_SAID_BYTES = 500


class Probe:
    """A child of the thread that makes it, with which the kernel ends it: that thread must wait for it."""

    def __init__(self, name: str, arguments: str, note: str, given: int = subprocess.DEVNULL) -> None:
        """Raises `Unavailable`. `output` is where its events come; the caller closes it. `given` is its
        input."""
        self.output, write = os.pipe2(os.O_CLOEXEC)
        try:
            parent = str(os.getpid())
            self._process = start_confined(
                "weir.probes", name, arguments, note, parent, stdin=given, stdout=write
            )
        except OSError as error:
            os.close(self.output)
            text = f"a process for {name} cannot be started: {error.strerror}"
            raise Unavailable(text, code="tool-not-started") from error
        finally:
            os.close(write)

    def wait(self, seconds: float) -> str:
        """Until it ends, or is killed after that time; what it complained of."""
        try:
            _, said = self._process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            return f"it was ended after {seconds:g} s"
        return " ".join(said.decode(errors="replace").split())[-_SAID_BYTES:]

    def stop(self) -> None:
        """Ask it to end; from any thread. It may say how it ended."""
        self._process.terminate()

    def kill(self) -> None:
        """End it in any case; nothing happens when it has ended."""
        self._process.kill()

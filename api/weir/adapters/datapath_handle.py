# SPDX-License-Identifier: Apache-2.0
"""An open libweir: calls by its handle, and what they raise."""

from __future__ import annotations

import ctypes

from weir.adapters.datapath_lib import problem_of


class Handle:
    """What each part of `Datapath` calls libweir by."""

    def __init__(self, library: ctypes.CDLL, handle: ctypes.c_void_p, reused: str) -> None:
        self._library = library
        self._handle: ctypes.c_void_p | None = handle
        self.reused = reused
        """"new", "reused" (pinned state taken over) or "upgraded" (and its programs replaced)."""

    def close(self) -> None:
        """Leave pins and links in place; the handle is of no more use."""
        if self._handle is not None:
            self._library.weir_close(self._handle)
            self._handle = None

    def native(self) -> tuple[ctypes.CDLL, ctypes.c_void_p]:
        """Library and handle, for the modules beside this one that wrap more of libweir."""
        if self._handle is None:
            raise RuntimeError("the datapath is closed")
        return self._library, self._handle

    @property
    def library(self) -> str:
        """Where libweir.so is, for another process."""
        return self._library._name

    def _call(self, name: str, *arguments: object) -> int:
        library, handle = self.native()
        result: int = getattr(library, name)(handle, *arguments)
        if result < 0:
            raise problem_of(library, result)
        return result

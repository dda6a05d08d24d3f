# SPDX-License-Identifier: Apache-2.0
"""The kernel's name of this machine (uts_namespaces(7))."""

from __future__ import annotations

import ctypes
import os
import socket

from weir.model.problem import ApplyFailed, Unsupported

_CLONE_NEWUTS = 0x0400_0000


class MachineName:
    """Unless the machine `is_ours`, this thread and those that it starts from now on have a name of their
    own: a lab never changes what its host is called."""

    def __init__(self, *, is_ours: bool) -> None:
        self._refusal = ""
        if not is_ours and ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWUTS) != 0:
            self._refusal = f"the machine is not Weir's to name: {os.strerror(ctypes.get_errno())}"

    def read(self) -> str:
        return socket.gethostname()

    def set(self, name: str) -> None:
        """Raises `Unsupported` where the machine is another's, `ApplyFailed` when the kernel refuses."""
        if self._refusal:
            raise Unsupported(self._refusal, code="not-ours-to-name")
        try:
            socket.sethostname(name)
        except OSError as error:
            raise ApplyFailed(f"host name {name}: {error.strerror}", code="host-name") from error

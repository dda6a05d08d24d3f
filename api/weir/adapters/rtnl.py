# SPDX-License-Identifier: Apache-2.0
"""pyroute2's `IPRoute` without the rest of pyroute2.

`import pyroute2` imports every protocol that it speaks, from WiFi to Plan 9, and two databases: half of what
the agent imports, and 5 MB. So the package is entered without its `__init__`; where it was imported before,
or is not laid out as we know it, everything is as usual.

Its configuration starts `uname -p` and `file` to learn what processor this is, and uses nothing of it: 43 of
the 800 ms that the imports of the agent took beside a load of 13. So it is told what the kernel says.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager

NAME = "pyroute2"


@contextmanager
def _asking_no_program() -> Iterator[None]:
    uname, architecture = platform.uname, platform.architecture
    platform.uname = os.uname  # type: ignore[assignment]
    platform.architecture = lambda *_: (f"{sys.maxsize.bit_length() + 1}bit", "ELF")
    try:
        yield
    finally:
        platform.uname, platform.architecture = uname, architecture


if NAME not in sys.modules and (_spec := importlib.util.find_spec(NAME)) is not None:
    sys.modules[NAME] = importlib.util.module_from_spec(_spec)
try:
    with _asking_no_program():
        importlib.import_module(f"{NAME}.config")
    from pyroute2.iproute.linux import IPRoute
    from pyroute2.netlink.exceptions import NetlinkError
except ImportError:  # a part of it counts on what its `__init__` imports
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]
    from pyroute2 import IPRoute
    from pyroute2.netlink.exceptions import NetlinkError

__all__ = ["IPRoute", "NetlinkError"]

# SPDX-License-Identifier: Apache-2.0
"""What holds of an update's bundle on its way through both processes."""

from __future__ import annotations

import errno

from weir.model.problem import Unavailable

MAX_BUNDLE_BYTES = 512 << 20


def no_room() -> Unavailable:
    """The data partition is full (`disk-full`)."""
    return Unavailable("there is no room for the bundle on the data partition", code="disk-full")


def not_kept(error: OSError, what: str) -> Unavailable:
    """The system refused a read or a write: `disk-full`, or `upload` with `what` and the system's reason."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return no_room()
    return Unavailable(f"{what}: {error.strerror}", code="upload")

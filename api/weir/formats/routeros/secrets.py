# SPDX-License-Identifier: Apache-2.0
"""Properties of RouterOS whose values nobody sees."""

from __future__ import annotations

import re

_SECRET = re.compile(r"key|secret|pass|psk|token|script|on-up|on-down|on-event|source|authentication")


def may_be_secret(name: str) -> bool:
    """Whether a property of this name may hold what nobody may see, or a script that names it."""
    return _SECRET.search(name) is not None

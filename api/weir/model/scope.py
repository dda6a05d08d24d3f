# SPDX-License-Identifier: Apache-2.0
"""How much an account or a token may do."""

from __future__ import annotations

from typing import Literal, get_args

Scope = Literal["read", "support", "write", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""Each includes those before it."""
RANK: dict[str, int] = {name: number for number, name in enumerate(SCOPES, 1)}

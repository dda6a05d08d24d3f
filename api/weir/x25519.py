# SPDX-License-Identifier: Apache-2.0
"""Key pairs of Curve25519 as WireGuard writes them: 32 bytes in base64 (RFC 7748)."""

from __future__ import annotations

import base64
import secrets

KEY_BYTES = 32


def new_private() -> str:
    """From the kernel's random numbers, clamped as WireGuard's own tools do it."""
    key = bytearray(secrets.token_bytes(KEY_BYTES))
    key[0] &= 248
    key[31] = key[31] & 127 | 64
    return text_of(bytes(key))


def new_shared() -> str:
    """A key that both ends have: any 32 bytes."""
    return text_of(secrets.token_bytes(KEY_BYTES))


def public_of(private: str) -> str:
    """The public half."""
    from nacl.bindings import crypto_scalarmult_base

    return text_of(crypto_scalarmult_base(base64.b64decode(private)))


def text_of(key: bytes) -> str:
    return base64.b64encode(key).decode("ascii")

# SPDX-License-Identifier: Apache-2.0
"""Codes of an authenticator app: TOTP (RFC 6238) over HOTP (RFC 4226), as all apps speak it.

Six digits, SHA-1, 30 s: other values are in the standard, and apps ignore them without a word
(https://github.com/google/google-authenticator/wiki/Key-Uri-Format).
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from urllib.parse import quote, urlencode

SECRET_BYTES = 20
"""160 bits, what RFC 4226 (section 4) recommends."""
SECRET_CHARS = 32
STEP_S = 30
DIGITS = 6
DRIFT_STEPS = 1
"""How many steps a code may be early or late (RFC 6238, section 5.2, recommends one for the way)."""


def make_secret() -> str:
    """A new secret in base32, as apps take it."""
    return base64.b32encode(secrets.token_bytes(SECRET_BYTES)).decode("ascii")


def is_secret(text: str) -> bool:
    """Whether a text is a secret as `make_secret` makes them."""
    try:
        return len(text) == SECRET_CHARS and len(base64.b32decode(text)) == SECRET_BYTES
    except (binascii.Error, ValueError):
        return False


def uri(secret: str, username: str, issuer: str) -> str:
    """What the QR code says (the key URI format of Google Authenticator)."""
    label = quote(f"{issuer}:{username}")
    return f"otpauth://totp/{label}?{urlencode({'secret': secret, 'issuer': issuer}, quote_via=quote)}"


def code_at(secret: str, step: int) -> str:
    """The code of one step of 30 s since 1970."""
    digest = hmac.digest(base64.b32decode(secret), step.to_bytes(8, "big"), "sha1")
    at = digest[-1] & 15
    number = int.from_bytes(digest[at : at + 4], "big") & 0x7FFF_FFFF
    return f"{number % 10**DIGITS:0{DIGITS}}"


def step_of(secret: str, code: str, now_ms: int, after: int = -1) -> int | None:
    """The step whose code this is, near now and later than `after`; None: the code is wrong, or was used."""
    now = now_ms // (STEP_S * 1000)
    found = None
    for step in range(max(now - DRIFT_STEPS, 0), now + DRIFT_STEPS + 1):
        if hmac.compare_digest(code_at(secret, step).encode(), code.encode("utf-8", "replace")):
            found = step
    return found if found is not None and found > after else None

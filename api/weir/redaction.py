# SPDX-License-Identifier: Apache-2.0
"""Takes a secret out of what a stranger said, who may repeat what it was sent."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import suppress
from html import escape
from urllib.parse import quote

HIDDEN = "***"
_SCHEMES = frozenset(("basic", "bearer", "token"))
"""Of a header's value, the word before the secret (RFC 9110, 11.4)."""
_LEAST_CODED = 4
"""What base64 makes of fewer characters is found by chance."""


def redacted(text: str, secret: str, username: str = "", *, is_cut: bool = False) -> str:
    """`text` without the secret in each form in which it was sent, or may be repeated. Where more was said
    than `text` has (`is_cut`), as much of its end is dropped as a part of the secret may take."""
    forms = sorted(filter(None, _forms(secret, username)), key=len, reverse=True)
    if not forms:
        return text
    found = re.sub("|".join(map(re.escape, forms)), HIDDEN, text)
    return found[: max(len(found) - len(forms[0]), 0)] if is_cut else found


def _forms(secret: str, username: str) -> Iterator[str]:
    """Whole, word by word, as JSON, HTML and a URL write it, and in base64, alone and with the user."""
    for word in {secret, *_words(secret)}:
        yield from (word, json.dumps(word)[1:-1], escape(word), quote(word, safe=""), _base64(word))
        yield from (coded for offset in range(3) if len(coded := _coded(word, offset)) >= _LEAST_CODED)
    if secret:
        yield _base64(f"\0{username}\0{secret}")  # RFC 4616
        yield _base64(f"{username}:{secret}")  # RFC 7617


def _words(secret: str) -> list[str]:
    words = secret.split()
    if len(words) > 1 and words[0].lower() in _SCHEMES:
        is_basic = words[0].lower() == "basic"
        words = words[1:]
        if is_basic:
            with suppress(ValueError):
                both = b64decode(words[0], validate=True).decode()
                words += [both, both.partition(":")[2]]
    return words


def _coded(word: str, offset: int) -> str:
    """What base64 makes of it, whatever stands before and after it: `offset` is how many bytes stand before
    it modulo 3."""
    text = "\0" * offset + word
    return _base64(text)[-(-offset * 8 // 6) : len(text.encode()) * 8 // 6]


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()

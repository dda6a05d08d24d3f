# SPDX-License-Identifier: Apache-2.0
"""Takes a secret out of what a stranger said, who may repeat what it was sent."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import unescape
from urllib.parse import unquote

HIDDEN = "***"
_SCHEMES = frozenset(("basic", "bearer", "token"))
"""Of a header's value, the word before the secret (RFC 9110, 11.4)."""
LEAST_SECRET_CHARS = 4
_LEAST_CODED = 4
"""What base64 makes of fewer characters is found by chance."""
_LEAST_KEY_CHARS = 24
"""Of 16 bytes in base64."""
_IN_URLS = str.maketrans("+/", "-_")
"""RFC 4648, 5."""
_WRITINGS: tuple[tuple[re.Pattern[str], Callable[[str], str]], ...] = (
    (
        re.compile(
            r"""\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\["\\/bfnrt]"""
        ),
        lambda said: str(json.loads(f'"{said}"')),  # RFC 8259, 7
    ),
    (re.compile(r"&(?:#\d{1,8}|#[xX][0-9a-fA-F]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});"), unescape),
    (
        re.compile(
            r"(?i:%[0-7][0-9a-f]|%[cd][0-9a-f](?:%[89ab][0-9a-f])|"
            r"%e[0-9a-f](?:%[89ab][0-9a-f]){2}|%f[0-7](?:%[89ab][0-9a-f]){3})"
        ),
        unquote,  # RFC 3986, 2.1, of UTF-8
    ),
)
"""How one character is written in JSON, HTML and URLs, and how that is read."""
_LAYERS = 2
"""As HTML in JSON."""
_LONGEST_WRITING = 12
"""Characters, of which a cut may leave all but one."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a text says; `at` is where in the text each character of it begins, and where the last ends."""

    said: str
    at: Sequence[int]


def redacted(text: str, secret: str, username: str = "", *, is_cut: bool = False) -> str:
    """`text` without the secret in each form in which it was sent, or may be repeated. Where more was said
    than `text` has (`is_cut`), as much of its end is dropped as a part of the secret may take."""
    forms = sorted(filter(None, _forms(secret, username)), key=len, reverse=True)
    if not forms:
        return text
    form = re.compile("|".join(map(re.escape, forms)))
    spans, end = [], len(text)
    for reading in _readings(text):
        spans += [
            (reading.at[found.start()], reading.at[found.end()]) for found in form.finditer(reading.said)
        ]
        if is_cut:
            end = min(end, reading.at[max(len(reading.said) - len(forms[0]) - _LONGEST_WRITING, 0)])
    return "".join(_without(text, sorted(spans), end))


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """`text` without each of the secrets that is in it, in any form; but for those of fewer than
    `LEAST_SECRET_CHARS` characters, which every text has."""
    said = [reading.said for reading in _readings(text)]
    for secret in secrets:
        if len(secret) >= LEAST_SECRET_CHARS and any(
            form in reading for form in set(_forms(secret, "")) for reading in said
        ):
            text = redacted(text, secret)
    return text


def _without(text: str, spans: Sequence[tuple[int, int]], end: int) -> Iterator[str]:
    """What stands before `end`, each span of it hidden. Spans may overlap."""
    done = 0
    for start, stop in spans:
        if done <= start < end:
            yield text[done:start]
            yield HIDDEN
        done = max(done, stop)
    yield text[done:end]


def _readings(text: str) -> Iterator[_Reading]:
    """The text as it is, and as each of the writings, and one in another, means it."""
    readings = [_Reading(text, range(len(text) + 1))]
    yield from readings
    for _ in range(_LAYERS):
        readings = [
            meant
            for reading in readings
            for writing, read in _WRITINGS
            if (meant := _meant(reading, writing, read)) is not None
        ]
        yield from readings


def _meant(reading: _Reading, writing: re.Pattern[str], read: Callable[[str], str]) -> _Reading | None:
    """None where nothing is written so."""
    said, at, done = [], [], 0
    for found in writing.finditer(reading.said):
        if len(character := read(found[0])) == 1:
            said += [reading.said[done : found.start()], character]
            at += [*reading.at[done : found.start()], reading.at[found.start()]]
            done = found.end()
    return _Reading("".join((*said, reading.said[done:])), (*at, *reading.at[done:])) if done else None


def _forms(secret: str, username: str) -> Iterator[str]:
    """Whole and word by word, as it is, in base64 and in hexadecimal, alone and with the user."""
    for word in {secret, *_words(secret)}:
        yield from (word, _base64(word))
        for data in _bytes(word):
            coded = [text for offset in range(3) if len(text := _coded(data, offset)) >= _LEAST_CODED]
            yield from coded
            yield from (text.translate(_IN_URLS) for text in (word, *coded) if "+" in text or "/" in text)
            if len(word) >= LEAST_SECRET_CHARS:
                yield from (data.hex(), data.hex().upper())
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


def _bytes(word: str) -> Iterator[bytes]:
    """Of a key in base64 those of the key as well."""
    yield word.encode()
    if len(word) >= _LEAST_KEY_CHARS:
        with suppress(ValueError):
            yield b64decode(word, validate=True)


def _coded(data: bytes, offset: int) -> str:
    """What base64 makes of it, whatever stands before and after it: `offset` is how many bytes stand before
    it modulo 3."""
    coded = b64encode(b"\0" * offset + data).decode()
    return coded[-(-offset * 8 // 6) : (offset + len(data)) * 8 // 6]


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()

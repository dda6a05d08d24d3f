# SPDX-License-Identifier: Apache-2.0
"""Commands of RouterOS as text. What is outside ASCII becomes `\\HH` bytes of UTF-8, as RouterOS writes
it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from weir.model.limits import DAYS, MINUTES_PER_DAY
from weir.model.schedule import TimeWindow

Property = tuple[str, str]
_PLAIN = re.compile(r"!?[A-Za-z0-9_.:,/-]+")
_SPECIAL = {'"': '\\"', "\\": "\\\\", "$": "\\$", "?": "\\?", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_WEEK = ("sun", *(day for day in DAYS if day != "sun"))


class UnsaidError(ValueError):
    """What RouterOS has no words for, as the end of a sentence."""


def section(path: str, lines: Iterable[str]) -> Iterator[str]:
    """The lines under their menu; nothing where there is none."""
    is_first = True
    for line in lines:
        if is_first:
            yield f"{path}\n"
            is_first = False
        yield f"{line}\n"


def command(properties: Iterable[Property], verb: str = "add") -> str:
    return f"{verb} " + " ".join(f"{key}={quoted(value)}" for key, value in sorted(properties))


def common(*, disabled: bool, comment: str = "") -> list[Property]:
    """What every command may say."""
    return [*([("disabled", "yes")] if disabled else []), *([("comment", comment)] if comment else [])]


def remark(text: str) -> str:
    """A line for people, which RouterOS and the import pass over."""
    return f"# {''.join(_character(character) for character in text)}"


def not_written(what: str, why: str) -> str:
    return remark(f"Not written: {what}: {why}.")


def quoted(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    return '"' + "".join(_character(character) for character in value) + '"'


def _character(character: str) -> str:
    special = _SPECIAL.get(character)
    if special is not None:
        return special
    if " " <= character <= "~":
        return character
    return "".join(f"\\{byte:02X}" for byte in character.encode("utf-8", "replace"))


def time_text(time_ms: int) -> str:
    """`10s`, `1m30s`, `1s500ms`."""
    seconds, rest_ms = divmod(time_ms, 1000)
    text = "".join(
        f"{count}{unit}"
        for count, unit in (
            (seconds // 86400, "d"),
            (seconds // 3600 % 24, "h"),
            (seconds // 60 % 60, "m"),
            (seconds % 60, "s"),
            (rest_ms, "ms"),
        )
        if count
    )
    return text or "0s"


def window_text(window: TimeWindow) -> str:
    end = "1d" if window.end_min == MINUTES_PER_DAY else time_text(window.end_min * 60_000)
    days = ",".join(day for day in _WEEK if day in window.days)
    return f"{time_text(window.start_min * 60_000)}-{end},{days}"

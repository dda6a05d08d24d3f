# SPDX-License-Identifier: Apache-2.0
"""What the JSON forms of several kinds have in common."""

from __future__ import annotations

from collections.abc import Callable

from weir.model import limits
from weir.model.problem import Invalid
from weir.model.reader import Reader

Json = dict[str, object]

ID_WANTED = "1 to 63 characters of a-z, 0-9, '_', '.' or '-', the first a letter or digit"
INTERFACE_WANTED = "an interface name: up to 15 letters, digits, '_', '.' or '-'"
TYPE_WANTED = "a queue type's name: up to 63 letters, digits, blanks, '_', '.' or '-'"


def read_note(reader: Reader, field: str) -> str:
    return reader.text(field, "", limits.MAX_COMMENT_CHARS, limits.CONTROL_BUT_NEWLINE_OR_TAB)


def read_one(reader: Reader, field: str, read: Callable[[object], str]) -> str | None:
    value = reader.data.get(field)
    if value is None:
        return None
    try:
        return read(value)
    except Invalid as problem:
        reader.error(field, problem.code, problem.message)
        return None

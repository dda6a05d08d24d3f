# SPDX-License-Identifier: Apache-2.0
"""From bytes of unknown origin to text: byte-order marks, UTF-16, Windows code pages of old exports."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping

from weir.model.problem import Invalid

MAX_IMPORT_BYTES = 96 * 1024 * 1024
MAX_FILES = 64

_HIGH_RUN = re.compile(rb"[\xc0-\xff]{3,}")
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def check_size(files: Mapping[str, bytes]) -> None:
    """Raises `Invalid` when the import is larger than the router is willing to read at once."""
    if not files:
        raise Invalid("There is no file to import.", code="import-empty")
    if len(files) > MAX_FILES:
        raise Invalid(f"{len(files)} files; at most {MAX_FILES} at once.", code="import-too-large")
    total = sum(len(data) for data in files.values())
    if total > MAX_IMPORT_BYTES:
        limit = f"{MAX_IMPORT_BYTES // 2**20} MiB"
        raise Invalid(
            f"The import has {total} bytes; at most {limit} can be read at once.", code="import-too-large"
        )


def to_utf8(data: bytes) -> bytes:
    """Remove a byte-order mark; UTF-16 (a shell's redirected output) becomes UTF-8."""
    if data.startswith(codecs.BOM_UTF8):
        return data[len(codecs.BOM_UTF8) :]
    encoding = _UTF16.get(data[:2])
    if encoding is None:
        return data
    return data[2:].decode(encoding, "replace").encode("utf-8")


def decode(raw: bytes) -> tuple[str, str]:
    """Text and the encoding it was read as: UTF-8, or the code page that fits better.

    Cyrillic words are runs of high letters; in western text a high letter stands alone.
    """
    try:
        return raw.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        encoding = "cp1251" if _HIGH_RUN.search(raw) else "cp1252"
        return raw.decode(encoding, "replace"), encoding


def read_text(data: bytes) -> tuple[str, str]:
    """A whole file, for formats without escapes."""
    return decode(to_utf8(data))

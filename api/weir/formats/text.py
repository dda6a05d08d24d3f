# SPDX-License-Identifier: Apache-2.0
"""From bytes of unknown origin to text: byte-order marks, UTF-16, Windows code pages of old exports."""

from __future__ import annotations

import codecs
import re
from array import array
from collections.abc import Mapping

from weir.model.packed import LazyList
from weir.model.problem import Invalid

MAX_IMPORT_BYTES = 96 * 1024 * 1024
MAX_FILES = 64
MAX_LINES = 2_000_000
"""Physical lines of one import: each costs some bytes of memory, however short it is."""
MAX_LINE_BYTES = 1024 * 1024
"""A logical line: a command with its continuations, a row with its cells."""

_CHUNK_BYTES = 65536
_HIGH_RUN = re.compile(rb"[\xc0-\xff]{3,}")
_LINE_END = re.compile(rb"\r\n?|\n")
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_HTML = re.compile(rb"\s*<(?:!doctype html|html|head|body|\?xml)\b", re.IGNORECASE)
_UNPACK = "unpack it and import the text in it"
_BACKUP = ("a binary backup, which only RouterOS can read", "import the text of /export")
_OTHER_KINDS: tuple[tuple[bytes, tuple[str, str]], ...] = (
    (b"\x88\xac\xa1\xb1", _BACKUP),
    (b"\xef\xa8\x91\x72", _BACKUP),
    (b"PK\x03\x04", ("a zip archive or a spreadsheet", "unpack it, or save the sheet as CSV")),
    (b"\xd0\xcf\x11\xe0", ("a spreadsheet or document of an office program", "save it as CSV")),
    (b"\x1f\x8b", ("compressed by gzip", _UNPACK)),
    (b"BZh", ("compressed by bzip2", _UNPACK)),
    (b"\xfd7zXZ\x00", ("compressed by xz", _UNPACK)),
    (b"\x28\xb5\x2f\xfd", ("compressed by zstd", _UNPACK)),
    (b"7z\xbc\xaf\x27\x1c", ("a 7z archive", _UNPACK)),
    (b"Rar!\x1a\x07", ("a rar archive", _UNPACK)),
    (b"\x89PNG\r\n", ("a PNG picture", "import the text itself")),
    (b"\xff\xd8\xff", ("a JPEG picture", "import the text itself")),
    (b"GIF8", ("a GIF picture", "import the text itself")),
    (b"%PDF-", ("a PDF document", "import the text itself")),
    (b"\x7fELF", ("a program", "import a text file")),
    (b"SQLite format 3\x00", ("an SQLite database", "import a text file")),
)
"""How files that are not text begin, what they are and what to do (the formats' own signatures)."""


def check_files(files: Mapping[str, bytes]) -> None:
    """Raises `Invalid` for what is too large to read at once, and for files that cannot be text."""
    if not files:
        raise Invalid("There is no file to import.", code="import-empty")
    if len(files) > MAX_FILES:
        raise Invalid(f"{len(files)} files; at most {MAX_FILES} at once.", code="import-too-large")
    size, lines = sum(map(len, files.values())), sum(map(_count_lines, files.values()))
    if size > MAX_IMPORT_BYTES or lines > MAX_LINES:
        raise Invalid(
            f"The import has {size} bytes in {lines} lines; at most {MAX_IMPORT_BYTES // 2**20} MiB in "
            f"{MAX_LINES} lines can be read at once.",
            code="import-too-large",
        )
    for name, data in files.items():
        _check_kind(name, data)


def _count_lines(data: bytes) -> int:
    return data.count(b"\n") + (data.count(b"\r") - data.count(b"\r\n"))


def _check_kind(name: str, data: bytes) -> None:
    if not data.strip(b"\x00\t\r\n \xef\xbb\xbf"):
        raise Invalid(f"{name} is empty.", code="import-empty")
    if _HTML.match(to_utf8(data[:1024])):
        raise Invalid(
            f"{name} is a web page, not an export: was it saved from a sign-in page?", code="not-text"
        )
    for start, (what, remedy) in _OTHER_KINDS:
        if data.startswith(start):
            code = "binary-backup" if (what, remedy) == _BACKUP else "not-text"
            raise Invalid(f"{name} is {what}: {remedy}.", code=code)


def to_utf8(data: bytes) -> bytes:
    """Remove a byte-order mark; UTF-16 (a shell's redirected output) becomes UTF-8."""
    if data.startswith(codecs.BOM_UTF8):
        return data[len(codecs.BOM_UTF8) :]
    encoding = _UTF16.get(data[:2])
    if encoding is None:
        return data
    return data[2:].decode(encoding, "replace").encode("utf-8")


def decode(raw: bytes) -> tuple[str, str]:
    """Text and the encoding it was read as: UTF-8, or the code page that fits better."""
    encoding = _encoding(raw)
    return raw.decode(encoding, "replace"), encoding


def _encoding(raw: bytes) -> str:
    """Cyrillic words are runs of high letters; in western text a high letter stands alone."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(raw), _CHUNK_BYTES):
            decoder.decode(raw[start : start + _CHUNK_BYTES])
        decoder.decode(b"", True)
    except UnicodeDecodeError:
        return "cp1251" if _HIGH_RUN.search(raw) else "cp1252"
    return "utf-8"


def with_line_feeds(data: bytes) -> bytes:
    """Lines that end with CR LF or CR end with LF."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


class Lines(LazyList[bytes]):
    """The physical lines of a file for formats without escapes; only where each begins is kept.

    They are decoded one by one when they are used: one emoji makes each character of a text four bytes.
    """

    __slots__ = ("_data", "_starts", "encoding")

    def __init__(self, data: bytes) -> None:
        self._data = to_utf8(data)
        self._starts = array("L", (0,))
        self._starts.extend(match.end() for match in _LINE_END.finditer(self._data))
        if self._starts[-1] < len(self._data):
            self._starts.append(len(self._data))
        self.encoding = _encoding(self._data)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def at(self, index: int) -> bytes:
        return self._data[self._starts[index] : self._starts[index + 1]].rstrip(b"\r\n")


def has_last_line_end(data: bytes) -> bool:
    """False when the last line has no end: programs write one, a transfer that was cut off does not."""
    return data[-2:].rstrip(b"\x00")[-1:] in (b"\n", b"\r")

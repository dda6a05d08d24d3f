# SPDX-License-Identifier: Apache-2.0
"""The surface of a RouterOS script: physical lines, continuations, escapes and strings.

Grammar: RouterOS v7 manual, scripting, "Line joining" and "Constant escape sequences"; the shapes of
exports from v3 to v7. The text is kept as latin-1, one character per byte, until a value is decoded:
an export may hold UTF-8, a Windows code page, or both as `\\HH` bytes.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from dataclasses import dataclass, field

from weir.formats.text import MAX_LINE_BYTES, decode, with_line_feeds

_ESCAPE = re.compile(r"\\([0-9A-F]{2}|[\s\S])")
_ESCAPED = {
    '"': '"',
    "\\": "\\",
    "$": "$",
    "?": "?",
    "_": " ",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
}
_VARIABLE = re.compile(r"\$[A-Za-z(\[{\"]")

# A statement goes on over line ends only inside a string or a block; a brace opens a block where a
# word may begin.
_SKIP = re.compile(
    r'"[^"\\]*(?:\\[\s\S][^"\\]*)*"|"|(?:(?<=[\s={;])|^)\{|\}|\n[ \t]*#[^\n]*|\n|;', re.MULTILINE | re.ASCII
)
_SKIP_ONE_LINE = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|\n|;')


# What is kept of a line that is too long: no quote, brace or escape, so that nothing else is read otherwise.
_HARMLESS_START = re.compile(rb"[^\"\\{}\[\]()$;]{0,120}")


@dataclass(slots=True)
class Script:
    """The joined text of one file, and where each joined line began in it.

    `too_long` are the offsets of lines above `MAX_LINE_BYTES`, of which the text has the beginning only.
    `continues` is true when the last line ends with a continuation that nothing follows.
    """

    text: str
    offsets: array[int] = field(default_factory=lambda: array("L"))
    numbers: array[int] = field(default_factory=lambda: array("L"))
    physical_lines: int = 0
    blocks_close: bool = True
    too_long: set[int] = field(default_factory=set)
    continues: bool = False

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Physical line numbers (first, last) of the text from `start` up to, not including, `end`."""
        first = bisect_right(self.offsets, start) - 1
        last = bisect_right(self.offsets, max(start, end - 1)) - 1
        after = self.numbers[last + 1] if last + 1 < len(self.numbers) else self.physical_lines + 1
        return self.numbers[first], after - 1

    def is_too_long(self, at: int) -> bool:
        """Whether the line that `at` is on was cut to its beginning."""
        return bool(self.too_long) and self.offsets[bisect_right(self.offsets, at) - 1] in self.too_long


def join_lines(data: bytes) -> Script:
    """Undo CRLF and continuations. Blanks that begin a continued line are layout, not text.

    Works on bytes with one buffer, as the file may be as large as an import can be.
    """
    data = with_line_feeds(data)
    script = Script("")
    joined = bytearray()
    at, number, size = 0, 1, len(data)
    while at < size:
        begin = len(joined)
        script.offsets.append(begin)
        script.numbers.append(number)
        at, lines = _join_one(data, at, joined, script)
        number += lines
        if len(joined) - begin > MAX_LINE_BYTES:
            script.too_long.add(begin)
            del joined[begin + _harmless_length(joined, begin) :]
        joined += b"\n"
    script.physical_lines = number - 1
    del joined[-1:], data
    script.text = joined.decode("latin-1")
    return script


def _join_one(data: bytes, at: int, joined: bytearray, script: Script) -> tuple[int, int]:
    """Append one logical line; returns where the next one begins and the number of physical lines taken."""
    end = _line_end(data, at)
    lines = 1
    if _continues(data, at, end) and not data[at:end].lstrip(b" \t").startswith(b"#"):
        while _continues(data, at, end):
            if end + 1 >= len(data):
                script.continues = True
                break
            joined += data[at : end - 1]
            at = end + 1
            end = _line_end(data, at)
            at += len(data[at:end]) - len(data[at:end].lstrip(b" \t"))
            lines += 1
    joined += data[at:end]
    return end + 1, lines


def _line_end(data: bytes, at: int) -> int:
    end = data.find(b"\n", at)
    return end if end >= 0 else len(data)


def _continues(data: bytes, at: int, end: int) -> bool:
    """An odd number of backslashes at the end; two are one escaped backslash."""
    if end == at or data[end - 1] != 0x5C:
        return False
    line = data[at:end]
    return (len(line) - len(line.rstrip(b"\\"))) % 2 == 1


def _harmless_length(joined: bytearray, begin: int) -> int:
    match = _HARMLESS_START.match(joined, begin)
    return match.end() - begin if match is not None else 0


def end_of_line(script: Script, start: int) -> int:
    at = script.text.find("\n", start)
    return at if at >= 0 else len(script.text)


def end_of_statement(script: Script, start: int) -> int:
    """Where the statement that begins at `start` ends: at a line end or `;` outside of strings and blocks.

    A string or block that never closes would take in the rest of the file: then, and from then on,
    statements end with their line.
    """
    if script.blocks_close:
        depth = 0
        for match in _SKIP.finditer(script.text, start):
            token = match.group()
            if token == '"':
                break
            if token == "{":
                depth += 1
            elif token == "}":
                depth = max(0, depth - 1)
            elif depth == 0 and token[0] in "\n;":
                return match.start()
        else:
            if depth == 0:
                return len(script.text)
        script.blocks_close = False
    for match in _SKIP_ONE_LINE.finditer(script.text, start):
        if match.group() in ("\n", ";"):
            return match.start()
    return len(script.text)


def is_plain(raw: str) -> bool:
    """Whether a value stands for itself: nothing in it is escaped, encoded or a variable."""
    return raw.isascii() and "\\" not in raw and "$" not in raw


def unescape(raw: str) -> tuple[str, str]:
    """A value's text, and the encoding its bytes were in."""
    if "\\" in raw:
        raw = _ESCAPE.sub(_unescape_one, raw)
    elif raw.isascii():
        return raw, "utf-8"
    return decode(raw.encode("latin-1"))


def _unescape_one(match: re.Match[str]) -> str:
    code = match.group(1)
    if len(code) == 2:
        return chr(int(code, 16))
    return _ESCAPED.get(code, match.group())


def names_a_variable(raw: str) -> bool:
    """Only a running script knows the value: there is a `$` that is not escaped and begins a name."""
    return "$" in raw and _VARIABLE.search(_ESCAPE.sub("", raw)) is not None

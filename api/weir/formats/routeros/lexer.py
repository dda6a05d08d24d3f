# SPDX-License-Identifier: Apache-2.0
"""The surface of a RouterOS script: physical lines, continuations, escapes and strings.

Grammar: RouterOS v7 manual, scripting, "Line joining" and "Constant escape sequences"; the shapes of
exports from v3 to v7. The text is kept as latin-1, one character per byte, until a value is decoded:
an export may hold UTF-8, a Windows code page, or both as `\\HH` bytes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from weir.formats.text import decode

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


@dataclass(slots=True)
class Script:
    """The joined text of one file, and where each joined line began in it."""

    text: str
    offsets: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    physical_lines: int = 0
    blocks_close: bool = True

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Physical line numbers (first, last) of the text from `start` up to, not including, `end`."""
        first = bisect_right(self.offsets, start) - 1
        last = bisect_right(self.offsets, max(start, end - 1)) - 1
        after = self.numbers[last + 1] if last + 1 < len(self.numbers) else self.physical_lines + 1
        return self.numbers[first], after - 1


def join_lines(data: bytes) -> Script:
    """Undo CRLF and continuations. Blanks that begin a continued line are layout, not text."""
    lines = data.decode("latin-1").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    script = Script("", physical_lines=len(lines))
    joined: list[str] = []
    offset = index = 0
    while index < len(lines):
        script.offsets.append(offset)
        script.numbers.append(index + 1)
        line = lines[index]
        index += 1
        if line[-1:] == "\\" and _continues(line) and not line.lstrip(" \t").startswith("#"):
            parts = [line]
            while index < len(lines) and _continues(parts[-1]):
                parts[-1] = parts[-1][:-1]
                parts.append(lines[index].lstrip(" \t"))
                index += 1
            line = "".join(parts)
        joined.append(line)
        offset += len(line) + 1
    script.text = "\n".join(joined)
    return script


def _continues(line: str) -> bool:
    """An odd number of backslashes at the end; two are one escaped backslash."""
    if not line.endswith("\\"):
        return False
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


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

# SPDX-License-Identifier: Apache-2.0
"""Every line of `weir` in the README and below docs/ is one that the CLI understands."""

from __future__ import annotations

import io
import re
import shlex
import sys
from pathlib import Path

import click
import pytest

from weir.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md")))
LINE = re.compile(r"^ {4,}(weir (?:[^\n\\]|\\\n)+)$", re.MULTILINE)
LINES = [
    pytest.param(found[1], id=f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, found.start()) + 1}")
    for page in PAGES
    if "adr" not in page.parts
    for text in (page.read_text(),)
    for found in LINE.finditer(text)
]
ENDS = ("|", ">", "<", "&&", ";")
FILE = re.compile(r"FILE|[\w.-]+\.(rsc|csv|conf|backup|raucb|json|txt|pem)")


def test_the_guides_have_lines() -> None:
    assert len(LINES) > 100


@pytest.mark.parametrize("line", LINES)
def test_a_line_of_the_guides_is_understood(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = shlex.split(line.replace("\\\n", " "), comments=True)
    for end in ENDS:
        words = words[: words.index(end)] if end in words else words
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO("asked for\n"))
    for word in words:
        if FILE.fullmatch(word):
            (tmp_path / word).touch()
    understand(main, words)


def understand(command: click.Command, words: list[str], above: click.Context | None = None) -> None:
    """Raises what click says of words that it does not understand; nothing is run."""
    name, *rest = words
    context = command.make_context(name, rest, parent=above)
    if isinstance(command, click.Group):
        left = [*context._protected_args, *context.args]
        if left:
            _, found, left = command.resolve_command(context, left)
            assert found is not None
            understand(found, [found.name or "", *left], context)

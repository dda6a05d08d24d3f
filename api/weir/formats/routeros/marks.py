# SPDX-License-Identifier: Apache-2.0
"""Comments that tell an import which commands Weir wrote for its zones and policy: they are no rules here.

A mark holds a digest of its command: who changes that in RouterOS has a rule of their own, and it is imported
as one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_MARK = re.compile(r"Weir ([^#:]+) #([0-9a-f]{8})(?:: (.*))?", re.DOTALL)
_COMMENT = "comment"


class Mark(NamedTuple):
    """`head` are words for the import, `words` are for people."""

    head: tuple[str, ...]
    words: str


def marked(head: str, said: Iterable[tuple[str, str]], words: str = "") -> tuple[str, str]:
    """The comment of a command with these properties."""
    return _COMMENT, f"Weir {head} #{_digest(head, said)}" + (f": {words}" if words else "")


def mark_of(given: Mapping[str, str]) -> Mark | None:
    """What Weir wrote a command for; None for one that it did not write, or not like that."""
    found = _MARK.fullmatch(given.get(_COMMENT, ""))
    if found is None or found[2] != _digest(found[1], given.items()):
        return None
    return Mark(tuple(found[1].split()), found[3] or "")


def _digest(head: str, said: Iterable[tuple[str, str]]) -> str:
    text = repr((head, sorted(pair for pair in said if pair[0] != _COMMENT)))
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()

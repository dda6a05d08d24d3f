# SPDX-License-Identifier: Apache-2.0
"""The last good content of fetched sets, one file each, which outlives a restart of agent and machine.

A line of JSON, then the prefixes (`weir.model.prefix_groups`). A file is replaced as a whole, and what is
read is checked as if a stranger had sent it: a damaged one is as none.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from weir.adapters import files
from weir.model.limits import MAX_SET_ENTRIES
from weir.model.prefix_groups import MOST_BYTES_EACH, Groups, packed, unpacked
from weir.model.problem import Invalid

log = logging.getLogger(__name__)

_MOST_BYTES = 8192 + MAX_SET_ENTRIES * MOST_BYTES_EACH
"""Of names there are fewer: a set has 256, and of each 512 addresses at most."""
_ENDING = ".list"


@dataclass(frozen=True, slots=True)
class Kept:
    """`etag` and `modified` are the server's words; 0 ms = not known. `names` are those of the DNS that a set
    has, each with its addresses: of such a set these are all that `groups` has."""

    origin: str
    groups: Groups
    etag: str = ""
    modified: str = ""
    skipped: int = 0
    fetched_ms: int = 0
    changed_ms: int = 0
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class KeptLists:
    """`folder` is root's own and lasts; it is made when there is something to keep."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def every(self) -> Iterator[tuple[str, Kept]]:
        """By the sets' ids, those that are whole."""
        for name in self.names():
            try:
                yield name, _read(self._place(name))
            except (OSError, ValueError, KeyError, TypeError, Invalid) as error:
                log.warning("what was kept of the set %s cannot be used: %s", name, error)

    def names(self) -> list[str]:
        with suppress(OSError):
            return sorted(path.stem for path in self._folder.iterdir() if path.suffix == _ENDING)
        return []

    def keep(self, name: str, kept: Kept) -> None:
        """Raises `OSError`; what was kept before stays then."""
        body = packed(kept.groups)
        head = {
            "origin": kept.origin,
            "etag": kept.etag,
            "modified": kept.modified,
            "skipped": kept.skipped,
            "fetched_ms": kept.fetched_ms,
            "changed_ms": kept.changed_ms,
            "names": kept.names,
            "sha256": hashlib.sha256(body).hexdigest(),
        }
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            files.replace(self._place(name), json.dumps(head).encode() + b"\n" + body, durable=True)
        except OSError:
            with suppress(OSError):  # on a full disk the half of it takes room
                files.draft_of(self._place(name)).unlink()
            raise

    def forget(self, name: str) -> None:
        with suppress(OSError):
            self._place(name).unlink()

    def _place(self, name: str) -> Path:
        return self._folder / f"{name}{_ENDING}"


def _read(path: Path) -> Kept:
    with path.open("rb") as file:
        head, _, body = file.read(_MOST_BYTES + 1).partition(b"\n")
    found = json.loads(head)
    if hashlib.sha256(body).hexdigest() != found["sha256"]:
        raise ValueError("it is damaged")
    numbers = [found[name] for name in ("skipped", "fetched_ms", "changed_ms")]
    words = [found[name] for name in ("origin", "etag", "modified")]
    if any(type(item) is not int or item < 0 for item in numbers):
        raise ValueError("its times are no numbers")
    if any(type(item) is not str for item in words):
        raise ValueError("its head is no text")
    groups = unpacked(body, MAX_SET_ENTRIES)
    names = _names(found.get("names", {}), groups)
    skipped, fetched_ms, changed_ms = numbers
    return Kept(words[0], groups, words[1], words[2], skipped, fetched_ms, changed_ms, names)


def _names(found: Mapping[str, list[str]], groups: Groups) -> dict[str, tuple[str, ...]]:
    """Raises `ValueError` where they are not those that the addresses are of."""
    names = {str(name): tuple(map(str, addresses)) for name, addresses in found.items()}
    said = {ip_address(address).packed for addresses in names.values() for address in addresses}
    if names and said != {address for addresses in groups.values() for address in addresses}:
        raise ValueError("its names have other addresses")
    return names

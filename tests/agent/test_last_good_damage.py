# SPDX-License-Identifier: Apache-2.0
"""The agent's copy of what runs: of a changed byte nothing else is ever made."""

from __future__ import annotations

import random
from pathlib import Path

from tests.agent.rig import lan, queue, wan
from weir.agent.last_good import LastGood, Mark
from weir.model.document import Document
from weir.model.objects import ConfigObject

CHANGES = 1000
MARK = Mark(7, bytes(range(16)))


def outcomes(folder: Path) -> dict[str, int]:
    """Of `CHANGES` changes of one bit, how many files were refused, loaded as they were, and as another."""
    folder.mkdir(exist_ok=True)
    good = Document([lan(), wan(), *(queue(number) for number in range(1, 200))])
    first = LastGood(folder / "good.db")
    first.replace(MARK, good)
    first.close()
    data = (folder / "good.db").read_bytes()
    path = folder / "last-good.db"
    chance, found = random.Random(14), {"refused": 0, "same": 0, "another": 0}
    for _ in range(CHANGES):
        changed = bytearray(data)
        changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        for file in folder.glob("last-good.db*"):
            file.unlink()
        path.write_bytes(changed)
        copy = LastGood(path)
        loaded, mark = copy.load(), copy.mark
        copy.close()
        if loaded is None:
            found["refused"] += 1
        elif mark == MARK and objects_of(loaded) == objects_of(good):
            found["same"] += 1
        else:
            found["another"] += 1
    return found


def objects_of(document: Document) -> dict[tuple[str, str], ConfigObject]:
    return {(item.kind, item.id): item for item in document}


def test_of_a_thousand_single_byte_changes_none_is_loaded_as_another_configuration(tmp_path: Path) -> None:
    found = outcomes(tmp_path)
    assert found["another"] == 0, found
    assert min(found["refused"], found["same"]) > 10, found

# SPDX-License-Identifier: Apache-2.0
"""Our datapath with the kernel's LPM trie for its own IPv4 table (bench/rig/trie.h), as a yardstick."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench.rows import OUT
from bench.trees import Trees
from lab import netns, plan
from weir.adapters.datapath_records import PrefixEntry

FOLDER = OUT / "trie"
HEADER = Path(__file__).parent / "rig" / "trie.h"
MAP = "weir_trie"


def build() -> Path:
    """The library with the other programs; raises LabError with the compiler's last line."""
    environment = {**os.environ, "BPF_CFLAGS": f"-O2 -g -include {HEADER}"}
    command = ["make", "-s", "-C", str(plan.ROOT / "datapath"), f"BUILD={FOLDER}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise netns.LabError(f"the datapath with a trie: {done.stderr.strip().splitlines()[-1]}")
    return FOLDER / "libweir.so"


class TrieTrees(Trees):
    """Trees whose addresses are looked up in the trie of each program."""

    def classify(self, prefixes: Sequence[PrefixEntry]) -> None:
        lines = []
        for number in maps():
            for prefix in prefixes:
                key = words(32 + prefix.length, "little") + words(prefix.domain) + words(prefix.value)
                value = words(prefix.slot, "little")
                lines.append(f"map update id {number} key {' '.join(key)} value {' '.join(value)}")
        netns.run(["bpftool", "batch", "file", "-"], stdin="\n".join(lines) + "\n")


def maps() -> list[int]:
    """The ids of all loaded tries: the program of each hook has its own."""
    shown = json.loads(netns.run(["bpftool", "-j", "map", "show"]))
    return [found["id"] for found in shown if found.get("name") == MAP]


def words(value: int, order: str = "big") -> list[str]:
    return [str(byte) for byte in value.to_bytes(4, "big" if order == "big" else "little")]

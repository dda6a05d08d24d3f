# SPDX-License-Identifier: Apache-2.0
"""What an agent has attached to the kernel's tracepoints at this moment."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from tests.agent.rig import Rig
from tests.datapath import bpf_run


def programs(rig: Rig, names: Collection[str]) -> set[int]:
    """Programs of these names whose links the agent holds now."""
    found = set()
    for path in Path(f"/proc/{rig.agent_process.pid}/fdinfo").iterdir():
        with suppress(FileNotFoundError):  # it has ended meanwhile
            text = path.read_text()
            if re.search(r"^link_type:\s+(tracing|raw_tracepoint)", text, re.MULTILINE):
                number = int(re.search(r"^prog_id:\s+(\d+)", text, re.MULTILINE)[1])
                if bpf_run.program_name(number) in names:
                    found.add(number)
    return found

# SPDX-License-Identifier: Apache-2.0
"""`weir-agent`: the one privileged process. Brings the kernel to the store's head and keeps it there.

Stopping it changes nothing in the kernel: programs, maps, addresses, routes and rules stay and work.
Little is imported here: what does not need most of the agent's modules goes on while they are loaded.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing

from weir import memory
from weir.adapters.machine_name import MachineName
from weir.agent import ground, logs
from weir.agent.options import parser, state_folder
from weir.agent.store_process import StoreProcesses
from weir.model.problem import Problem, Unavailable

PRIVATE = 0o077
"""umask(2), as the unit has it, wherever the agent runs; what others may read or enter gets its own mode."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point. 0 after SIGTERM, 1 with one sentence on standard error when it cannot start."""
    os.umask(PRIVATE)
    options = parser().parse_args(argv)
    logs.configure(options.log_level)
    memory.prepare()
    memory.keep_trimmed()
    try:
        with ExitStack() as stack:
            _run(options, stack)
    except Problem as problem:
        print(f"weir-agent: {problem.message}", file=sys.stderr)
        return 1
    return 0


def _run(options: argparse.Namespace, stack: ExitStack) -> None:
    if os.geteuid() != 0:
        raise Unavailable("it configures the kernel and must be started as root")
    called = MachineName(is_ours=options.sets_name)  # before any thread starts
    stack.enter_context(ground.only_one(state_folder(options)))
    processes = stack.enter_context(closing(StoreProcesses(options.database, options.api_uid or 0)))
    processes.begin()
    # Loading it takes as long as that process needs until it answers.
    from weir.agent import assembly

    assembly.run(options, called, processes, stack)


if __name__ == "__main__":
    sys.exit(main())

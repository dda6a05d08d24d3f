# SPDX-License-Identifier: Apache-2.0
"""One line per event on standard error: `time level logger: message`, as journald likes it."""

from __future__ import annotations

import logging
import os
import sys

_PRIORITIES = {logging.CRITICAL: 2, logging.ERROR: 3, logging.WARNING: 4, logging.INFO: 6, logging.DEBUG: 7}


class _JournalFormatter(logging.Formatter):
    """journald keeps the time itself and reads the priority from `<n>` (sd-daemon(3))."""

    def format(self, record: logging.LogRecord) -> str:
        priority = _PRIORITIES.get(record.levelno, 6)
        return "\n".join(f"<{priority}>{line}" for line in super().format(record).splitlines())


def configure(level: str) -> None:
    """`level` is a name of `logging`: debug, info, warning, error."""
    handler = logging.StreamHandler(sys.stderr)
    if "JOURNAL_STREAM" in os.environ:
        handler.setFormatter(_JournalFormatter("%(name)s: %(message)s"))
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for noisy in ("asyncio", "pyroute2"):
        logging.getLogger(noisy).setLevel(logging.WARNING)

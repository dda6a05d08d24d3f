# SPDX-License-Identifier: Apache-2.0
"""gunicorn's thread worker with a time limit on the network.

gthread waits for a request's bytes, and for a browser to take an answer's, without end: 64 silent
connections would occupy every thread.
"""

from __future__ import annotations

import logging
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

SILENCE_S = 20.0


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """Ends a connection that neither sends nor takes anything for `SILENCE_S`."""

    def init_process(self) -> None:
        logging.getLogger("gunicorn.error").addFilter(_is_no_timeout)
        super().init_process()

    def handle(self, conn: Any) -> Any:
        conn.sock.settimeout(SILENCE_S)
        return super().handle(conn)


def _is_no_timeout(record: logging.LogRecord) -> bool:
    """gthread logs a trace for every connection that timed out; that is no defect."""
    return record.exc_info is None or not isinstance(record.exc_info[1], TimeoutError)

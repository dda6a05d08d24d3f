# SPDX-License-Identifier: Apache-2.0
"""What the server itself answers to a request that never reaches the application.

Little is imported here: gunicorn's parent reads the worker's modules, and stays in memory as long as the
worker does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine, UnsupportedTransferCoding

MEDIA_TYPE = "application/problem+json"
DEFECT = "Weir failed to handle this request; the log has the details."


def document(
    status: int, code: str, detail: str, path: str | None = None, findings: Sequence[dict[str, Any]] = ()
) -> str:
    """The text of an RFC 9457 problem document."""
    body = {
        "type": f"urn:weir:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "path": path,
        "findings": findings,
    }
    return json.dumps(body)


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    code: str
    detail: str

    def answer(self) -> bytes:
        """The whole answer as it goes over the wire; the connection ends after it."""
        body = document(self.status, self.code, self.detail).encode()
        retry = "Retry-After: 2\r\n" if self.status == 503 else ""
        head = (
            f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}\r\nContent-Type: {MEDIA_TYPE}\r\n"
            f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\n{retry}Connection: close\r\n\r\n"
        )
        return head.encode() + body


BUSY = Refusal(503, "too-busy", "Too many requests wait already; try again.")
BODY_TOO_LATE = Refusal(408, "request-timeout", "The request did not come in full in time.")
HEAD_TOO_LARGE = Refusal(431, "head-too-large", "The request's line and headers are too long.")
FAILED = Refusal(500, "internal-error", DEFECT)


def refusal_of(error: Exception) -> Refusal:
    """For what gunicorn's parser says of a request's head."""
    if isinstance(error, LimitRequestLine | LimitRequestHeaders):
        return HEAD_TOO_LARGE
    if isinstance(error, UnsupportedTransferCoding):
        return Refusal(501, "not-implemented", "This Transfer-Encoding is not supported.")
    return Refusal(400, "bad-request", "The request is not HTTP, or a header is not acceptable.")

# SPDX-License-Identifier: Apache-2.0
"""The speed test between a client and the router: a run, and the requests that are timed in it."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from weir.http.context import me, service
from weir.http.endpoint import SUPPORT, Resource, answer
from weir.http.resources.tools import BODY_BYTES, BYTES, TEXT
from weir.http.schemas.kinds import group_input
from weir.http.schemas.tools import SpeedReceived
from weir.http.serving import STREAM
from weir.http.speed import Download, Told
from weir.tools import SPEED
from weir.tools.tool import LINES

UPLOAD_BYTES = 16 << 20
"""A client that is faster sends several."""
READ_BYTES = 65_536
RUN = "/tools/speed/<string(maxlength=32):run_id>"
BINARY = "application/octet-stream"
resource = Resource("speed-test", "How fast the way between a client and this router is.")


@resource.operation(
    "POST",
    "/tools/speed",
    scope=SPEED.scope,
    shape=group_input(SPEED.group),
    media={LINES: TEXT},
    max_body_bytes=BODY_BYTES,
    streams=True,
)
def run_speed(body: dict[str, Any]) -> Response:
    """Speed test

    How fast is the way between this client and the router, and how long do answers take while it is full? The
    answer is the run, as server-sent events. `run`: id, lasts_s and path: address and interface say what is
    measured, queue is the one with the lowest limit that a download has there, and unknown says what is not
    known. `counted`: ms since the start, sent_bytes (given to the system, not what has arrived),
    received_bytes. The last one is `end`: reason (done, stopped), message. Meanwhile the client downloads,
    uploads and asks for echoes, with four requests at once in each direction at most. It ends with the
    connection, and alone after `lasts_s`. While another one runs it is refused (409 `tool-busy`).
    """
    tests = service().speed
    return _streamed(Told(tests, tests.start(me(), body)), LINES)


@resource.operation("GET", f"{RUN}/download", scope=SUPPORT, media={BINARY: BYTES}, streams=True)
def download_speed(run_id: str) -> Response:
    """Bytes, until the run or the connection ends

    They cannot be compressed. A fifth at once is refused (409 `tool-busy`).
    """
    tests = service().speed
    run = tests.of(me(), run_id)
    tests.enter("download")
    return _streamed(Download(tests, run), BINARY)


@resource.operation(
    "POST",
    f"{RUN}/upload",
    scope=SUPPORT,
    upload={BINARY: BYTES},
    answers=SpeedReceived,
    max_body_bytes=UPLOAD_BYTES + 1,  # one that ends at its bound is refused by werkzeug
)
def upload_speed(run_id: str) -> Response:
    """Bytes that are counted and discarded

    What has come is in the events of the run while it comes. It is read no further when the run has ended.
    """
    tests = service().speed
    run, received = tests.of(me(), run_id), 0
    with tests.transferring("upload"):
        while not run.is_over and (data := request.stream.read(READ_BYTES)):
            run.count(received=len(data))
            received += len(data)
    return answer({"received_bytes": received})


@resource.operation("GET", f"{RUN}/echo", scope=SUPPORT, status=204)
def echo_speed(run_id: str) -> Response:
    """Nothing, at once: for timing a round trip"""
    service().speed.of(me(), run_id)
    return answer(None, 204)


def _streamed(stream: Told | Download, media: str) -> Response:
    request.environ[STREAM] = stream
    response = Response(stream, mimetype=media)
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    return response

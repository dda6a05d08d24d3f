# SPDX-License-Identifier: Apache-2.0
"""`python -m weir.courier.fetch PARENT SECONDS`: fetches one list of addresses, without rights.

An order as JSON at standard input; at standard output a line of JSON that says what became of it, and behind
it the prefixes (`weir.model.prefix_groups`). What a stranger sent is read here and nowhere else: who started
this process gets prefixes and bounded words (docs/adr/0254).
"""

from __future__ import annotations

import json
import socket
import ssl
import sys
import time
import zlib
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urljoin, urlsplit

from weir.courier.dial import STEP_S, Failed, dial, trusting, words_of
from weir.courier.listed import Listed
from weir.model.prefix_groups import Groups, packed
from weir.model.problem import Invalid
from weir.model.reach import parse_url
from weir.probes.confine import confine

MOST_BYTES = 16 << 20
"""Of a list, as it comes and unpacked."""
MOST_MOVES = 5
MOST_CHARS = 400
MOST_TAG_CHARS = 200
_CHUNK = 1 << 16
_PORTS = {"http": 80, "https": 443}
_MOVED = (301, 302, 303, 307, 308)
_NOT_MODIFIED = 304
_PAGES = ("text/html", "application/xhtml+xml", "application/json")


class Had(NamedTuple):
    """`groups` None: it is as it was."""

    groups: Groups | None
    skipped: int = 0
    etag: str = ""
    modified: str = ""


class _Connection(HTTPConnection):
    def __init__(self, handle: socket.socket, host: str, port: int) -> None:
        super().__init__(host, port, timeout=STEP_S)
        self.sock = handle


def fetched(order: dict[str, Any]) -> Had:
    """The list of an URL. Raises `Failed`, `OSError` or `HTTPException`."""
    until_s = time.monotonic() + order["seconds"]
    url = order["url"]
    for _ in range(MOST_MOVES + 1):
        connection = _opened(urlsplit(url), order["ca_bundle"])
        try:
            answer = _asked(connection, urlsplit(url), order)
            if answer.status not in _MOVED:
                return _had(answer, order, until_s)
            url = _next(url, answer.getheader("Location") or "")
        finally:
            connection.close()
        if time.monotonic() > until_s:
            raise _late(order)
    raise Failed(f"it moved more than {MOST_MOVES} times")


def _opened(parts: SplitResult, ca_bundle: str) -> HTTPConnection:
    host, port = str(parts.hostname), parts.port or _PORTS[parts.scheme]
    handle = dial(host, port)
    if parts.scheme == "https":
        # An end that nobody signed is no end: somebody on the way may have cut the list short.
        handle = trusting(ca_bundle).wrap_socket(handle, server_hostname=host, suppress_ragged_eofs=False)
    return _Connection(handle, host, port)


def _asked(connection: HTTPConnection, parts: SplitResult, order: dict[str, Any]) -> HTTPResponse:
    headers = {"Host": parts.netloc, "User-Agent": "weir", "Accept": "text/plain, */*;q=0.5"}
    headers["Accept-Encoding"] = "gzip"
    if order["etag"]:
        headers["If-None-Match"] = order["etag"]
    if order["modified"]:
        headers["If-Modified-Since"] = order["modified"]
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection.request("GET", target, headers=headers)
    return connection.getresponse()


def _next(url: str, location: str) -> str:
    """Where it moved to. An answer that was checked does not lead to one that is not."""
    try:
        new = parse_url(urljoin(url, location).partition("#")[0])
    except (Invalid, ValueError) as error:
        raise Failed(f"it moved to {location!r}, which is no address of HTTP or HTTPS") from error
    if url.startswith("https:") and not new.startswith("https:"):
        raise Failed(f"it moved to {new}, which is not encrypted and not followed")
    return new


def _had(answer: HTTPResponse, order: dict[str, Any], until_s: float) -> Had:
    if answer.status == _NOT_MODIFIED and (order["etag"] or order["modified"]):
        return Had(None)
    if answer.status != 200:
        raise Failed(f"it answered {answer.status} {answer.reason}".strip())
    kind = (answer.getheader("Content-Type") or "").partition(";")[0].strip().lower()
    if kind in _PAGES:
        raise Failed(f"it is no list of addresses but {kind}")
    listed = Listed(order["most_entries"])
    for part in _unpacked(answer, _body(answer, order, until_s)):
        listed.take(part)
    groups, skipped = listed.end()
    return Had(groups, skipped, _tag(answer.getheader("ETag")), _tag(answer.getheader("Last-Modified")))


def _body(answer: HTTPResponse, order: dict[str, Any], until_s: float) -> Iterator[bytes]:
    """In pieces, as long as it is not too much and not too late. `http.client` does not say when a body that
    is read in pieces ends too early."""
    promised = answer.length
    if promised is not None and promised > MOST_BYTES:
        raise Failed(f"it has {promised} bytes, and {MOST_BYTES} are the most that are taken")
    came = 0
    while part := _part(answer, came):
        came += len(part)
        if came > MOST_BYTES:
            raise Failed(f"it has more than {MOST_BYTES} bytes, which are the most that are taken")
        if time.monotonic() > until_s:
            raise _late(order)
        yield part
    if promised is not None and came != promised:
        raise Failed(f"it was cut off behind {came} of {promised} bytes")


def _part(answer: HTTPResponse, came: int) -> bytes:
    try:
        return answer.read1(_CHUNK)
    except (ssl.SSLEOFError, IncompleteRead) as error:
        raise Failed(f"it was cut off behind {came} bytes") from error


def _unpacked(answer: HTTPResponse, body: Iterator[bytes]) -> Iterator[bytes]:
    coding = (answer.getheader("Content-Encoding") or "identity").strip().lower()
    if coding == "identity":
        yield from body
        return
    if coding not in ("gzip", "x-gzip"):
        raise Failed(f"it is packed as {coding}, which was not asked for")
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 16)
    total = 0
    for part in body:
        rest, plain = part, b""
        while rest or len(plain) == _CHUNK:
            try:
                plain = unpacking.decompress(rest, _CHUNK)
            except zlib.error as error:
                raise Failed("what it packed as gzip cannot be unpacked") from error
            total += len(plain)
            if total > MOST_BYTES:
                raise Failed(f"unpacked it has more than {MOST_BYTES} bytes, the most that are taken")
            yield plain
            rest = unpacking.unconsumed_tail
    if not unpacking.eof:
        raise Failed("what it packed as gzip was cut off")


def _tag(text: str | None) -> str:
    """What is said again to the same server; nothing of what no header can say."""
    is_plain = text is not None and text.isascii() and text.isprintable() and len(text) <= MOST_TAG_CHARS
    return str(text) if is_plain else ""


def _late(order: dict[str, Any]) -> Failed:
    return Failed(f"it was not done within {order['seconds']:.0f} s: the server is too slow")


def one_line(text: str) -> str:
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printable.split())[:MOST_CHARS]


def main(argv: list[str]) -> int:
    """0 whatever became of it, once that is said."""
    parent, seconds = argv
    confine(int(parent), float(seconds))
    order = json.load(sys.stdin)
    body = b""
    try:
        had = fetched(order)
        said: dict[str, Any] = {"what": "unchanged" if had.groups is None else "content", "answer": ""}
        said |= {"skipped": had.skipped, "etag": had.etag, "modified": had.modified}
        body = packed(had.groups or {})
    except (Failed, OSError, HTTPException) as error:
        said = {"what": "failed", "answer": one_line(words_of(error))}
    sys.stdout.buffer.write(json.dumps(said).encode() + b"\n" + body)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

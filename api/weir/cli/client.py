# SPDX-License-Identifier: Apache-2.0
"""A thin client of the REST API: one place for errors, paging and preconditions."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import httpx

Json = dict[str, Any]
TIMEOUT = httpx.Timeout(60.0, connect=5.0)
LONG_TIMEOUT = httpx.Timeout(300.0, connect=5.0)
PAGE = 1000


class ApiError(Exception):
    """The API refused; `problem` is its problem document."""

    def __init__(self, status: int, problem: Json) -> None:
        super().__init__(problem.get("detail") or f"HTTP {status}")
        self.status = status
        self.problem = problem

    @property
    def code(self) -> str:
        return str(self.problem.get("code", ""))


class Unreachable(Exception):
    """No answer from the router."""


class Client:
    def __init__(self, url: str, token: str | None) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.url = url.rstrip("/")
        headers |= _came_by(self.url)
        try:
            self._http = httpx.Client(
                base_url=f"{self.url}/api/v1", headers=headers, timeout=TIMEOUT, verify=_trusted(self.url)
            )
        except (httpx.InvalidURL, ValueError) as error:
            raise Unreachable(f"{url!r} is not a URL: {error}") from error

    def close(self) -> None:
        self._http.close()

    def send(self, method: str, path: str, *, etag: str | None = None, **options: Any) -> httpx.Response:
        """Raises ApiError for a refusal, Unreachable when there is no usable answer."""
        headers = {**options.pop("headers", {})}
        if etag is not None:
            headers["If-Match"] = f'"{etag}"'
        try:
            response = self._http.request(method, path, headers=headers, **options)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise Unreachable(f"{self.url} does not answer: {error}") from error
        if response.is_success:
            return response
        raise ApiError(response.status_code, _problem(response))

    def get(self, path: str, *, timeout: httpx.Timeout | None = None, **query: Any) -> Json:
        """A JSON object; query parameters that are None are left out."""
        given = {name: value for name, value in query.items() if value is not None}
        options: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
        return _object(self.send("GET", path, params=given, **options))

    def write(self, method: str, path: str, body: Json | None = None, **options: Any) -> Json:
        """Send JSON; an empty answer is {}."""
        if body is not None:
            options["json"] = body
        response = self.send(method, path, timeout=LONG_TIMEOUT, **options)
        return _object(response) if response.content else {}

    @contextmanager
    def stream(self, method: str, path: str, body: Json | None = None) -> Iterator[httpx.Response]:
        """An answer that is read while it comes; leaving the block ends it. Raises as `send`."""
        try:
            with self._http.stream(method, path, json=body) as response:
                if not response.is_success:
                    response.read()
                    raise ApiError(response.status_code, _problem(response))
                yield response
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise Unreachable(f"{self.url} does not answer: {error}") from error

    def pages(self, path: str, most: int | None = None, **query: Any) -> Iterator[Json]:
        """All items of a list, page by page, at most `most`; those asked for `with` their state have it."""
        cursor, given = None, 0
        while True:
            limit = PAGE if most is None else min(PAGE, most - given)
            page = self.get(path, limit=limit, cursor=cursor, **query)
            states = page.get("states") or ()
            for at, item in enumerate(page["items"]):
                yield {**item, "state": states[at]["fields"]} if states else item
                given += 1
            cursor = page.get("next_cursor")
            if cursor is None or (most is not None and given >= most):
                return

    def find_queue(self, name: str) -> Json:
        """The queue with this id, else the one with this name. Raises ApiError (404, or 409 for several)."""
        try:
            return self.get(f"/queues/{segment(name)}")
        except ApiError as error:
            if error.status != 404:
                raise
        found = [item for item in self.pages("/queues", q=name[:200]) if item["name"] == name]
        if len(found) == 1:
            return found[0]
        if not found:
            raise ApiError(404, {"code": "not-found", "detail": f"There is no queue {name!r}."})
        ids = ", ".join(item["id"] for item in found)
        raise ApiError(409, {"code": "ambiguous", "detail": f"{name!r} is the name of {ids}; give the id."})


def _came_by(url: str) -> dict[str, str]:
    """On the router itself: how the person came to it by SSH, so that the router can tell when a change would
    cut that off."""
    host = url.partition("://")[2].partition("/")[0].rpartition(":")[0]
    came = os.environ.get("SSH_CONNECTION", "")
    is_plain = came.isascii() and came.isprintable() and len(came) < 128
    return {"X-Weir-SSH": came} if came and is_plain and host in ("127.0.0.1", "localhost", "[::1]") else {}


def segment(text: str) -> str:
    """A value as one segment of a path; a lone dot would be taken for a folder."""
    quoted = quote(text, safe="")
    return {".": "%2E", "..": "%2E%2E", "": "%00"}.get(quoted, quoted)


def _trusted(url: str) -> ssl.SSLContext | bool:
    """Whose certificates: those that the system trusts; nobody's where there are none, as to read the
    system's takes 50 ms of a processor."""
    is_plain = url.lower().startswith("http://")
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else True


def _object(response: httpx.Response) -> Json:
    try:
        found = response.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Unreachable(f"{response.url} does not answer as Weir's API does; is the URL right?")
    return found


def _problem(response: httpx.Response) -> Json:
    try:
        found: Mapping[str, Any] = response.json()
        return dict(found) if isinstance(found, dict) else {}
    except ValueError:
        return {"detail": f"{response.url} answers {response.status_code} {response.reason_phrase}"}

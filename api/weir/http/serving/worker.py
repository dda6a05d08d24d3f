# SPDX-License-Identifier: Apache-2.0
"""gunicorn's worker, which is the whole process: the front in the main thread, the application in two pools.

A quarter of the threads is for anybody, the rest for requests whose credential was good lately: strangers
wait for strangers only.
"""

from __future__ import annotations

import logging
import resource
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from gunicorn.http import wsgi
from gunicorn.workers import base

from weir.http.refusals import FAILED
from weir.http.serving import REACHED, RECOGNISED, STREAM
from weir.http.serving.connection import Connection
from weir.http.serving.front import Front
from weir.http.serving.recognised import Recognised, credential_of
from weir.notify import notify

log = logging.getLogger("weir.http")

MOST_CONNECTIONS = 8192
SPARE_FILES = 256
"""File descriptors for databases, the agent's socket and maps."""
MOST_WAITING = 256
"""Requests that wait for a thread of a pool; beyond it they are refused with 503."""
TURN_S = 0.25
WATCHDOG_S = 5.0


class Worker(base.Worker):  # type: ignore[misc]  # gunicorn has no types
    """One process; `cfg.threads` call the application."""

    def init_process(self) -> None:
        self._recognised = Recognised()
        self._told_s = 0.0
        strangers = max(self.cfg.threads // 4, 1)
        self._pools = {False: Pool(strangers, "stranger"), True: Pool(self.cfg.threads - strangers, "known")}
        super().init_process()

    def run(self) -> None:
        for listener in self.sockets:
            listener.setblocking(False)
        self._server = self.sockets[0].getsockname()
        self._front = Front([listener.sock for listener in self.sockets], self.cfg, most(), self._begin)
        while self.alive:
            self.notify()
            self._front.turn(TURN_S)
        self._end()

    def notify(self) -> None:
        """systemd starts us again when this has not been called for long (`WatchdogSec`)."""
        now_s = time.monotonic()
        if now_s >= self._told_s + WATCHDOG_S:
            self._told_s = now_s
            notify("WATCHDOG=1")

    def _end(self) -> None:
        """Let answers that are under way be sent, for as long as gunicorn allows."""
        self._front.stop_accepting()
        deadline = time.monotonic() + self.cfg.graceful_timeout
        while self._front.busy() and time.monotonic() < deadline:
            self.notify()
            self._front.turn(TURN_S)
        for pool in self._pools.values():
            pool.stop()
        self._front.close()

    def _begin(self, conn: Connection) -> bool:
        request: Any = conn.request
        credential = credential_of(request.headers)
        conn.known = credential is not None and credential in self._recognised
        return self._pools[conn.known].submit(partial(self._answer, conn, request, credential))

    def _answer(self, conn: Connection, request: Any, credential: bytes | None) -> None:
        answer = Answer(request, conn.output, self.cfg)
        keep = streaming = False
        try:
            _, environ = wsgi.create(request, conn.output, conn.peer, self._server, self.cfg)
            environ["wsgi.multithread"] = True
            del environ["wsgi.file_wrapper"]  # gunicorn's sends without looking how much was taken
            environ[REACHED] = conn.sock.getsockname()
            environ[RECOGNISED] = partial(self._recognised.tell, credential)
            body = self.wsgi(environ, answer.start_response)
            after = getattr(body, "close", _nothing)
            try:
                frames = environ.get(STREAM)
                streaming = frames is not None and answer.status_code == 200
                if streaming:
                    answer.force_close()
                    answer.send_headers()
                    self._front.stream(conn, frames, answer.chunked, after)
                    return
                for part in body:
                    answer.write(part)
                answer.close()
                keep = self.alive and not answer.should_close()
            finally:
                if not streaming:
                    after()
        except OSError:
            streaming = False  # the client is gone
        except Exception:
            streaming = False
            log.exception("an answer failed")
            if not answer.headers_sent:
                with suppress(OSError):
                    conn.output.sendall(FAILED.answer())
        finally:
            if not streaming:
                self._front.finished(conn, keep)


class Answer(wsgi.Response):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's response without its name: it tells an attacker what to try and nobody else anything."""

    def default_headers(self) -> list[str]:
        return [line for line in super().default_headers() if not line.startswith("Server:")]


class Pool:
    """Threads, and a bounded number of requests that wait for one."""

    def __init__(self, threads: int, name: str) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._room = threading.BoundedSemaphore(threads + MOST_WAITING)

    def submit(self, work: Callable[[], None]) -> bool:
        """False when too many wait already."""
        if not self._room.acquire(blocking=False):
            return False
        self._executor.submit(work).add_done_callback(lambda _: self._room.release())
        return True

    def stop(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)


def most() -> int:
    """How many connections there may be; the soft limit of open files is raised for them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + SPARE_FILES
    if soft < wanted:
        soft = min(wanted, hard) if hard != resource.RLIM_INFINITY else wanted
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(min(MOST_CONNECTIONS, soft - SPARE_FILES), 64)


def _nothing() -> None:
    """A body without `close`."""

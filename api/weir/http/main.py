# SPDX-License-Identifier: Apache-2.0
"""`weir-api`: the API process. gunicorn's worker with many threads, and no parent; it holds no privilege.

One process, because the running document and the sampler live in memory (docs/adr/0031); systemd is its
parent (docs/adr/0268). TLS and HTTP/2 are the reverse proxy's business.
"""

from __future__ import annotations

import argparse
import logging
import os
import socket
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gunicorn.app.base import BaseApplication
from gunicorn.sock import create_sockets

from weir import memory
from weir.http.settings import Settings, beside

if TYPE_CHECKING:
    from weir.http.opening import Opening

log = logging.getLogger("weir.http")
MAX_HEADER_BYTES = 16_384
CLOSE_S = 5.0
"""For what has to be closed, when answers have had as long to be sent."""


class Refused(Exception):
    """The process cannot start; the message says why in one sentence."""


class Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn, configured here and nowhere else."""

    def __init__(self, settings: Settings, listener: socket.socket) -> None:
        self._settings = settings
        self._listener = listener
        self._opening: Opening | None = None
        super().__init__()

    def load_config(self) -> None:
        options: dict[str, Any] = {
            "bind": [f"fd://{self._listener.fileno()}"],
            "workers": 1,
            "threads": self._settings.threads,
            "worker_class": "weir.http.serving.worker.Worker",
            "graceful_timeout": 5,
            "limit_request_line": 8190,
            "limit_request_field_size": MAX_HEADER_BYTES,
            "forwarded_allow_ips": "",
            "proc_name": "weir-api",
            "loglevel": "warning",
            "worker_tmp_dir": "/dev/shm" if os.access("/dev/shm", os.W_OK) else None,
        }
        for name, value in options.items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> Opening:
        # Not before its socket listens: this takes a third of a second.
        from weir.http.opening import Opening

        self._opening = Opening(self._settings, partial(self._end, 1))
        self._opening.begin()
        return self._opening

    def run(self) -> None:
        """Serve until a signal ends it; then this process ends, whatever its threads wait for."""
        log_of_gunicorn = self.cfg.logger_class(self.cfg)
        sockets = create_sockets(self.cfg, log_of_gunicorn)
        self._listener.detach()  # gunicorn has its own descriptor, and has closed this one
        worker = self.cfg.worker_class(1, 0, sockets, self, self.cfg.timeout, self.cfg, log_of_gunicorn)
        status = 1
        try:
            worker.init_process()
            status = 0
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 0
        except BaseException:
            log.exception("the API cannot serve")
        finally:
            self._end(status)

    def _end(self, status: int) -> None:
        """Close what is open, and end."""
        late = threading.Timer(CLOSE_S, os._exit, (status,))
        late.daemon = True
        late.start()
        if self._opening is not None:
            self._opening.close()
        logging.shutdown()
        os._exit(status)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until a signal ends it; a reason not to start is one sentence on standard error."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    memory.prepare()
    try:
        settings = read_settings(arguments)
        check(settings)
        listener = listen(settings.listen)
    except Refused as refused:
        sys.exit(f"weir-api: {refused}")
    Server(settings, listener).run()


def read_settings(arguments: Sequence[str] | None) -> Settings:
    """The environment, overridden by options."""
    try:
        settings = Settings.from_environment()
    except ValueError as error:
        raise Refused(f"a WEIR_ variable is not acceptable: {error}") from error
    parser = argparse.ArgumentParser(prog="weir-api", description="Weir's REST API and user interface.")
    parser.add_argument("--listen", default=settings.listen, help="ADDRESS:PORT (default %(default)s)")
    parser.add_argument("--database", type=Path, default=settings.database)
    parser.add_argument("--agent-socket", type=Path, default=settings.agent_socket)
    parser.add_argument("--static-dir", type=Path, default=settings.static_dir, help="the built web UI")
    parser.add_argument("--statistics-database", type=Path, help="default: beside the database")
    parser.add_argument("--allow-root", action="store_true", default=settings.allow_root, help="for tests")
    given = parser.parse_args(arguments)
    if given.statistics_database is None:
        moved = given.database != settings.database
        given.statistics_database = beside(given.database) if moved else settings.statistics_database
    return replace(settings, **vars(given))


def check(settings: Settings) -> None:
    """Look at what would fail later. Raises Refused; not for a database that cannot be used."""
    if os.geteuid() == 0 and not settings.allow_root:
        raise Refused("it runs as root and must not: start it as an unprivileged user (or --allow-root).")
    folder = settings.database.parent
    if not folder.is_dir():
        raise Refused(f"the folder of the database does not exist: {folder}")
    if not settings.agent_socket.exists():
        log.warning(
            "the agent's socket %s does not exist yet: nothing can be changed until the agent runs",
            settings.agent_socket,
        )


def listen(address: str) -> socket.socket:
    """A listening socket for `ADDRESS:PORT` or `[V6]:PORT`. Raises Refused."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if not host or not (port.isascii() and port.isdigit() and int(port) < 65_536):
        raise Refused(f"{address!r} is not ADDRESS:PORT")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, int(port)))
        listener.listen(4096)
    except OSError as error:
        listener.close()
        raise Refused(f"cannot listen on {address}: {error.strerror or error}") from error
    listener.set_inheritable(True)
    return listener


if __name__ == "__main__":
    main()

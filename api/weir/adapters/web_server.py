# SPDX-License-Identifier: Apache-2.0
"""The router's own web server, as far as its certificate goes: the file that it is to show first of all, the
one that it reads, and what it answers a client."""

from __future__ import annotations

import shlex
import socket
import ssl
import time
from pathlib import Path

from weir.adapters import files
from weir.adapters.process import run
from weir.model.problem import ApplyFailed, Unavailable

ANSWER_S = 0.5
READS_S = 5.0
"""So long it may take until it shows what it was given."""
REFRESH_S = 5.0
STEADY_S = 0.3
"""For so long it is to show it: nginx lets workers of both configurations accept for 0.1 s."""
_POLL_S = 0.02


class WebServer:
    """`chosen` is what the agent gives it; `used` is what it reads, which `refresh` makes: of `chosen`, or
    without that of what the router has of its own (board/overlay/usr/libexec/weir/tls)."""

    def __init__(self, chosen: Path, used: Path, refresh: str, port: int) -> None:
        self._chosen = chosen
        self._used = used
        self._refresh = tuple(shlex.split(refresh))
        self._port = port

    def chosen(self) -> str | None:
        """Key and chain in PEM; None: it has the router's own."""
        return _read(self._chosen)

    def used(self) -> str | None:
        return _read(self._used)

    def choose(self, text: str | None) -> None:
        """Give it another one and have it read again, without an interruption. Raises `ApplyFailed`."""
        try:
            if text is None:
                self._chosen.unlink(missing_ok=True)
            else:
                self._chosen.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                files.replace(self._chosen, text.encode("ascii"), durable=True)
        except OSError as error:
            what = f"{self._chosen} cannot be written: {error.strerror}"
            raise ApplyFailed(what, code="certificate-file") from error
        run(self._refresh, timeout_s=REFRESH_S)

    def shown(self) -> bytes | None:
        """The certificate that it answers with (DER). None: nobody answers there. Raises `Unavailable` when
        what answers speaks no TLS, or not in time."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            with (
                socket.create_connection(("127.0.0.1", self._port), ANSWER_S) as plain,
                context.wrap_socket(plain) as secure,
            ):
                return secure.getpeercert(binary_form=True)
        except ConnectionRefusedError:
            return None
        except OSError as error:
            text = f"the web server does not answer by TLS: {error.strerror or error}"
            raise Unavailable(text, code="web-server") from error

    def shows(self, certificate: bytes, within_s: float = READS_S) -> bool:
        """Whether it shows that (DER), and nothing else any more, before so long is over."""
        deadline_s = time.monotonic() + within_s
        since_s: float | None = None
        while True:
            try:
                is_shown = self.shown() == certificate
            except Unavailable:
                is_shown = False
            now_s = time.monotonic()
            since_s = (since_s or now_s) if is_shown else None
            if since_s is not None and now_s - since_s >= STEADY_S:
                return True
            if since_s is None and now_s > deadline_s:
                return False
            time.sleep(_POLL_S)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise Unavailable(f"{path} cannot be read: {error}", code="certificate-file") from error

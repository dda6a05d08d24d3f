# SPDX-License-Identifier: Apache-2.0
"""The real nginx with the configuration of the image."""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import subprocess
import time
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "board/overlay/usr/libexec/weir/tls"
CONFIGURATION = ROOT / "board/overlay/etc/nginx/nginx.conf"


def make_key(folder: Path) -> str:
    """What a start does; the file that nginx reads."""
    given = (folder / "kept", folder / "used", folder / "chosen")
    subprocess.run([SCRIPT, *given], check=True, capture_output=True)
    return (folder / "used/weir.pem").read_text()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Front:
    """nginx with the image's configuration, on ports of this test's own."""

    def __init__(self, folder: Path, api_port: int, *, tls: bool = True) -> None:
        """Without `tls` the page itself is served in clear, for tests of what TLS has no part in."""
        self._folder = folder
        make_key(folder)
        self.plain, self.secure = free_port(), free_port()
        text = CONFIGURATION.read_text(encoding="utf-8")
        text = re.sub(
            r"^\s*(listen \[|http2 on).*\n", "", text, flags=re.MULTILINE
        )  # nginx 1.22 has no http2
        for old, new in (
            ("listen 80", f"listen 127.0.0.1:{self.plain}"),
            ("listen 443 ssl", f"listen 127.0.0.1:{self.secure}{' ssl' if tls else ''}"),
            ("127.0.0.1:8080", f"127.0.0.1:{api_port}"),
            ("/run/weir-tls", str(folder / "used")),
            ("/run/weir/acme-challenge", str(folder / "challenges")),
            ("/run/nginx.pid", str(folder / "pid")),
            ("/usr/share/weir/webui", str(folder / "webui")),
            ("/usr/share/weir;", f"{ROOT}/board/overlay/usr/share/weir;"),
            ("include mime.types", "include /etc/nginx/mime.types"),
        ):
            assert old in text, old
            text = text.replace(old, new)
        self.configuration = folder / "nginx.conf"
        self.configuration.write_text(text)

    def __enter__(self) -> Front:
        self._folder.chmod(0o755)
        command = ["nginx", "-c", str(self.configuration), "-e", str(self._folder / "error.log")]
        self.process = subprocess.Popen([*command, "-g", "daemon off;"])
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and self.process.poll() is None:
            with suppress(OSError):
                self.get("/", secure=False)
                break
            time.sleep(0.05)
        return self

    def __exit__(self, *_exception: object) -> None:
        self.process.terminate()
        self.process.wait(timeout=10)

    def get(self, path: str, *, secure: bool = True, **headers: str) -> tuple[int, dict[str, str], str]:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = (
            http.client.HTTPSConnection("127.0.0.1", self.secure, timeout=10, context=context)
            if secure
            else http.client.HTTPConnection("127.0.0.1", self.plain, timeout=10)
        )
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode()

# SPDX-License-Identifier: Apache-2.0
"""A machine that starts from an image's disk: its power switch, its serial console, its REST API."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from lab import appliance, ports, process
from lab.netns import LabError

Found = TypeVar("Found")
OVMF = Path("/usr/share/OVMF")
PROMPT = "Weir> "
PANIC = re.compile(r"Kernel panic(?! - not syncing: IO-APIC \+ timer)")
"""But for an emulated timer's, which comes late when others have the processors: that kernel starts again."""
BUSES = {
    "virtio": ("virtio-blk-pci,drive=disk{0}",),
    "ahci": ("ich9-ahci,id=ahci{0}", "ide-hd,drive=disk{0},bus=ahci{0}.0"),
    "usb": ("qemu-xhci,id=usb{0}", "usb-storage,drive=disk{0},bus=usb{0}.0"),
}


@dataclass(frozen=True, slots=True)
class Disk:
    path: Path
    bus: str = "virtio"


class Machine:
    """QEMU from `switch_on` to `switch_off`; a restart of the guest is no end of it."""

    def __init__(self, folder: Path, port: int, *, efi: bool) -> None:
        self.log = folder / "console.log"
        self._folder = folder
        self._port = port
        self._efi = efi
        self._qemu: subprocess.Popen[bytes] | None = None
        self._console: socket.socket | None = None
        self._heard = ""
        self._hearing = threading.Lock()

    def switch_on(self, disks: Sequence[Disk], *, hurry: bool = False) -> None:
        """The first disk is the one that it starts from. `hurry`: when it waits, its clock jumps."""
        if not ports.port_is_free("127.0.0.1", self._port):
            raise LabError(f"port {self._port} is taken; choose another one with PORT=")
        path = self._folder / "console.sock"
        path.unlink(missing_ok=True)
        console = f"unix:{path},server=on,wait=on,logfile={self.log},logappend=on"
        command = appliance.machine(self._port, console, hurry=hurry)
        for number, disk in enumerate(disks):
            kind = "qcow2" if disk.path.suffix == ".qcow2" else "raw"
            command += ["-drive", f"file={disk.path},format={kind},if=none,id=disk{number}"]
            *controller, device = (words.format(number) for words in BUSES[disk.bus])
            command += [word for words in controller for word in ("-device", words)]
            command += ["-device", f"{device},bootindex={number}"]
        self._qemu = subprocess.Popen(
            [*command, *self._firmware()], preexec_fn=process.die_with_parent, stdin=subprocess.DEVNULL
        )
        self._console = _connected(path, self._qemu)
        self._heard = ""
        threading.Thread(target=self._listen, args=(self._console,), name="console", daemon=True).start()

    def _firmware(self) -> list[str]:
        if not self._efi:
            return []
        variables = self._folder / "efi-variables"
        shutil.copy(OVMF / "OVMF_VARS_4M.fd", variables)
        code = f"if=pflash,format=raw,unit=0,readonly=on,file={OVMF / 'OVMF_CODE_4M.fd'}"
        return ["-drive", code, "-drive", f"if=pflash,format=raw,unit=1,file={variables}"]

    def switch_off(self) -> None:
        """As a power cut does."""
        if self._console is not None:
            self._console.close()
        if self._qemu is not None:
            self._qemu.kill()
            self._qemu.wait()
        self._qemu = self._console = None

    # -- the serial console ------------------------------------------------------------------------------

    def type(self, words: str) -> None:
        """A line; what was said before is forgotten."""
        assert self._console is not None
        self._heard = ""
        self._console.sendall(f"{words}\r".encode())

    def _listen(self, console: socket.socket) -> None:
        """All the time: a guest that nobody hears stops after 278 characters, and waits."""
        with suppress(OSError):
            while heard := console.recv(65536):
                with self._hearing:
                    self._heard += heard.decode(errors="replace").replace("\r", "")

    def expect(self, pattern: str, within_s: float) -> re.Match[str]:
        """What was said up to the end of the pattern is forgotten then."""
        what = f"the console to say {pattern!r}"
        found = self.wait(lambda: re.search(pattern, self._heard), within_s, what)
        with self._hearing:
            self._heard = self._heard[found.end() :]
        return found

    def wait_for_its_end(self, within_s: float) -> None:
        """The guest switches the machine off. Raises LabError."""
        assert self._qemu is not None
        try:
            self._qemu.wait(within_s)
        except subprocess.TimeoutExpired:
            raise LabError("the machine did not switch itself off") from None
        self.switch_off()

    def wait(self, ask: Callable[[], Found | None], within_s: float, what: str) -> Found:
        """Ask every 2 s until the answer is something. Raises LabError."""
        deadline = time.monotonic() + within_s
        while (found := ask()) is None or found is False:
            if self._qemu is None or self._qemu.poll() is not None:
                raise LabError(f"the machine ended while I waited for {what}")
            panicked = PANIC.search(self._heard) is not None
            if panicked or time.monotonic() > deadline:
                why = "the kernel panicked while I" if panicked else f"for {within_s:.0f} s I"
                raise LabError(f"{why} waited for {what}; the console ends with: {self._heard[-1500:]}")
            time.sleep(2)
        return found


def _connected(path: Path, qemu: subprocess.Popen[bytes]) -> socket.socket:
    """QEMU starts the guest when somebody listens, so not a word is missed."""
    console = socket.socket(socket.AF_UNIX)
    for _ in range(100):
        try:
            console.connect(str(path))
            return console
        except OSError:
            if qemu.poll() is not None:
                break
            time.sleep(0.1)
    raise LabError(f"QEMU did not start (status {qemu.poll()})")


class Rest:
    """An administrator's browser: a session over HTTPS with a certificate nobody knows."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._session: dict[str, str] = {}
        self._context = ssl.create_default_context()
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE

    def ask(self, method: str, path: str, body: Any = None, timeout_s: float = 60.0) -> tuple[int, Any]:
        """Status and answer; `body` is JSON or an open file. Raises OSError or HTTPException."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, timeout=timeout_s, context=self._context
        )
        headers, sent = dict(self._session), _sent(body)
        if body is not None:
            kind = "application/octet-stream" if hasattr(body, "read") else "application/json"
            headers["Content-Type"] = kind
        if hasattr(body, "seek"):
            headers["Content-Length"] = str(body.seek(0, 2))
            body.seek(0)
        try:
            connection.request(method, path, sent, headers)
            answer = connection.getresponse()
            content = answer.read()
            if cookie := answer.getheader("Set-Cookie"):
                self._session["Cookie"] = cookie.partition(";")[0]
        finally:
            connection.close()
        is_json = "json" in (answer.getheader("Content-Type") or "")
        return answer.status, json.loads(content) if is_json and content else content

    def need(self, method: str, path: str, body: Any = None, timeout_s: float = 60.0) -> Any:
        """The answer to what must succeed. Raises LabError."""
        status, answer = self.ask(method, path, body, timeout_s)
        if status >= 400:
            raise LabError(f"{method} {path}: {status} {answer}")
        return answer

    def sign_in(self, password: str) -> int:
        self._session = {}
        status, answer = self.ask("POST", "/api/v1/auth/sign-in", {"username": "admin", "password": password})
        if status == 200:
            self._session["X-CSRF-Token"] = answer["csrf_token"]
        return status

    def answers(self, path: str) -> Any | None:
        """What it answers with 200; None for anything else, or nothing."""
        try:
            status, answer = self.ask("GET", path, timeout_s=20.0)
        except (OSError, http.client.HTTPException):
            return None
        return answer if status == 200 else None


def _sent(body: Any) -> str | IO[bytes] | None:
    return body if body is None or hasattr(body, "read") else json.dumps(body)

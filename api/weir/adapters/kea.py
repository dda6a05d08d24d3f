# SPDX-License-Identifier: Apache-2.0
"""kea-dhcp4: how it is started, and its control socket (Kea's manual, "API Reference").

The package makes the user that it runs as, Debian's and the image's. It needs raw sockets, for clients that
have no address yet, and a port below 1024; nothing else is left to it.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from weir.adapters.local_socket import exchange
from weir.adapters.unprivileged import make_folder, user_id, without_root
from weir.model.problem import ApplyFailed, Unavailable

USER = "_kea"
PRODUCT = "the DHCP server Kea"
CAPABILITIES = ("net_raw", "net_bind_service")
_MAX_ANSWER_BYTES = 64 << 20
_ALL_PROTOCOLS = "0003"
"""ETH_P_ALL, as Kea's raw sockets have it."""


class Kea:
    """One server: its folders, its command, its socket."""

    def __init__(self, folder: Path, data: Path, *, makes_data: bool = True) -> None:
        """`folder` is empty after a start of the machine. Leases are in `data`, which lasts; systemd makes it
        unless the agent `makes_data`."""
        self._makes_data = makes_data
        self.control = folder / "control"
        self.socket = self.control / "kea.sock"
        self.leases = data / "kea-leases4.csv"
        self._program = shutil.which("kea-dhcp4", path="/usr/sbin:/usr/bin") or "/usr/sbin/kea-dhcp4"

    def make_folders(self) -> None:
        """For the user that Kea runs as. Raises `Unavailable` where Kea is not installed, or they cannot be
        made."""
        for path in (self.control, *([self.leases.parent] if self._makes_data else ())):
            make_folder(path, USER, PRODUCT)

    def forget_process(self) -> None:
        """Of one that was killed: Kea would take whatever has its number now for itself."""
        for path in self.control.glob("*.pid"):
            path.unlink(missing_ok=True)

    def command(self, config: Path, *options: str) -> Sequence[str]:
        """Without root's rights."""
        return (
            *without_root(USER, *CAPABILITIES),
            *("env", *(f"{name}={value}" for name, value in self.places().items())),
            *(self._program, *options, str(config)),
        )

    def places(self) -> Mapping[str, str]:
        """Its folders, which are said by the environment: newer versions take no others."""
        return {
            "KEA_PIDFILE_DIR": str(self.control),
            "KEA_CONTROL_SOCKET_DIR": str(self.control),
            "KEA_DHCP_DATA_DIR": str(self.leases.parent),
            "KEA_LOCKFILE_DIR": "none",
        }

    def ask(self, command: str, arguments: Mapping[str, Any] | str | None, timeout_s: float) -> Any:
        """The arguments of its answer. `arguments` may be JSON already.

        Raises `ApplyFailed` (`daemon-refused`) with its words, `Unavailable` (`daemon-hangs`) when there is
        no answer in time.
        """
        said = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        request = f'{{"command": "{command}", "arguments": {said}}}'
        try:
            answer = json.loads(
                exchange(
                    self.socket, request.encode(), time.monotonic() + timeout_s, _MAX_ANSWER_BYTES, shuts=True
                )
            )
        except TimeoutError as error:
            text = f"dhcp did not answer {command} within {timeout_s:.1f} s"
            raise Unavailable(text, code="daemon-hangs") from error
        except OSError as error:
            text = f"dhcp cannot be asked: {error.strerror or error}"
            raise Unavailable(text, code="daemon-died") from error
        except ValueError as error:
            raise Unavailable(f"dhcp answered {command} with no JSON", code="daemon-hangs") from error
        if answer.get("result") != 0:
            words = " ".join(str(answer.get("text", "it said nothing")).split())
            raise ApplyFailed(f"dhcp refuses its files: {words}", code="daemon-refused")
        return answer.get("arguments")

    def listens_on(self) -> frozenset[int]:
        """The indexes of the interfaces on which Kea's user has raw sockets."""
        uid = str(user_id(USER, PRODUCT))
        return frozenset(
            int(row[4]) for row in _packet_sockets() if row[7] == uid and row[3] == _ALL_PROTOCOLS
        )


def _packet_sockets() -> Iterable[list[str]]:
    """The rows of /proc/net/packet (net/packet/af_packet.c). Raises `Unavailable`."""
    try:
        lines = Path("/proc/net/packet").read_text(encoding="ascii").splitlines()[1:]
    except OSError as error:
        raise Unavailable(f"/proc/net/packet cannot be read: {error.strerror}") from error
    return (line.split() for line in lines)

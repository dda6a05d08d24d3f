# SPDX-License-Identifier: Apache-2.0
"""kea-dhcp4 and kea-dhcp6: how they are started, and their control sockets (Kea's manual, "API Reference").

The package makes the user that they run as, Debian's and the image's. They need a port below 1024, and the
one of IPv4 raw sockets for clients that have no address yet; nothing else is left to them.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Literal

from weir.adapters.local_socket import exchange
from weir.adapters.unprivileged import make_folder, user_id, without_root
from weir.model.problem import ApplyFailed, Unavailable

USER = "_kea"
PRODUCT = "the DHCP server Kea"
SERVER_PORT = 67
CAPABILITIES = ("net_raw", "net_bind_service")
UDP_CAPABILITIES = ("net_bind_service",)
"""Of one that has UDP sockets alone: that of IPv6, and the one that relay agents ask."""
SERVERS_6 = "ff020000000000000000000000010002"
"""The group that clients of DHCPv6 ask (RFC 8415, 7.1), as the kernel prints it."""
_MAX_ANSWER_BYTES = 64 << 20
_ALL_PROTOCOLS = "0003"
"""ETH_P_ALL, as Kea's raw sockets have it."""


class Kea:
    """One server: its folders, its command, its socket."""

    def __init__(
        self,
        folder: Path,
        data: Path,
        *,
        family: Literal[4, 6] = 4,
        name: str = "dhcp",
        makes_data: bool = True,
        capabilities: Sequence[str] = CAPABILITIES,
    ) -> None:
        """`folder` is empty after a start of the machine. Leases are in `data`, which lasts; systemd makes it
        unless the agent `makes_data`. Errors call it by its `name`."""
        self._name, self._capabilities = name, capabilities
        self._makes_data = makes_data
        self.control = folder / "control"
        self.socket = self.control / "kea.sock"
        self.leases = data / f"kea-leases{family}.csv"
        program = f"kea-dhcp{family}"
        self._program = shutil.which(program, path="/usr/sbin:/usr/bin") or f"/usr/sbin/{program}"

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
            *without_root(USER, *self._capabilities),
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
            text = f"{self._name} did not answer {command} within {timeout_s:.1f} s"
            raise Unavailable(text, code="daemon-hangs") from error
        except OSError as error:
            text = f"{self._name} cannot be asked: {error.strerror or error}"
            raise Unavailable(text, code="daemon-died") from error
        except ValueError as error:
            raise Unavailable(f"{self._name} answered {command} with no JSON", code="daemon-hangs") from error
        if answer.get("result") != 0:
            words = " ".join(str(answer.get("text", "it said nothing")).split())
            raise ApplyFailed(f"{self._name} refuses its files: {words}", code="daemon-refused")
        return answer.get("arguments")

    def is_asked_at(self, address: str) -> bool:
        """Whether Kea's user has a UDP socket on DHCP's port of this address. Raises `Unavailable`."""
        uid, place = str(user_id(USER, PRODUCT)), f"{_as_in_proc(address)}:{SERVER_PORT:04X}"
        return any(row[1] == place and row[7] == uid for row in _rows("udp"))

    def listens_on(self) -> frozenset[int]:
        """The indexes of the interfaces on which Kea's user has raw sockets."""
        uid = str(user_id(USER, PRODUCT))
        return frozenset(int(row[4]) for row in _rows("packet") if row[7] == uid and row[3] == _ALL_PROTOCOLS)

    def is_asked_by_group(self, index: int) -> bool:
        """Whether the group that clients of DHCPv6 ask is heard on an interface: the kernel does not say by
        whom, and nobody else of the router is in it. Raises `Unavailable`."""
        return any(int(row[0]) == index and row[2] == SERVERS_6 for row in _rows("igmp6", header=0))


def _as_in_proc(address: str) -> str:
    """An IPv4 address as the kernel prints it: a number in the order of this machine's bytes."""
    return f"{int.from_bytes(IPv4Address(address).packed, sys.byteorder):08X}"


def _rows(name: str, *, header: int = 1) -> Iterable[list[str]]:
    """What /proc/net lists behind so many lines: sockets in `packet` and `udp`, groups in `igmp6`
    (net/packet/af_packet.c, net/ipv4/udp.c, net/ipv6/mcast.c). Raises `Unavailable`."""
    try:
        lines = Path("/proc/net", name).read_text(encoding="ascii").splitlines()[header:]
    except OSError as error:
        raise Unavailable(f"/proc/net/{name} cannot be read: {error.strerror}") from error
    return (line.split() for line in lines)

# SPDX-License-Identifier: Apache-2.0
"""What the clients of DHCP and DHCPv6 share: one thread that asks or waits, until it is stopped."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Protocol, TypeVar

log = logging.getLogger(__name__)


def since_boot_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Wire(Protocol):
    """As `weir.adapters.dhcp_wire.Wire`: open for one exchange."""

    def __enter__(self) -> Any: ...
    def __exit__(self, *_: Any) -> None: ...
    def wait(self, timeout_s: float) -> None: ...
    def wake(self) -> None: ...


AnyWire = TypeVar("AnyWire", bound=Wire)


class LeaseClient(ABC, Generic[AnyWire]):
    """`run` belongs to one thread; `stop` and `confirm` may be called by any."""

    protocol: ClassVar[str]

    def __init__(self, mac: str, wire: AnyWire, now: Callable[[], float], *, unsure: bool) -> None:
        """`unsure`: what is held comes from an agent before this one."""
        self._mac = bytes.fromhex(mac.replace(":", ""))
        self._wire = wire
        self._now = now
        self._unsure = unsure
        self._stopping = False

    def stop(self) -> None:
        self._stopping = True
        self._wire.wake()

    def confirm(self) -> None:
        """The network may be another one: ask whether what is held holds, or for something at once."""
        self._unsure = True
        self._wire.wake()

    def run(self) -> None:
        """Until it is stopped. An interface that is down, gone or without an address is tried again."""
        while not self._stopping:
            try:
                self.step()
            except OSError as error:
                log.info("%s: %s", self.protocol, error.strerror or error)
                self._expire()
                if not self._stopping:  # that has woken us already
                    self._wire.wait(self._down_pause_s())

    @abstractmethod
    def step(self) -> None:
        """One exchange with a server, or a wait until there is a reason for one. Raises `OSError`."""

    @abstractmethod
    def release(self) -> None:
        """Tell the server that all is free; its answer changes nothing."""

    @abstractmethod
    def _expire(self) -> None:
        """What is held ends with its time."""

    @abstractmethod
    def _down_pause_s(self) -> float:
        """Between two tries where nothing can be sent."""

# SPDX-License-Identifier: Apache-2.0
"""What reservations of both families have in common: fields, state and rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, TypeVar

from weir.fields import Field, Flag, Moment
from weir.model.address import is_dns_name
from weir.model.objects import ConfigObject
from weir.model.problem import Finding
from weir.model.rule import Rule, error
from weir.model.unique import one_for_each

MAX_ID_BYTES = 128
"""Kea's bound of a client id, of what a relay says of a place, and of a DUID."""
Blocked = Annotated[
    bool,
    Flag(
        label="Blocked",
        help="The host gets no answer of this server, and nobody else gets what is reserved for it. A lease "
        "that it has counts no more; the host itself may go on with its address until that ends.",
    ),
]
Disabled = Annotated[bool, Flag(help="It is kept, and neither reserves nor blocks anything.")]
STATE: dict[str, Field] = {
    "leased_until": Moment(help="Until when the host has its address; nothing while it has none."),
    "keeps_until": Moment(
        help="Of a blocked host: until when it may go on with what it got before; nothing where it has none."
    ),
}


class Reservation(ConfigObject):
    """What a server of either family keeps for one host, or a host that it does not answer."""

    __slots__ = ()
    server: str
    address: str | None
    hostname: str | None
    block: bool
    disabled: bool

    @property
    def identifier(self) -> tuple[str, str] | None:
        """What tells the host, as Kea calls it, and its bytes. None where it is not exactly one."""
        raise NotImplementedError


T = TypeVar("T", bound=Reservation)


def has_a_name(item: Reservation) -> Iterator[Finding]:
    """Its host name, where it has one, is no address."""
    if item.hostname is not None and not is_dns_name(item.hostname):
        yield error("no-name", item, "hostname", f"{item.hostname} is an address, and no name of a host")


def each_once(of: type[T], family: str, host_field: str) -> tuple[Rule, Rule]:
    """A host has one reservation of a server, and so has an address. `family` is said of the address in the
    rules' names."""

    def host(item: T) -> tuple[str, ...] | None:
        found = None if item.disabled else item.identifier
        return None if found is None else (item.server, *found)

    return (
        one_for_each(
            of,
            f"one {family} for each host",
            key=host,
            code="host-twice",
            field=host_field,
            says=lambda item, first: f"reservation {first.id} has {first.name} for this host already",
        ),
        one_for_each(
            of,
            f"one host for each {family}",
            key=lambda item: None if item.disabled or not item.address else (item.server, item.address),
            code="address-twice",
            field="address",
            says=lambda item, first: f"{item.address} is reserved already, by reservation {first.id}",
        ),
    )

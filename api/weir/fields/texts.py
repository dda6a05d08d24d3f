# SPDX-License-Identifier: Apache-2.0
"""Texts: free ones, addresses, and names of other things."""

from __future__ import annotations

import sys
from collections.abc import Callable
from json.encoder import encode_basestring
from typing import Any

from weir.fields.base import Field, Parsed, When
from weir.fields.ids import OBJECT_IDS, IdForm
from weir.model import limits
from weir.model.address import (
    parse_address,
    parse_dns_name,
    parse_end,
    parse_host,
    parse_host_or_name,
    parse_host_part,
    parse_network,
    parse_target,
)
from weir.model.address_range import parse_range
from weir.model.endpoint import parse_endpoint, parse_key
from weir.model.frames import parse_mac, parse_vlans
from weir.model.members import parse_member, parse_ports
from weir.model.problem import Invalid
from weir.model.reach import MAX_MAILBOX_CHARS, MAX_URL_CHARS, parse_mailbox, parse_url
from weir.model.reader import Reader, shown
from weir.model.ssh_keys import MAX_SSH_KEY_CHARS, parse_ssh_key
from weir.model.x509 import MAX_CHAIN_CHARS, parse_chain


class Characters(Field):
    """Any text of `min_chars` to `max_chars` characters, as far as the API's schema can tell."""

    def to_stored_text(self, value: Any) -> str:
        return "null" if value is None else encode_basestring(value)

    def __init__(self, min_chars: int, max_chars: int, **said: Any) -> None:
        super().__init__(**said)
        self.min_chars = min_chars
        self.max_chars = max_chars


class Text(Characters):
    """What people write, without control characters; with `lines`, of several lines. One with `min_chars` is
    not blank either."""

    def __init__(self, max_chars: int, *, min_chars: int = 0, lines: bool = False, **said: Any) -> None:
        super().__init__(min_chars, max_chars, **said)
        self.lines = lines
        self._forbidden = limits.CONTROL_BUT_NEWLINE_OR_TAB if lines else limits.CONTROL_CHARACTER

    def read(self, reader: Reader, name: str, default: Any) -> Any:
        text = reader.text(name, default, self.max_chars, self._forbidden)
        if self.min_chars and text is not None and not text.strip():
            reader.error(name, "bad-text", "must not be blank")
        return text

    def bounds(self) -> str:
        least = f"{self.min_chars} to" if self.min_chars else "up to"
        return f"{least} {self.max_chars:,} characters"


class Quantity(Text):
    """A number as people write it, kept as they wrote it: one that matches `pattern`, or a rate or a time in
    any of the ways that forms take where `unit` is `bps` or `ms`."""

    def __init__(self, max_chars: int, *, pattern: str = "", unit: str = "", **said: Any) -> None:
        super().__init__(max_chars, **said)
        self.pattern = pattern
        self.unit = unit


class Moment(Text):
    """A time, as RFC 3339 text in UTC: what state says of a last handshake or a next try."""

    def __init__(self, **said: Any) -> None:
        super().__init__(40, **said)

    def bounds(self) -> str:
        return "a time"


class ZoneName(Text):
    """A time zone, by its name in the tz database. Whether this system knows it is a matter of a rule."""

    def __init__(self, **said: Any) -> None:
        super().__init__(100, min_chars=1, **said)

    def bounds(self) -> str:
        return "a name of the tz database"


class _Address(Characters, Parsed):
    """A text that a parser brings to its canonical form."""

    def __init__(self, **said: Any) -> None:
        super().__init__(1, 64, **said)


class Host(_Address):
    """One IPv4 or IPv6 address."""

    parse = staticmethod(parse_host)

    def bounds(self) -> str:
        return "an address"


class HostPart(Host):
    """What of an IPv6 address is behind a network that may change."""

    parse = staticmethod(parse_host_part)

    def bounds(self) -> str:
        return "the end of an IPv6 address"


class HostName(Characters, Parsed):
    """An IPv4 or IPv6 address, or a name in the DNS (RFC 1123), in lower case."""

    def __init__(self, **said: Any) -> None:
        super().__init__(1, 253, **said)

    parse = staticmethod(parse_host_or_name)

    def bounds(self) -> str:
        return "an address or a DNS name"


class DnsName(Characters, Parsed):
    """A name in the DNS (RFC 1123), in lower case."""

    def __init__(self, **said: Any) -> None:
        super().__init__(1, 253, **said)

    parse = staticmethod(parse_dns_name)

    def bounds(self) -> str:
        return "DNS names"


class Prefix(_Address):
    """An IPv4 or IPv6 network with its length, such as 192.0.2.0/24."""

    parse = staticmethod(parse_network)

    def bounds(self) -> str:
        return "a prefix"


class Address(_Address):
    """An IPv4 or IPv6 address with the length of its network, such as 192.0.2.1/24."""

    parse = staticmethod(parse_address)

    def bounds(self) -> str:
        return "addresses with a prefix length"


class Target(_Address):
    """A prefix, also one of a domain (10.0.0.0/24@2), or the name of an interface."""

    parse = staticmethod(parse_target)

    def bounds(self) -> str:
        return "prefixes and interfaces"


class End(_Address):
    """A prefix, or the name of an interface."""

    parse = staticmethod(parse_end)

    def bounds(self) -> str:
        return "a prefix or an interface"


class AddressRange(_Address):
    """An IPv4 address, or a range of them such as 192.0.2.10-192.0.2.99, as text."""

    parse = staticmethod(parse_range)

    def bounds(self) -> str:
        return "IPv4 addresses or ranges of them"


class Ports(_Address):
    """A port or a range of ports, such as 5000-5010, as text."""

    parse = staticmethod(parse_ports)

    def bounds(self) -> str:
        return "ports or ranges of ports"


class Mac(_Address):
    """The hardware address of one interface."""

    parse = staticmethod(parse_mac)

    def bounds(self) -> str:
        return "a hardware address"


class Vlans(_Address):
    """A VLAN id or a range of them, such as 20-29, as text."""

    parse = staticmethod(parse_vlans)

    def bounds(self) -> str:
        return "VLAN ids or ranges of them"


class SetMember(_Address):
    """What a set can hold: which form it has must fit the set, which rules look at."""

    parse = staticmethod(parse_member)

    def bounds(self) -> str:
        return "a prefix, a port or range, a hardware address or an interface"


class Word(Characters, Parsed):
    """One of some words, of which a list can have several."""

    def __init__(self, *choices: str, **said: Any) -> None:
        super().__init__(1, max(map(len, choices)), **said)
        self.choices = choices

    def parse(self, value: object) -> str:  # type: ignore[override]  # it knows its words
        if value not in self.choices:
            raise Invalid(f"must be one of {', '.join(self.choices)}, not {shown(value)}", code="bad-choice")
        return str(value)

    def bounds(self) -> str:
        return "of " + ", ".join(f"`{choice}`" for choice in self.choices)


class Label(Characters):
    """A name that people give to what is no object, in the form of an id; what is in `also` is built in, and
    has a form that no name of people's has."""

    def __init__(self, *, also: tuple[str, ...] = (), **said: Any) -> None:
        super().__init__(1, OBJECT_IDS.max_chars, **said)
        self.also = also

    def read(self, reader: Reader, name: str, default: Any) -> Any:
        given = reader.data.get(name, default)
        if given in self.also:
            return given
        return reader.matching(name, default, OBJECT_IDS.pattern, self.bounds())

    def bounds(self) -> str:
        return " or ".join((OBJECT_IDS.wanted, *self.also))


class Endpoint(Characters, Parsed):
    """A host, by address or name, with its UDP port."""

    parse = staticmethod(parse_endpoint)

    def __init__(self, **said: Any) -> None:
        super().__init__(3, 260, **said)

    def bounds(self) -> str:
        return "a host and its port"


class Mailbox(Characters, Parsed):
    """The address of a mailbox, such as noc@example.net."""

    parse = staticmethod(parse_mailbox)

    def __init__(self, **said: Any) -> None:
        super().__init__(3, MAX_MAILBOX_CHARS, **said)

    def bounds(self) -> str:
        return "mail addresses"


class Url(Characters, Parsed):
    """An address in the web, by HTTPS or HTTP."""

    parse = staticmethod(parse_url)

    def __init__(self, **said: Any) -> None:
        super().__init__(8, MAX_URL_CHARS, **said)

    def bounds(self) -> str:
        return "an address that begins with https:// or http://"


class Pem(Characters, Parsed):
    """Certificates in PEM, the one of the server first and each issuer behind what it issued."""

    parse = staticmethod(parse_chain)

    def __init__(self, **said: Any) -> None:
        super().__init__(1, MAX_CHAIN_CHARS, **said)

    def bounds(self) -> str:
        return "certificates in PEM"


class PublicKey(Characters, Parsed):
    """The public half of a key of Curve25519, as WireGuard writes it."""

    parse = staticmethod(parse_key)

    def __init__(self, **said: Any) -> None:
        super().__init__(44, 44, **said)

    def bounds(self) -> str:
        return "a key in base64"


class SshPublicKey(Characters, Parsed):
    """A public key of SSH in one line, without what may stand before or behind it."""

    parse = staticmethod(parse_ssh_key)

    def __init__(self, **said: Any) -> None:
        super().__init__(20, MAX_SSH_KEY_CHARS, **said)

    def bounds(self) -> str:
        return "a public key of SSH"


class Choice(Field):
    """One of some words."""

    def __init__(self, *choices: str, **said: Any) -> None:
        super().__init__(**said)
        self.choices = choices

    def read(self, reader: Reader, name: str, default: Any) -> Any:
        return reader.one_of(name, default, self.choices)

    def bounds(self) -> str:
        return ", ".join(f"`{choice}`" for choice in self.choices)


class Ref(Characters, Parsed):
    """The id of another object.

    `role` is what that object is called where it is named: "VRF" for an interface that must be one, which
    `fits` decides; `unfit` tells people how to know those that do. `offered` says the same of the objects'
    JSON: which of them a form offers. One that may be `unconfigured` may name what the router has without
    configuration as well; what is in `also` is built in, and named without being configured. With
    `own_rules` the kind has rules of its own for it, which say more than those that all references have.
    """

    def __init__(
        self,
        kind: str,
        ids: IdForm = OBJECT_IDS,
        *,
        role: str = "",
        fits: Callable[[Any], bool] | None = None,
        unfit: str = "",
        offered: When | None = None,
        own_rules: bool = False,
        unconfigured: bool = False,
        also: tuple[str, ...] = (),
        **said: Any,
    ) -> None:
        super().__init__(1, ids.max_chars, **said)
        self.kind = kind
        self.ids = ids
        self.role = role or kind.replace("-", " ")
        self.fits = fits
        self.unfit = unfit
        self.offered = offered
        self.own_rules = own_rules
        self.unconfigured = unconfigured
        self.also = also

    def read(self, reader: Reader, name: str, default: Any) -> Any:
        return reader.matching(name, default, self.ids.pattern, self.ids.wanted)

    def parse(self, value: object) -> str:  # type: ignore[override]  # it knows its form
        if isinstance(value, str) and self.ids.pattern.fullmatch(value):
            return sys.intern(value)
        raise Invalid(f"must be {self.ids.wanted}, not {shown(value)}", code="bad-id")

    def bounds(self) -> str:
        words = f"name of a {self.role}" if self.unconfigured else f"id of a configured {self.role}"
        return ", ".join((*(f"`{name}`" for name in self.also), words))

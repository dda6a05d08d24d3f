# SPDX-License-Identifier: Apache-2.0
"""IPv4 and IPv6 prefixes as small immutable values.

`ipaddress` objects cost about 1 KB each; a router with 100,000 queues holds several hundred
thousand prefixes, so the model keeps canonical text and parses it to a `Prefix` where it computes.
"""

from __future__ import annotations

import socket
from functools import lru_cache
from typing import NamedTuple

from weir.model.limits import MAX_DOMAIN
from weir.model.problem import Invalid

WIDTH = {4: 32, 6: 128}
_FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}


class Prefix(NamedTuple):
    """`value` is the network address as an integer with the host bits zero."""

    family: int
    value: int
    length: int

    @property
    def text(self) -> str:
        raw = self.value.to_bytes(WIDTH[self.family] // 8, "big")
        return f"{socket.inet_ntop(_FAMILY[self.family], raw)}/{self.length}"

    def covers(self, other: Prefix) -> bool:
        """True when every address of `other` is in this prefix."""
        if self.family != other.family or self.length > other.length:
            return False
        shift = WIDTH[self.family] - self.length
        return self.value >> shift == other.value >> shift


@lru_cache(maxsize=256)
def parse_prefix(text: str) -> Prefix:
    """Read `address[/length]`. Raises `Invalid` that names the text; host bits must be zero.

    Remembered for a while: several rules ask for the same queue's one after the other.
    """
    found = plain_prefix(text)
    if found is not None:
        return Prefix(*found)
    address, slash, length_text = text.partition("/")
    family = 6 if ":" in address else 4
    try:
        value = int.from_bytes(socket.inet_pton(_FAMILY[family], address), "big")
    except (OSError, ValueError) as error:
        raise Invalid(f"{text!r} is not an IPv4 or IPv6 address or prefix", code="bad-prefix") from error
    width = WIDTH[family]
    length = width
    if slash:
        if not is_length(length_text, width):
            raise Invalid(f"{text!r}: the prefix length must be 0 to {width}", code="bad-prefix")
        length = int(length_text)
    if value & ((1 << (width - length)) - 1):
        network = Prefix(family, value >> (width - length) << (width - length), length).text
        raise Invalid(f"{text!r} has host bits set; did you mean {network}?", code="host-bits-set")
    return Prefix(family, value, length)


def canonical_prefix(text: str) -> str:
    """As `parse_prefix(text).text`, in less time. Raises `Invalid`."""
    found = plain_prefix(text)
    if found is None:
        return parse_prefix(text).text
    family, value, length = found
    if family == 4:
        return text  # inet_pton takes one form only
    return f"{socket.inet_ntop(socket.AF_INET6, value.to_bytes(16, 'big'))}/{length}"


def plain_prefix(text: str) -> tuple[int, int, int] | None:
    """Family, value and length of nearly every prefix that there is: of `address/length` without host bits.
    None for what is written in another way, or is wrong: `parse_prefix` tells which."""
    address, _, length_text = text.partition("/")
    family = 6 if ":" in address else 4
    known = _LENGTHS[family].get(length_text)
    if known is None:
        return None
    try:
        value = int.from_bytes(socket.inet_pton(_FAMILY[family], address), "big")
    except (OSError, ValueError):
        return None
    length, host_bits = known
    return None if value & host_bits else (family, value, length)


_LENGTHS = {
    family: {str(length): (length, (1 << (width - length)) - 1) for length in range(width + 1)}
    for family, width in WIDTH.items()
}
"""Of each length as it is written the number, and a mask of the host bits."""


def address_bytes(prefix_text: str) -> bytes:
    """The network address of a canonical prefix, in network byte order."""
    address, _, _ = prefix_text.partition("/")
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)


def split_domain(text: str) -> tuple[int, str]:
    """The domain of `prefix[@domain]`, 0 without one, and the prefix's text. Raises `Invalid`."""
    prefix_text, at, domain_text = text.partition("@")
    if not at:
        return 0, text
    if not is_length(domain_text, MAX_DOMAIN):
        raise Invalid(f"{text!r}: the domain after @ must be 0 to {MAX_DOMAIN}", code="bad-prefix")
    return int(domain_text), prefix_text


def parse_prefix_in_domain(text: str) -> tuple[int, Prefix]:
    """Read `prefix[@domain]`. Raises `Invalid`."""
    domain, prefix_text = split_domain(text)
    return domain, parse_prefix(prefix_text)


def text_in_domain(domain: int, prefix: Prefix) -> str:
    """As `parse_prefix_in_domain` reads it."""
    return f"{prefix.text}@{domain}" if domain else prefix.text


def is_length(text: str, most: int) -> bool:
    """True when the text is a decimal number from 0 to `most`, such as a prefix length."""
    return len(text) <= 3 and text.isascii() and text.isdigit() and int(text) <= most


def looks_like_prefix(text: str) -> bool:
    """A target names prefixes or interfaces; an interface name has no ":" or "/" and is no IPv4 address."""
    return "/" in text or ":" in text or text.partition("@")[0].replace(".", "").isdigit()


NO_HOST = {
    parse_prefix("0.0.0.0/8"): "belongs to no network",
    parse_prefix("127.0.0.0/8"): "is a loopback address",
    parse_prefix("224.0.0.0/4"): "is a multicast address",
    parse_prefix("240.0.0.0/4"): "is reserved",
    parse_prefix("::/128"): "belongs to no host",
    parse_prefix("::1/128"): "is the loopback address",
    parse_prefix("ff00::/8"): "is a multicast address",
}
"""Where no host can be, and why (RFC 6890)."""

# SPDX-License-Identifier: Apache-2.0
"""Addresses as users write them, brought to one canonical text."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address

from weir.model.limits import INTERFACE_ID
from weir.model.prefix import (
    WIDTH,
    Prefix,
    canonical_prefix,
    is_length,
    looks_like_prefix,
    parse_prefix,
    parse_prefix_in_domain,
    text_in_domain,
)
from weir.model.problem import Invalid
from weir.model.reader import shown


def parse_target(value: object) -> str:
    """As `parse_end`; a prefix may be one of a domain (`10.64.1.7@2` becomes `10.64.1.7/32@2`)."""
    if isinstance(value, str) and "@" in value:
        return text_in_domain(*parse_prefix_in_domain(value))
    return parse_end(value)


def parse_end(value: object) -> str:
    """A prefix (`10.64.1.7` becomes `10.64.1.7/32`) or an interface name. Raises `Invalid`."""
    if not isinstance(value, str):
        raise Invalid(f"must be a prefix or an interface name, not {shown(value)}", code="bad-prefix")
    if looks_like_prefix(value):
        return canonical_prefix(value)
    if INTERFACE_ID.fullmatch(value):
        return value
    raise Invalid(
        f"{shown(value)} is neither an IPv4 or IPv6 prefix nor an interface name "
        "(up to 15 letters, digits, '_', '.' or '-')",
        code="bad-prefix",
    )


def split_address(text: str) -> tuple[str, Prefix]:
    """`192.0.2.1/24` as the host `192.0.2.1` and the prefix `192.0.2.0/24`. Raises `Invalid`."""
    host_text, slash, length_text = text.partition("/")
    host = parse_prefix(host_text)
    width = WIDTH[host.family]
    length = width
    if slash:
        if not is_length(length_text, width):
            raise Invalid(f"{shown(text)}: the prefix length must be 0 to {width}", code="bad-prefix")
        length = int(length_text)
    shift = width - length
    return host.text.partition("/")[0], Prefix(host.family, host.value >> shift << shift, length)


_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")


def parse_host_or_name(value: object) -> str:
    """An address in canonical text, or a name in the DNS in lower case. Raises `Invalid`."""
    if not isinstance(value, str):
        raise Invalid(f"must be an address or a DNS name, not {shown(value)}", code="bad-host")
    if not is_dns_name(value):
        return parse_host(value)
    name = value.lower().removesuffix(".")
    if not value.isascii() or len(name) > 253 or not all(map(_LABEL.fullmatch, name.split("."))):
        raise Invalid(f"{shown(value)} is neither an address nor a DNS name", code="bad-host")
    return name


def parse_dns_name(value: object) -> str:
    """A name in the DNS in lower case. Raises `Invalid`."""
    name = parse_host_or_name(value)
    if not is_dns_name(name):
        raise Invalid(f"must be a DNS name, not the address {name}", code="bad-host")
    return name


def is_dns_name(host: str) -> bool:
    """Whether it has to be looked up: it is written as no address is."""
    return ":" not in host and not host.replace(".", "").isdigit()


def parse_address(value: object) -> str:
    """An interface's address with its prefix length, host bits kept, in canonical text. Raises `Invalid`."""
    if not isinstance(value, str):
        raise Invalid(f"must be an address such as 192.0.2.1/24, not {shown(value)}", code="bad-prefix")
    if "/" not in value:
        raise Invalid(f"{shown(value)} needs a prefix length, as in 192.0.2.1/24", code="bad-prefix")
    host, network = split_address(value)
    return f"{host}/{network.length}"


def parse_host(value: object) -> str:
    """A single address, such as a gateway, in canonical text. Raises `Invalid`."""
    if not isinstance(value, str) or "/" in value:
        raise Invalid(f"must be one IPv4 or IPv6 address, not {shown(value)}", code="bad-address")
    return parse_prefix(value).text.partition("/")[0]


def parse_host_part(value: object) -> str:
    """What of an IPv6 address is behind a network, such as `::1000`. Raises `Invalid`."""
    text = parse_host(value)
    if ":" not in text:
        words = f"must be the end of an IPv6 address, such as ::1000, not {shown(value)}"
        raise Invalid(words, code="bad-prefix")
    return str(IPv6Address(text))


def parse_network(value: object) -> str:
    """A prefix with its length, in canonical text. Raises `Invalid`."""
    text = parse_end(value)
    if "/" not in text:
        raise Invalid(f"must be a prefix such as 192.0.2.0/24, not {shown(value)}", code="bad-prefix")
    return text


def is_of_no_host(address: IPv4Address) -> bool:
    """Whether no single host elsewhere can have it."""
    return address.is_multicast or address.is_reserved or address.is_loopback or address.is_unspecified


_THIS_NETWORK = IPv4Network("0.0.0.0/8")


def is_of_no_other(address: IPv4Address | IPv6Address) -> bool:
    """Whether an answer of the DNS that has it says nothing of a host: also one of a single link, and one of
    IPv4 in the clothes of IPv6. Private ones are hosts'."""
    if address.is_link_local:
        return True
    if isinstance(address, IPv4Address):
        return is_of_no_host(address) or address in _THIS_NETWORK
    mapped = address.ipv4_mapped is not None
    return mapped or address.is_multicast or address.is_loopback or address.is_unspecified

# SPDX-License-Identifier: Apache-2.0
"""What a record of the DNS says, by its type, in the form of zone files (RFC 1035, section 5).

Names are absolute here and end with a dot in zone files only. Every text that comes from people or clients
goes through `quoted` or was parsed as a name or an address, so that nothing of it is syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from ipaddress import ip_address

from weir.model.address import is_dns_name, parse_host, parse_host_or_name
from weir.model.problem import Invalid
from weir.model.reader import shown

MAX_TEXT_BYTES = 2048
_PIECE_BYTES = 255
_PLAIN = re.compile(rb"[A-Za-z0-9 =._:/+,@~-]")
_LAST_NUMBER = 65_535


def absolute(name: str, domain: str) -> str:
    """A name without a dot is one of the local domain."""
    return name if "." in name else f"{name}.{domain}"


def reverse_name(address: str) -> str:
    """Where the name of an address is asked for (`in-addr.arpa`, `ip6.arpa`)."""
    return ip_address(address).reverse_pointer


def parent_of(name: str) -> str:
    """The name above; empty for one of a single label."""
    return name.partition(".")[2]


def is_within(name: str, domain: str) -> bool:
    """Whether it is the domain or a name below it."""
    return name == domain or name.endswith(f".{domain}")


def value_text(record_type: str, value: str, domain: str) -> str:
    """The value of a record in the form of zone files. Raises `Invalid`, whose message continues "the value
    of NAME"."""
    return _FORMS[record_type](value, domain)


def quoted(text: str) -> str:
    """A text in pieces of at most 255 bytes; what is not plain is written by its number."""
    data = text.encode()
    pieces = [data[start : start + _PIECE_BYTES] for start in range(0, len(data), _PIECE_BYTES)]
    return " ".join(f'"{"".join(map(_escaped, piece))}"' for piece in pieces)


def _escaped(byte: int) -> str:
    return chr(byte) if _PLAIN.fullmatch(bytes((byte,))) else f"\\{byte:03d}"


def name_of(value: str, domain: str) -> str:
    """An absolute name. Raises `Invalid`."""
    try:
        name = parse_host_or_name(value)
    except Invalid as problem:
        raise Invalid(f"must be a DNS name, not {shown(value)}", code="bad-value") from problem
    if not is_dns_name(name):
        raise Invalid(f"must be a DNS name, not the address {name}", code="bad-value")
    return absolute(name, domain)


def _address(version: int) -> Callable[[str, str], str]:
    def read(value: str, _domain: str) -> str:
        try:
            address = parse_host(value)
        except Invalid:
            address = ""
        if not address or ip_address(address).version != version:
            raise Invalid(f"must be an IPv{version} address, not {shown(value)}", code="bad-value")
        return address

    return read


def _name(value: str, domain: str) -> str:
    return f"{name_of(value, domain)}."


def _numbers_and_name(form: str, count: int) -> Callable[[str, str], str]:
    def read(value: str, domain: str) -> str:
        words = value.split()
        numbers, names = words[:count], words[count:]
        if len(numbers) != count or len(names) != 1 or not all(map(_is_number, numbers)):
            raise Invalid(f"must be {form}, not {shown(value)}", code="bad-value")
        return " ".join((*(str(int(word)) for word in numbers), _name(names[0], domain)))

    return read


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= 5 and int(word) <= _LAST_NUMBER


def _text(value: str, _domain: str) -> str:
    if len(value.encode()) > MAX_TEXT_BYTES:
        raise Invalid(f"must have at most {MAX_TEXT_BYTES:,} bytes", code="bad-value")
    return quoted(value)


_FORMS: Mapping[str, Callable[[str, str], str]] = {
    "A": _address(4),
    "AAAA": _address(6),
    "CNAME": _name,
    "TXT": _text,
    "PTR": _name,
    "MX": _numbers_and_name("a preference and a name, such as 10 mail.example.com", 1),
    "SRV": _numbers_and_name("priority, weight, port and a name, such as 0 5 5060 sip.example.com", 3),
}
RECORD_TYPES = tuple(_FORMS)

# SPDX-License-Identifier: Apache-2.0
"""Values of properties as the model has them. Each raises `ValueError` or `Invalid` for what it is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network, summarize_address_range

from weir.formats.quantity import time_ms, truth
from weir.formats.routeros.menus.table import Property, Row
from weir.model.address import parse_address, parse_host, parse_host_or_name
from weir.model.frames import parse_mac
from weir.model.limits import CONTROL_BUT_NEWLINE_OR_TAB, MAX_COMMENT_CHARS
from weir.model.members import parse_ports

MAX_PIECES = 64


def text(value: str, _row: Row) -> str:
    return value


def comment(value: str, row: Row) -> str:
    cleaned = CONTROL_BUT_NEWLINE_OR_TAB.sub(" ", value.replace("\r\n", "\n"))
    if len(cleaned) > MAX_COMMENT_CHARS:
        row.changed("comment-cut", f"The comment was cut to {MAX_COMMENT_CHARS} characters.")
    return cleaned[:MAX_COMMENT_CHARS]


def flag(value: str, _row: Row) -> bool:
    return truth(value)


def whole(value: str, _row: Row) -> int:
    """Also hexadecimal, as priorities of bridges are written."""
    try:
        return int(value, 16 if value.lower().startswith("0x") else 10) if len(value) < 20 else 1 << 63
    except ValueError:
        raise ValueError("expected a number") from None


def seconds(value: str, _row: Row) -> int:
    return time_ms(value) // 1000


def milliseconds(value: str, _row: Row) -> int:
    return time_ms(value)


def mac(value: str, _row: Row) -> str:
    return parse_mac(value.lower())


def host(value: str, _row: Row) -> str:
    return parse_host(value)


def hosts(value: str, _row: Row) -> list[str]:
    return [parse_host(item.strip()) for item in value.split(",") if item.strip()]


def names_of_hosts(value: str, _row: Row) -> list[str]:
    found = [parse_host_or_name(item.strip()) for item in value.split(",") if item.strip()]
    return [item for item in found if item not in ("0.0.0.0", "::")]


def interface_address(value: str, _row: Row) -> str:
    """RouterOS takes an address without a length as that address alone."""
    if "/" not in value:
        value = f"{value}/{128 if ':' in value else 32}"
    return parse_address(value)


def prefix(value: str, row: Row) -> str:
    """A network; host bits are cleared, and said to be."""
    try:
        network = ip_network(value, strict=False)
    except ValueError:
        raise ValueError("expected a network such as 10.0.0.0/24") from None
    written = value if "/" in value else f"{value}/{network.max_prefixlen}"
    if str(network.network_address) != str(ip_address(written.partition("/")[0])):
        row.changed("host-bits", f"{value} has host bits set; it means {network}.")
    return str(network)


def prefixes(value: str, row: Row) -> list[str]:
    """A network, or a range of addresses."""
    found = _range(value) if "-" in value else [prefix(value, row)]
    if len(found) > MAX_PIECES:
        raise ValueError(f"it is more than {MAX_PIECES} prefixes")
    return found


def _range(value: str) -> list[str]:
    first, _, last = value.partition("-")
    try:
        low, high = ip_address(first.strip()), ip_address(last.strip())
        if isinstance(low, IPv4Address) and isinstance(high, IPv4Address):
            return [str(item) for item in summarize_address_range(low, high)]
        if isinstance(low, IPv6Address) and isinstance(high, IPv6Address):
            return [str(item) for item in summarize_address_range(low, high)]
    except ValueError:
        pass
    raise ValueError("expected a range such as 10.0.0.1-10.0.0.9")


def ports(value: str, _row: Row) -> list[str]:
    return [parse_ports(item.strip()) for item in value.split(",")]


def choice(words: Mapping[str, str]) -> Callable[[str, Row], str]:
    """From the words of RouterOS to those of Weir."""

    def read(value: str, _row: Row) -> str:
        if value not in words:
            raise ValueError(f"Weir has {', '.join(words)}")
        return words[value]

    return read


def interface(value: str, row: Row) -> str:
    """The id of an interface that is wanted from now on."""
    return row.router.interface_of_id(row.router.interface_id(value)).id


def words(value: str, _row: Row) -> tuple[str, ...]:
    """With commas between them."""
    return tuple(word for word in value.split(",") if word)


def interface_names(value: str, _row: Row) -> list[str]:
    return [item for item in value.split(",") if item]


COMMON = {"comment": Property("comment", comment), "disabled": Property("disabled", flag)}

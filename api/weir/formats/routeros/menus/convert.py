# SPDX-License-Identifier: Apache-2.0
"""Values of properties as the model has them. Each raises `ValueError` or `Invalid` for what it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
    """A network, a range of addresses, or `!` and one of these, which is everything around it."""
    inner = value.removeprefix("!")
    found = _range(inner) if "-" in inner else [prefix(inner, row)]
    if value != inner:
        found = [str(network) for network in _around(found)]
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


def _around(inside: list[str]) -> list[str]:
    """Every prefix of the family that holds none of these, which follow one another."""
    networks = [ip_network(item) for item in inside]
    first, last = int(networks[0].network_address), int(networks[-1].broadcast_address)
    top = (1 << networks[0].max_prefixlen) - 1
    make = IPv4Address if networks[0].version == 4 else IPv6Address
    found: list[str] = []
    for low, high in ((0, first - 1), (last + 1, top)):
        if low <= high:
            found += map(str, summarize_address_range(make(low), make(high)))
    if not found:
        raise ValueError("nothing is left of all addresses")
    return found


def ports(value: str, _row: Row) -> list[str]:
    inner = value.removeprefix("!")
    found = [parse_ports(item.strip()) for item in inner.split(",")]
    return found if value == inner else _other_ports(found)


def _other_ports(found: Iterable[str]) -> list[str]:
    spans = sorted(tuple(map(int, item.split("-"))) for item in found)
    rest, at = [], 1
    for span in spans:
        if at < span[0]:
            rest.append(parse_ports(f"{at}-{span[0] - 1}"))
        at = max(at, span[-1] + 1)
    if at <= 65_535:
        rest.append(parse_ports(f"{at}-65535"))
    if not rest:
        raise ValueError("no port is left")
    return rest


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

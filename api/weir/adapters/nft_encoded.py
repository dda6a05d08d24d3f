# SPDX-License-Identifier: Apache-2.0
"""Rules of libnftables' JSON in the kernel's own form (uapi/linux/netfilter/nf_tables.h), as nft makes it of
them (1.0.6 and 1.1).

Only what most firewall rules are made of is known here; for all else nft is asked to do it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from weir.adapters.nft_canonical import Expression
from weir.adapters.nft_fields import AnonymousSet, Fields, Key, NotKnown, be32, elements_of, text
from weir.model.prefix import Prefix, parse_prefix


class Encoded(NamedTuple):
    """One expression of the kernel's."""

    name: str
    fields: Fields


_VERDICT, _REGISTER = 0, 1
_EQ, _NEQ, _LTE, _GTE = 0, 1, 3, 5
_META = {"iifname": 6, "oifname": 7, "iiftype": 8, "nfproto": 15, "l4proto": 16, "sdifname": 34}
_FAMILIES = {"ipv4": b"\x02", "ipv6": b"\x0a"}
_NUMBERS = {"icmp": 1, "igmp": 2, "tcp": 6, "udp": 17, "gre": 47, "esp": 50, "ah": 51, "ipv6-icmp": 58}
_NUMBERS |= {"ospf": 89, "vrrp": 112, "sctp": 132}
_WITH_PORTS = ("tcp", "udp", "sctp")
_LINK, _NETWORK, _TRANSPORT = 0, 1, 2
_ADDRESSES = {
    ("ip", "saddr"): (12, 4),
    ("ip", "daddr"): (16, 4),
    ("ip6", "saddr"): (8, 16),
    ("ip6", "daddr"): (24, 16),
}
_NFPROTO = {"ip": "ipv4", "ip6": "ipv6"}
_PORTS = {"sport": 0, "dport": 2}
_FLAGS_AT = 13
_FLAGS = {"fin": 1, "syn": 2, "rst": 4, "psh": 8, "ack": 16, "urg": 32, "ecn": 64, "cwr": 128}
_DSCP = {"ip": (1, 1, 2), "ip6": (0, 2, 6)}
"""Where its bits are: offset and size in bytes, and by how many bits they are shifted."""
_ETHERNET = 1
_CT = {"state": 0, "direction": 1, "status": 2, "mark": 3}
_DIRECTIONS = {"original": b"\0", "reply": b"\1"}
_CT_BITS = {
    "state": {"invalid": 1, "established": 2, "related": 4, "new": 8, "untracked": 64},
    "status": {"confirmed": 8, "snat": 16, "dnat": 32},
}
_MARK = {"ct": {"key": "mark"}}
_VERDICTS = {"drop": 0, "accept": 1, "jump": -3, "goto": -4, "return": -5}
_ICMPX, _PORT_UNREACHABLE = 2, 1
_WARNING = 4
_NAME_BYTES = 16
_HOST, _NETWORK_ORDER = 1, 2
_KINDS = {"ip": 7, "ip6": 8, "l4proto": 12, "dport": 13, "icmp": 14, "icmpv6": 29, "ifname": 41}
"""Of keys, by nft's numbers (datatype.h)."""
_ICMP_TYPES = {
    "icmp": {
        "echo-reply": 0,
        "destination-unreachable": 3,
        "redirect": 5,
        "echo-request": 8,
        "time-exceeded": 11,
        "parameter-problem": 12,
    },
    "icmpv6": {
        "destination-unreachable": 1,
        "packet-too-big": 2,
        "time-exceeded": 3,
        "parameter-problem": 4,
        "echo-request": 128,
        "echo-reply": 129,
        "nd-router-solicit": 133,
        "nd-router-advert": 134,
        "nd-neighbor-solicit": 135,
        "nd-neighbor-advert": 136,
        "nd-redirect": 137,
    },
}
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}


def encoded(expressions: Sequence[Expression]) -> tuple[Encoded, ...]:
    """Raises `NotKnown`, also for what has another form than is known here: nft does it then."""
    try:
        return tuple(_Rule().of(expressions))
    except (LookupError, TypeError, ValueError, struct.error) as error:
        raise NotKnown(str(error)) from None


class _Rule:
    """What expressions before said of a packet need not be said again."""

    def __init__(self) -> None:
        self._said = set[tuple[str, str]]()

    def of(self, expressions: Sequence[Expression]) -> Iterator[Encoded]:
        for expression in expressions:
            ((kind, said),) = expression.items()
            maker = _STATEMENTS.get(kind)
            if kind == "mangle":
                yield from _marked(said["key"], said["value"])
            elif kind == "match":
                yield from self._match(said["op"], said["left"], said["right"])
            elif maker is None:
                raise NotKnown(kind)
            else:
                yield maker(kind, said)

    def _match(self, operator: str, left: Any, right: Any) -> Iterator[Encoded]:
        ((kind, said),) = left.items()
        if kind == "ct" and said["key"] == "direction":
            yield _tracked("direction")
            yield _compared(_operator(operator), _DIRECTIONS[right])
        elif kind == "ct":
            yield from _bits(operator, said["key"], right)
        elif kind == "meta":
            yield from self._meta(operator, said["key"], right)
        elif kind == "payload":
            yield from self._payload(operator, said["protocol"], said["field"], right)
        elif kind == "&" and isinstance(said[0], dict) and "payload" in said[0]:
            payload = said[0]["payload"]
            yield from self._cut(operator, payload["protocol"], payload["field"], said[1], right)
        elif kind == "&" and said[0] == _MARK:
            yield _tracked("mark")
            yield _masked(_word(said[1]))
            yield _compared(_operator(operator), _word(right))
        else:
            raise NotKnown(kind)

    def _meta(self, operator: str, key: str, right: Any) -> Iterator[Encoded]:
        if key == "iiftype":
            raise NotKnown(key)
        yield _load_meta(key)
        if key.endswith("ifname"):
            yield from _judged(operator, right, _padded, _KINDS["ifname"], _HOST)
        elif key == "l4proto" and isinstance(right, dict):
            yield from _judged(operator, right, _number, _KINDS["l4proto"], _HOST)
        else:
            value = _plain(right)
            data = _number(value) if key == "l4proto" else _FAMILIES[value]
            yield _compared(_operator(operator), data)
            if operator == "==":
                self._said.add((key, value))

    def _depends(self, key: str, value: str, data: bytes) -> Iterator[Encoded]:
        if (key, value) not in self._said:
            if any(said == key for said, _ in self._said):
                raise NotKnown(key)
            self._said.add((key, value))
            yield _load_meta(key)
            yield _compared(_EQ, data)

    def _payload(self, operator: str, protocol: str, field: str, right: Any) -> Iterator[Encoded]:
        if (protocol, field) in _ADDRESSES:
            yield from self._address(operator, protocol, field, right)
        elif field in _PORTS and (protocol in _WITH_PORTS or protocol == "th"):
            if protocol != "th":
                yield from self._depends("l4proto", protocol, _number(protocol))
            yield _load(_TRANSPORT, _PORTS[field], 2)
            yield from _judged(operator, right, _port, _KINDS["dport"], _NETWORK_ORDER)
        elif (protocol, field) == ("tcp", "flags"):
            yield from self._depends("l4proto", protocol, _number(protocol))
            yield _load(_TRANSPORT, _FLAGS_AT, 1)
            yield from _one_of(operator, bytes([sum(_FLAGS[name] for name in _listed(right))]))
        elif field == "dscp" and protocol in _DSCP:
            yield from self._dscp(operator, protocol, right)
        elif field == "type" and protocol in _ICMP_TYPES:
            family, number = ("ipv4", "icmp") if protocol == "icmp" else ("ipv6", "ipv6-icmp")
            yield from self._depends("nfproto", family, _FAMILIES[family])
            yield from self._depends("l4proto", number, _number(number))
            yield _load(_TRANSPORT, 0, 1)
            types = _ICMP_TYPES[protocol]
            yield from _judged(
                operator, right, lambda name: bytes([types[name]]), _KINDS[protocol], _NETWORK_ORDER
            )
        elif (protocol, field) == ("ether", "saddr"):
            yield from self._depends("iiftype", "ether", struct.pack("=H", _ETHERNET))
            yield _load(_LINK, 6, 6)
            if _is_named(right):
                yield _lookup(operator, right)
            else:
                yield _compared(_operator(operator), bytes.fromhex(_plain(right).replace(":", "")))
        else:
            raise NotKnown(field)

    def _address(self, operator: str, protocol: str, field: str, right: Any) -> Iterator[Encoded]:
        offset, size = _ADDRESSES[protocol, field]
        family = _NFPROTO[protocol]
        yield from self._depends("nfproto", family, _FAMILIES[family])
        if isinstance(right, dict) and "prefix" in right:
            length = int(right["prefix"]["len"])
            data = _address_bytes(str(right["prefix"]["addr"]), size)
            if length % 8:
                yield _load(_NETWORK, offset, size)
                yield _masked(_mask(length, size))
                yield _compared(_operator(operator), data)
            else:
                yield _load(_NETWORK, offset, length // 8)
                yield _compared(_operator(operator), data[: length // 8])
            return
        yield _load(_NETWORK, offset, size)
        yield from _judged(
            operator, right, lambda text: _address_bytes(str(text), size), _KINDS[protocol], _NETWORK_ORDER
        )

    def _dscp(self, operator: str, protocol: str, right: Any) -> Iterator[Encoded]:
        """Six bits; in IPv6 they are of two bytes."""
        if not isinstance(right, int):
            raise NotKnown(str(right))
        offset, size, shift = _DSCP[protocol]
        family = _NFPROTO[protocol]
        yield from self._depends("nfproto", family, _FAMILIES[family])
        yield _load(_NETWORK, offset, size)
        yield _masked((0x3F << shift).to_bytes(size, "big"))
        yield _compared(_operator(operator), (right << shift).to_bytes(size, "big"))

    def _cut(self, operator: str, protocol: str, field: str, mask: Any, right: Any) -> Iterator[Encoded]:
        if (protocol, field) not in _ADDRESSES or not _is_named(right):
            raise NotKnown(field)
        offset, size = _ADDRESSES[protocol, field]
        family = _NFPROTO[protocol]
        yield from self._depends("nfproto", family, _FAMILIES[family])
        yield _load(_NETWORK, offset, size)
        yield _masked(_address_bytes(_plain(mask), size))
        yield _lookup(operator, right)


def _plain(value: Any) -> str:
    if not isinstance(value, str) or value.startswith("@"):
        raise NotKnown(str(value))
    return value


def _is_named(right: Any) -> bool:
    return isinstance(right, str) and right.startswith("@")


def _operator(operator: str) -> int:
    return {"==": _EQ, "!=": _NEQ}[operator]


def _address_bytes(value: str, size: int) -> bytes:
    found: Prefix = parse_prefix(value)
    if (found.family == 4) != (size == 4):
        raise NotKnown(value)
    return int(found.value).to_bytes(size, "big")


def _mask(length: int, size: int) -> bytes:
    width = 8 * size
    return ((1 << width) - (1 << (width - length))).to_bytes(size, "big")


def _load_meta(key: str) -> Encoded:
    return Encoded("meta", {2: be32(_META[key]), 1: be32(_REGISTER)})


def _load(base: int, offset: int, size: int) -> Encoded:
    return Encoded("payload", {1: be32(_REGISTER), 2: be32(base), 3: be32(offset), 4: be32(size)})


def _compared(operator: int, data: bytes) -> Encoded:
    return Encoded("cmp", {1: be32(_REGISTER), 2: be32(operator), 3: {1: data}})


def _masked(mask: bytes, changed: bytes = b"") -> Encoded:
    """`changed`: the bits that are then turned over."""
    register, turned = be32(_REGISTER), {1: changed or bytes(len(mask))}
    fields: Fields = {1: register, 2: register, 3: be32(len(mask)), 6: be32(0), 4: {1: mask}, 5: turned}
    return Encoded("bitwise", fields)


def _tracked(key: str) -> Encoded:
    return Encoded("ct", {1: be32(_REGISTER), 2: be32(_CT[key])})


def _word(number: int) -> bytes:
    return struct.pack("=I", number)


def _marked(key: Any, value: Any) -> Iterator[Encoded]:
    """The connection's mark: some of its bits are kept, and others set."""
    if key != _MARK:
        raise NotKnown("mangle")
    (kept, number) = value["|"]
    if kept["&"][0] != _MARK or kept["&"][1] & number:
        raise NotKnown("mangle")
    yield _tracked("mark")
    yield _masked(_word(kept["&"][1]), _word(number))
    yield Encoded("ct", {2: be32(_CT["mark"]), 4: be32(_REGISTER)})


def _lookup(operator: str, name: str) -> Encoded:
    return Encoded("lookup", {1: text(name[1:]), 2: be32(_REGISTER), 5: be32(_operator(operator))})


def _judged(operator: str, right: Any, key: Key, kind: int, order: int) -> Iterator[Encoded]:
    """What is loaded is one value, or between two, or in a set."""
    if _is_named(right):
        yield _lookup(operator, right)
    elif isinstance(right, dict) and "set" in right:
        found = AnonymousSet(kind, order, *elements_of(right["set"], key))
        yield Encoded("lookup", {1: found, 2: be32(_REGISTER), 5: be32(_operator(operator))})
    elif isinstance(right, dict) and "range" in right and operator == "==":
        first, last = right["range"]
        yield _compared(_GTE, key(first))
        yield _compared(_LTE, key(last))
    elif isinstance(right, dict) and "range" in right:
        first, last = map(key, right["range"])
        fields: Fields = {1: be32(_REGISTER), 2: be32(_operator(operator)), 3: {1: first}, 4: {1: last}}
        yield Encoded("range", fields)
    elif isinstance(right, str | int):
        yield _compared(_operator(operator), key(right))
    else:
        raise NotKnown(str(right))


def _padded(name: Any) -> bytes:
    return _plain(name).encode().ljust(_NAME_BYTES, b"\0")


def _port(number: Any) -> bytes:
    return struct.pack("!H", int(number))


def _number(protocol: Any) -> bytes:
    return bytes([_NUMBERS[protocol]])


def _bits(operator: str, key: str, right: Any) -> Iterator[Encoded]:
    """One of these bits is set; with `!` none is."""
    mask = _word(sum(_CT_BITS[key][name] for name in _listed(right)))
    yield _tracked(key)
    yield from _one_of(operator, mask)


def _listed(right: Any) -> list[str]:
    return [right] if isinstance(right, str) else list(right)


def _one_of(operator: str, mask: bytes) -> Iterator[Encoded]:
    """Of what is loaded."""
    if operator not in ("in", "!"):
        raise NotKnown(operator)
    yield _masked(mask)
    yield _compared(_NEQ if operator == "in" else _EQ, bytes(len(mask)))


def _verdict(kind: str, said: Any) -> Encoded:
    code = be32(_VERDICTS[kind])
    verdict: Fields = {1: code, 2: text(said["target"])} if said else {1: code}
    return Encoded("immediate", {1: be32(_VERDICT), 2: {2: verdict}})


def _counter(_kind: str, said: Any) -> Encoded:
    return Encoded("objref", {1: be32(1), 2: text(_plain(said))})


def _limit(_kind: str, said: Any) -> Encoded:
    if set(said) != {"rate", "burst", "per"}:
        raise NotKnown("limit")
    rate, unit = struct.pack("!Q", said["rate"]), struct.pack("!Q", _SECONDS[said["per"]])
    return Encoded("limit", {1: rate, 2: unit, 3: be32(said["burst"]), 4: be32(0), 5: be32(0)})


def _log(_kind: str, said: Any) -> Encoded:
    if set(said) != {"prefix"}:
        raise NotKnown("log")
    return Encoded("log", {2: text(said["prefix"]), 5: be32(_WARNING)})


def _reject(_kind: str, said: Any) -> Encoded:
    if said != {"type": "icmpx", "expr": "port-unreachable"}:
        raise NotKnown("reject")
    return Encoded("reject", {1: be32(_ICMPX), 2: bytes([_PORT_UNREACHABLE])})


def _flow(_kind: str, said: Any) -> Encoded:
    return Encoded("flow_offload", {1: text(str(said["flowtable"])[1:])})


_STATEMENTS: Mapping[str, Callable[[str, Any], Encoded]] = {
    **dict.fromkeys(_VERDICTS, _verdict),
    "counter": _counter,
    "flow": _flow,
    "limit": _limit,
    "log": _log,
    "reject": _reject,
}

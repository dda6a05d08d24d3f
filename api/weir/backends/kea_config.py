# SPDX-License-Identifier: Apache-2.0
"""The configuration of kea-dhcp4 for some servers and their reservations (Kea's manual, "The DHCPv4 Server").

Servers for networks behind relay agents have UDP sockets, which the firewall stands before; all others have
raw ones (docs/adr/0249). A subnet's number is its network address, so that its leases stay its own over every
change of others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from weir.model.address_range import span_text
from weir.parts.dhcp import ReservationSpec, ServerSpec, Spec

Json = dict[str, Any]
RETRY_MS = 1000
"""So often Kea tries to listen on an interface that has no carrier."""
_RETRIES = 2**31 - 1
_LFC_S = 3600
_REMEMBER_S = 86_400
"""For so long a host that comes back finds its address, unless somebody else needed it."""
_PROBATION_S = 3600
"""For so long an address is left alone that a client found in use. With Kea's own day one client could
use up a range until tomorrow."""
_NOT_OF_NAMES = "[^A-Za-z0-9._-]"


def subnet_id(network: str) -> int:
    return int(IPv4Network(network).network_address)


def servers_of(wanted: Mapping[str, Spec]) -> list[ServerSpec]:
    return [spec for spec in wanted.values() if isinstance(spec, ServerSpec)]


def config_text(wanted: Mapping[str, Spec], links: Mapping[str, int], socket: Path, leases: Path) -> str:
    """Of the servers whose interfaces are there; `links` are the indexes of interfaces by name. Its digest is
    what Kea calls `server-tag`, which it tells. An interface that is made again has another text."""
    servers = [spec for spec in servers_of(wanted) if spec.ifname in links]
    relayed = [spec for spec in servers if spec.relays]
    reserved: dict[str, list[Json]] = {}
    for spec in wanted.values():
        if isinstance(spec, ReservationSpec):
            reserved.setdefault(spec.server, []).append(_reservation(spec))
    settings: Json = {
        "interfaces-config": {
            "interfaces": list(dict.fromkeys(map(_asked_at, servers))),
            **({"dhcp-socket-type": "udp"} if relayed else {}),
            "re-detect": True,
            "service-sockets-max-retries": _RETRIES,
            "service-sockets-retry-wait-time": RETRY_MS,
            "user-context": {"indexes": {spec.ifname: links[spec.ifname] for spec in servers}},
        },
        "control-socket": {"socket-type": "unix", "socket-name": str(socket)},
        "lease-database": {"type": "memfile", "persist": True, "name": str(leases), "lfc-interval": _LFC_S},
        "expired-leases-processing": {"hold-reclaimed-time": _REMEMBER_S},
        "host-reservation-identifiers": ["hw-address", "client-id", "circuit-id"],
        "reservations-global": False,
        "reservations-in-subnet": True,
        "authoritative": True,
        "match-client-id": False,
        "calculate-tee-times": True,
        "decline-probation-period": _PROBATION_S,
        "hostname-char-set": _NOT_OF_NAMES,
        "hostname-char-replacement": "",
        "ddns-send-updates": False,
        "loggers": [
            {
                "name": "kea-dhcp4",
                "severity": "WARN",
                "output_options": [{"output": "stdout", "pattern": "%-5p %m\n"}],
            }
        ],
        **_classes(relayed),
        "subnet4": [_subnet(spec, reserved.get(spec.id, ())) for spec in servers],
    }
    settings["server-tag"] = hashlib.sha256(json.dumps(settings).encode()).hexdigest()
    return json.dumps({"Dhcp4": settings}, indent=1)


def tag_of(text: str) -> str:
    """The digest in a configuration."""
    return str(json.loads(text)["Dhcp4"]["server-tag"])


def links_of(text: str) -> frozenset[str]:
    """The interfaces in a configuration."""
    named = json.loads(text)["Dhcp4"]["interfaces-config"]["interfaces"]
    return frozenset(name.partition("/")[0] for name in named)


def without_subnets_on(text: str, links: Collection[str]) -> str:
    """A configuration with which Kea looks at all interfaces again, but serves nobody on these."""
    content = json.loads(text)
    settings = content["Dhcp4"]
    del settings["server-tag"]
    settings["subnet4"] = [subnet for subnet in settings["subnet4"] if subnet.get("interface") not in links]
    return json.dumps(content)


def _subnet(spec: ServerSpec, reservations: Iterable[Json]) -> Json:
    return {
        "id": subnet_id(spec.network),
        "subnet": spec.network,
        **_clients(spec),
        "pools": [{"pool": span_text(span)} for span in spec.spans],
        "valid-lifetime": spec.lease_s,
        "option-data": _options(spec),
        "reservations": list(reservations),
    }


def _classes(relayed: Sequence[ServerSpec]) -> Json:
    named = [{"name": _class(spec), "test": _test(spec)} for spec in relayed]
    return {"client-classes": named} if named else {}


def _asked_at(spec: ServerSpec) -> str:
    return f"{spec.ifname}/{spec.router}" if spec.relays else spec.ifname


def _class(spec: ServerSpec) -> str:
    return f"relayed {spec.id}"


def _test(spec: ServerSpec) -> str:
    """Who is served: clients of its relay agents, and those that renew by themselves. Without it Kea takes
    each address of the network for that of a relay agent."""
    return " or ".join(f"pkt4.giaddr == {relay}" for relay in ("0.0.0.0", *spec.relays))


def _clients(spec: ServerSpec) -> Json:
    """By what Kea knows that a client is in this network."""
    if not spec.relays:
        return {"interface": spec.ifname}
    return {"client-class": _class(spec), "relay": {"ip-addresses": list(spec.relays)}}


def _options(spec: ServerSpec) -> list[Json]:
    told = (
        ("routers", "" if spec.gateway == "0.0.0.0" else spec.gateway),
        ("domain-name-servers", ", ".join(spec.dns_servers)),
        ("domain-name", spec.domain or ""),
        ("ntp-servers", ", ".join(spec.ntp_servers)),
    )
    named: list[Json] = [{"name": name, "data": data} for name, data in told if data]
    own = (
        {"code": item.code, "csv-format": False, "data": item.data, "always-send": item.always}
        for item in spec.options
    )
    return [*named, *own]


def _reservation(spec: ReservationSpec) -> Json:
    value = bytes.fromhex(spec.value).hex(":") if spec.by == "hw-address" else spec.value
    named = {} if spec.hostname is None else {"hostname": spec.hostname}
    return {spec.by: value, "ip-address": spec.address, **named}

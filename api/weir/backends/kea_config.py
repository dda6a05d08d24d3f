# SPDX-License-Identifier: Apache-2.0
"""The configuration of kea-dhcp4 for some servers and their reservations (Kea's manual, "The DHCPv4 Server"),
and what that of kea-dhcp6 has in common with it.

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
from typing import Any, cast

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
DROP = "DROP"
"""The class of packets that Kea does not look at. It may be a reservation's own where no shared network lets
Kea go on to another subnet (`Dhcpv4Exchange` of src/bin/dhcp4/dhcp4_srv.cc, since 1.9.8)."""
_LAST_ID = 2**32 - 2
_NOT_OF_NAMES = "[^A-Za-z0-9._-]"


def subnet_id(network: str) -> int:
    """That of one of IPv6 is 32 bits of its digest, as Kea takes no longer one."""
    if ":" in network:
        return int.from_bytes(hashlib.sha256(network.encode()).digest()[:4]) % _LAST_ID + 1
    return int(IPv4Network(network).network_address)


def servers_of(wanted: Mapping[str, Spec]) -> list[ServerSpec]:
    return [spec for spec in wanted.values() if isinstance(spec, ServerSpec)]


def config_text(wanted: Mapping[str, Spec], links: Mapping[str, int], socket: Path, leases: Path) -> str:
    """Of the servers whose interfaces are there; `links` are the indexes of interfaces by name. An interface
    that is made again has another text."""
    servers = [spec for spec in servers_of(wanted) if spec.ifname in links]
    relayed = [spec for spec in servers if spec.relays]
    reserved: dict[str, list[Json]] = {}
    for spec in wanted.values():
        if isinstance(spec, ReservationSpec):
            reserved.setdefault(spec.server, []).append(_reservation(spec))
    return tagged(
        "Dhcp4",
        {
            "interfaces-config": {
                "interfaces": list(dict.fromkeys(map(_asked_at, servers))),
                **({"dhcp-socket-type": "udp"} if relayed else {}),
                **awaiting({spec.ifname: links[spec.ifname] for spec in servers}),
            },
            **kept("kea-dhcp4", socket, leases),
            "host-reservation-identifiers": ["hw-address", "client-id", "circuit-id"],
            "authoritative": True,
            "match-client-id": False,
            **_classes(relayed),
            "subnet4": [_subnet(spec, reserved.get(spec.id, ())) for spec in servers],
        },
    )


def awaiting(links: Mapping[str, int]) -> Json:
    """How Kea listens on interfaces that come and go. Their indexes are said for the digest alone."""
    return {
        "re-detect": True,
        "service-sockets-max-retries": _RETRIES,
        "service-sockets-retry-wait-time": RETRY_MS,
        "user-context": {"indexes": links},
    }


def kept(logger: str, socket: Path, leases: Path) -> Json:
    """What servers of both families say alike."""
    return {
        "control-socket": {"socket-type": "unix", "socket-name": str(socket)},
        "lease-database": {"type": "memfile", "persist": True, "name": str(leases), "lfc-interval": _LFC_S},
        "expired-leases-processing": {"hold-reclaimed-time": _REMEMBER_S},
        "reservations-global": False,
        "reservations-in-subnet": True,
        "calculate-tee-times": True,
        "decline-probation-period": _PROBATION_S,
        "hostname-char-set": _NOT_OF_NAMES,
        "hostname-char-replacement": "",
        "ddns-send-updates": False,
        "loggers": [
            {
                "name": logger,
                "severity": "WARN",
                "output_options": [{"output": "stdout", "pattern": "%-5p %m\n"}],
            }
        ],
    }


def tagged(root: str, settings: Json) -> str:
    """A configuration with its digest, which is what Kea calls `server-tag` and tells."""
    tag = hashlib.sha256(json.dumps(settings).encode()).hexdigest()
    return json.dumps({root: {**settings, "server-tag": tag}}, indent=1)


def tag_of(text: str) -> str:
    """The digest in a configuration."""
    return str(_settings(json.loads(text))["server-tag"])


def links_of(text: str) -> frozenset[str]:
    """The interfaces in a configuration."""
    named = _settings(json.loads(text))["interfaces-config"]["interfaces"]
    return frozenset(name.partition("/")[0] for name in named)


def without_subnets_on(text: str, links: Collection[str]) -> str:
    """A configuration with which Kea looks at all interfaces again, but serves nobody on these."""
    content = json.loads(text)
    settings = _settings(content)
    del settings["server-tag"]
    for name in settings.keys() & {"subnet4", "subnet6"}:
        settings[name] = [subnet for subnet in settings[name] if subnet.get("interface") not in links]
    if "shared-networks" in settings:
        networks = settings["shared-networks"]
        settings["shared-networks"] = [one for one in networks if one.get("interface") not in links]
    return json.dumps(content)


def _settings(content: Json) -> Json:
    """What is below `Dhcp4` or `Dhcp6`."""
    (found,) = content.values()
    return cast(Json, found)


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
    blocks = {"client-classes": [DROP]} if spec.block else {}
    return {spec.by: value, "ip-address": spec.address, **named, **blocks}

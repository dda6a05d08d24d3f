# SPDX-License-Identifier: Apache-2.0
"""Names and time: /ip dns and /system ntp client."""

from __future__ import annotations

import re

from weir.formats.identity import slug
from weir.formats.routeros.menus.convert import (
    COMMON,
    flag,
    host,
    hosts,
    names_of_hosts,
    seconds,
    text,
    whole,
)
from weir.formats.routeros.menus.router import Json, Router
from weir.formats.routeros.menus.table import ANY, Menu, Property, Row
from weir.kinds.dns_upstream import MAX_UPSTREAMS
from weir.model.problem import Invalid

_KIB = re.compile(r"([0-9]{1,9})(?:KiB|k)?")
_LEAST_CACHE_MIB, _MOST_CACHE_MIB = 4, 4096


def _cache(value: str, _row: Row) -> int:
    match = _KIB.fullmatch(value)
    if match is None:
        raise ValueError("expected a size such as 2048KiB")
    return min(max(int(match.group(1)) // 1024, _LEAST_CACHE_MIB), _MOST_CACHE_MIB)


def _dns(router: Router, row: Row) -> None:
    body = row.some("enabled", "cache_mib")
    if "servers" in row.values:
        servers = row.values["servers"]
        body["servers"] = [{"address": item} for item in servers[:MAX_UPSTREAMS]]
        if len(servers) > MAX_UPSTREAMS:
            row.warn("too-many-servers", f"{MAX_UPSTREAMS} servers are asked at most.")
    if row.get("doh"):
        row.warn("no-doh", "Weir does not ask by HTTPS: questions go to the other servers, unencrypted.")
    router.want_single("dns", row.line, body)


DNS = Menu(
    "/ip dns",
    "the name service; it answers LANs, and never a WAN",
    _dns,
    {
        "servers": Property("servers", hosts),
        "allow-remote-requests": Property("enabled", flag),
        "cache-size": Property("cache_mib", _cache),
        "use-doh-server": Property("doh", text),
    },
    {
        "verify-doh-cert": ANY,
        "cache-max-ttl": ANY,
        "max-udp-packet-size": ANY,
        "query-server-timeout": ANY,
        "query-total-timeout": ANY,
        "max-concurrent-queries": ANY,
        "max-concurrent-tcp-sessions": ANY,
        "doh-max-concurrent-queries": ANY,
        "doh-max-server-connections": ANY,
        "doh-timeout": ANY,
        "address-list-extra-time": ANY,
        "mdns-repeat-ifaces": ("",),
        "vrf": ("main",),
    },
    ("set",),
)

_VALUE = {"A": "address", "AAAA": "address", "CNAME": "cname", "TXT": "text", "NS": "ns"}


def _record(router: Router, row: Row) -> None:
    name = row.need("name", "name that Weir could match (a regexp is none)")
    record_type = row.get("type") or _guessed_type(row)
    if record_type == "FWD":
        _forward(router, row, name)
        return
    body: Json = {"name": name, "type": record_type, "ttl_s": row.get("ttl_s", 86_400)}
    body.update(row.some("comment", "disabled", "subdomains"))
    if record_type == "MX":
        body["value"] = f"{row.get('mx_preference', 0)} {row.need('mx', 'mx-exchange')}"
    elif record_type in _VALUE:
        body["value"] = str(row.need(_VALUE[record_type], _VALUE[record_type]))
    else:
        raise ValueError(f"Weir has no records of the type {record_type}.")
    if record_type not in ("A", "AAAA", "CNAME", "TXT"):
        body.pop("subdomains", None)
    words = f"{name} {record_type} {body['value']}".replace(":", ".")
    object_id = slug(words, "record")[:48]
    if ("dns-record", object_id) in router.wanted:
        object_id = router.name_of_content("dns-record", body)
    router.want("dns-record", object_id, row.line, body)


def _guessed_type(row: Row) -> str:
    if "cname" in row.values:
        return "CNAME"
    if "forward" in row.values:
        return "FWD"
    return "AAAA" if ":" in row.get("address", "") else "A"


def _forward(router: Router, row: Row, name: str) -> None:
    try:
        server = host(row.need("forward", "forward-to"), row)
    except Invalid:
        raise ValueError("It forwards to a name, and Weir asks addresses.") from None
    if not row.get("subdomains"):
        row.changed("subdomains", "Names below it are asked there, too.")
    body = {"domain": name, "servers": [{"address": server}], **row.some("comment", "disabled")}
    object_id = router.id_of("dns-forward", name, slug(name, "forward"))
    before = router.wanted.get(("dns-forward", object_id))
    if before is not None and not before.body.get("disabled") and before.body["servers"] != body["servers"]:
        raise ValueError(f"An earlier command sends names below {name} to other servers.")
    router.want_in_force("dns-forward", object_id, row.line, body)


STATIC = Menu(
    "/ip dns static",
    "a DNS record; FWD: a DNS forward",
    _record,
    {
        **COMMON,
        "name": Property("name", lambda value, _row: value.lower().rstrip(".")),
        "type": Property("type", lambda value, _row: value.upper()),
        "address": Property("address", host),
        "cname": Property("cname", text),
        "text": Property("text", text),
        "ns": Property("ns", text),
        "mx-exchange": Property("mx", text),
        "mx-preference": Property("mx_preference", whole),
        "forward-to": Property("forward", text),
        "ttl": Property("ttl_s", seconds),
        "match-subdomain": Property("subdomains", flag),
    },
)


# -- time --------------------------------------------------------------------------------------------------


def _ntp(router: Router, row: Row) -> None:
    named = [item for field in ("primary", "secondary", "servers") for item in row.get(field, ())]
    wanted = router.want_single("ntp", row.line, row.some("enabled"))
    for name in dict.fromkeys(named):
        _add_server(wanted.body, name)


def _add_server(body: Json, name: str) -> None:
    """The servers of the file take the place of those that the router has."""
    servers = body.setdefault("_named", [])
    if name not in [item["address"] for item in servers]:
        servers.append({"address": name, "type": "pool" if "pool" in name else "server"})


def _ntp_server(router: Router, row: Row) -> None:
    if row.get("disabled"):
        row.leave_out("disabled", "It is disabled, and Weir keeps no disabled time servers.")
        return
    wanted = router.want_single("ntp", row.line, {})
    for name in row.need("address", "address"):
        _add_server(wanted.body, name)


def finish_ntp(router: Router) -> None:
    wanted = router.wanted.get(("ntp", "ntp"))
    if wanted is not None and (named := wanted.body.pop("_named", None)):
        wanted.body["servers"] = named


NTP = Menu(
    "/system ntp client",
    "the time service's servers",
    _ntp,
    {
        "enabled": Property("enabled", flag),
        "servers": Property("servers", names_of_hosts),
        "primary-ntp": Property("primary", names_of_hosts),
        "secondary-ntp": Property("secondary", names_of_hosts),
        "server-dns-names": Property("servers", names_of_hosts),
    },
    {"mode": ("unicast",), "vrf": ("main",)},
    ("set",),
)
NTP_SERVERS = Menu(
    "/system ntp client servers",
    "a server of the time service",
    _ntp_server,
    {
        "address": Property("address", names_of_hosts),
        "disabled": Property("disabled", flag),
    },
    {"comment": ANY, "iburst": ANY, "min-poll": ANY, "max-poll": ANY, "auth-key": ("none",)},
)

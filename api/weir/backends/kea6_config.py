# SPDX-License-Identifier: Apache-2.0
"""The configuration of kea-dhcp6 for some servers (Kea's manual, "The DHCPv6 Server").

A subnet's number is made of its network, so that a client whose prefix has changed is given another address
and told in the same answer that the old one is over. For that each pool of prefixes is a subnet of its own on
the same link (a "shared network"): Kea prolongs prefixes that are in no pool any more (`extendLease6`), and
none of subnets that are gone. Each has its own lifetimes, too. Which server Kea is for its clients (its DUID)
is in a file beside its leases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from weir.backends.kea_config import DROP, Json, awaiting, kept, subnet_id, tagged
from weir.model.prefix import parse_prefix
from weir.parts.dhcp6 import Pool, Reserved, Server6Spec


def config6_text(servers: Sequence[Server6Spec], links: Mapping[str, int], socket: Path, leases: Path) -> str:
    """Of servers whose networks are known, and whose interfaces are there: `links` are their indexes by
    name."""
    here = [spec for spec in servers if spec.ifname in links]
    subnets = [_subnets(spec) for spec in here]
    alone, shared = (
        [each for each in subnets if (len(each) > 1) == is_shared] for is_shared in (False, True)
    )
    return tagged(
        "Dhcp6",
        {
            "interfaces-config": {
                "interfaces": [spec.ifname for spec in here],
                **awaiting({spec.ifname: links[spec.ifname] for spec in here}),
            },
            **kept("kea-dhcp6", socket, leases),
            "data-directory": str(leases.parent),
            "host-reservation-identifiers": ["duid", "hw-address"],
            **_blocking(here),
            "subnet6": [subnet for subnets in alone for subnet in subnets],
            "shared-networks": [
                {"name": subnets[0]["interface"], "interface": subnets[0]["interface"], "subnet6": subnets}
                for subnets in shared
            ],
        },
    )


def subnet_ids(spec: Server6Spec) -> frozenset[int]:
    """The numbers of what it gives leases of."""
    own = () if spec.network is None else (subnet_id(spec.network),)
    return frozenset((*own, *map(_pool_id, spec.prefix_pools)))


def _pool_id(pool: Pool) -> int:
    """It says its prefixes' length as well: those that were given before would be prolonged."""
    return subnet_id(f"{pool.prefix} {pool.length}")


def _blocking(servers: Sequence[Server6Spec]) -> Json:
    """Who is not answered, and where. Classes of reservations of a subnet come too late in a shared network
    (`Dhcpv6Srv::initContext` of src/bin/dhcp6/dhcp6_srv.cc), so these are looked up before it is chosen."""
    classes: dict[tuple[str, str], list[str]] = {}
    tests: dict[str, str] = {}
    for spec in servers:
        for one in spec.reserved:
            if one.block:
                name = f"blocked by {spec.id}"
                classes.setdefault((one.by, one.value), []).append(name)
                tests[name] = f"(member('{name}') and pkt.iface == '{spec.ifname}')"
    if not tests:
        return {}
    dropped = {"name": DROP, "test": " or ".join(tests.values())}
    return {
        "early-global-reservations-lookup": True,
        "client-classes": [*({"name": name} for name in tests), dropped],
        "reservations": [{by: value, "client-classes": named} for (by, value), named in classes.items()],
    }


def _subnets(spec: Server6Spec) -> list[Json]:
    """That of its network first, as that is what clients of other settings are told of."""
    own = [] if spec.network is None else [_subnet(spec, spec.network)]
    return [*own, *(_subnet_of(spec, pool) for pool in spec.prefix_pools if pool.preferred_s)]


def _subnet(spec: Server6Spec, network: str) -> Json:
    return {
        "id": subnet_id(network),
        "subnet": network,
        **_common(spec, spec.preferred_s, spec.valid_s),
        "pools": [{"pool": pool} for pool in spec.pools()],
        "reservations": [_reservation(spec, one) for one in _reserved_beside_pools(spec)],
    }


def _reserved_beside_pools(spec: Server6Spec) -> Iterator[Reserved]:
    for one in spec.reserved:
        here = one if _pool_of(spec, one) is None else one._replace(prefix=None)
        if here.end is not None or here.prefix is not None:
            yield here


def _subnet_of(spec: Server6Spec, pool: Pool) -> Json:
    network, _, bits = pool.prefix.partition("/")
    return {
        "id": _pool_id(pool),
        "subnet": pool.prefix,
        **_common(spec, pool.preferred_s, pool.valid_s),
        "pd-pools": [{"prefix": network, "prefix-len": int(bits), "delegated-len": pool.length}],
        "reservations": [
            _reservation(spec, one._replace(end=None)) for one in spec.reserved if _pool_of(spec, one) == pool
        ],
    }


def _common(spec: Server6Spec, preferred_s: int, valid_s: int) -> Json:
    told = (("dns-servers", ", ".join(spec.dns_servers)), ("domain-search", spec.domain or ""))
    return {
        "interface": spec.ifname,
        "preferred-lifetime": preferred_s,
        "valid-lifetime": valid_s,
        "option-data": [{"name": name, "data": data} for name, data in told if data],
    }


def _pool_of(spec: Server6Spec, one: Reserved) -> Pool | None:
    """That of a reserved prefix, which Kea gives nobody else if it is reserved in the same subnet."""
    if one.prefix is None:
        return None
    prefix = parse_prefix(one.prefix)
    return next((pool for pool in spec.prefix_pools if pool.covers(prefix)), None)


def _reservation(spec: Server6Spec, one: Reserved) -> Json:
    return {
        one.by: one.value,
        **({} if one.end is None else {"ip-addresses": [spec.address_of(one.end)]}),
        **({} if one.prefix is None else {"prefixes": [one.prefix]}),
        **({} if one.hostname is None else {"hostname": one.hostname}),
    }

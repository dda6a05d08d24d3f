# SPDX-License-Identifier: Apache-2.0
"""The configuration of kea-dhcp6 for some servers (Kea's manual, "The DHCPv6 Server").

A subnet's number is made of its network, so that a client whose prefix has changed is given another address
and told in the same answer that the old one is over. Which server Kea is for its clients (its DUID) is in a
file beside its leases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from weir.backends.kea_config import Json, awaiting, kept, subnet_id, tagged
from weir.kinds.dhcp6_pools import PrefixPool
from weir.parts.dhcp6 import Reserved, Server6Spec


def config6_text(servers: Sequence[Server6Spec], links: Mapping[str, int], socket: Path, leases: Path) -> str:
    """Of servers whose networks are known, and whose interfaces are there: `links` are their indexes by
    name."""
    here = [spec for spec in servers if spec.ifname in links]
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
            "subnet6": [_subnet(spec, spec.network) for spec in here if spec.network is not None],
        },
    )


def _subnet(spec: Server6Spec, network: str) -> Json:
    told = (("dns-servers", ", ".join(spec.dns_servers)), ("domain-search", spec.domain or ""))
    return {
        "id": subnet_id(network),
        "subnet": network,
        "interface": spec.ifname,
        "pools": [{"pool": pool} for pool in spec.pools()],
        "pd-pools": [_pool(pool) for pool in spec.prefix_pools],
        "preferred-lifetime": spec.preferred_s,
        "valid-lifetime": spec.valid_s,
        "option-data": [{"name": name, "data": data} for name, data in told if data],
        "reservations": [_reservation(spec, one) for one in spec.reserved],
    }


def _reservation(spec: Server6Spec, one: Reserved) -> Json:
    return {
        one.by: one.value,
        **({} if one.end is None else {"ip-addresses": [spec.address_of(one.end)]}),
        **({} if one.prefix is None else {"prefixes": [one.prefix]}),
        **({} if one.hostname is None else {"hostname": one.hostname}),
    }


def _pool(pool: PrefixPool) -> Json:
    network, _, length = pool.prefix.partition("/")
    return {"prefix": network, "prefix-len": int(length), "delegated-len": pool.length}

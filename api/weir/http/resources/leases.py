# SPDX-License-Identifier: Apache-2.0
"""The leases that this router's DHCP servers gave."""

from __future__ import annotations

from typing import Any

from flask import Response

from weir.http.answers import moment, read_number
from weir.http.context import me, service
from weir.http.endpoint import READ, Resource, answer
from weir.http.schemas import leases
from weir.service.leases import GivenLease

resource = Resource("leases", "Addresses that this router's DHCP servers gave, and who has them.")


@resource.operation("GET", "/leases", scope=READ, query=leases.LeasesQuery, answers=leases.LeasePage)
def list_leases(query: dict[str, Any]) -> Response:
    """List the leases, by address

    Those that have not ended. 503 while the agent does not answer. The stream of live figures tells of leases
    that come and go (`topics=leases`).
    """
    start, limit = read_number(query["cursor"]) or 0, query["limit"]
    found, total = service().leases.page(me(), query["q"] or "", start, limit)
    after = start + len(found)
    more = str(after) if found and after < total else None
    return answer({"items": [_lease_json(item) for item in found], "next_cursor": more, "total": total})


def _lease_json(lease: GivenLease) -> dict[str, Any]:
    return {
        "address": lease.address,
        "mac": lease.mac,
        "hostname": lease.hostname,
        "client_id": lease.client_id,
        "expires_at": moment(lease.expires_ms),
        "server": lease.server,
        "interface": lease.interface,
        "reservation": lease.reservation,
        "network": lease.network,
        "gateway": lease.gateway,
        "origin": lease.origin,
    }

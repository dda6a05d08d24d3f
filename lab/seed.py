# SPDX-License-Identifier: Apache-2.0
"""What the lab's router is configured with at the start: interfaces, routes, two sites of customers and a few
objects of every other kind."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lab import plan
from lab.netns import LabError

MEGABIT = 1_000_000
Objects = tuple[str, list[dict[str, Any]]]
"""A kind, and objects of it."""


@dataclass(frozen=True, slots=True)
class Api:
    """The REST API with a token; every method raises LabError with the router's own words."""

    url: str
    token: str = field(repr=False)

    def call(
        self, method: str, path: str, body: object = None, *, headers: dict[str, str] | None = None
    ) -> Any:
        """One request below /api/v1; returns the decoded JSON answer (None when it is empty)."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/api/v1{path}", data=data, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", "application/json")
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            words = error.read().decode(errors="replace")[:2000]
            raise LabError(f"{method} {path} was answered {error.code}: {words}") from error
        except OSError as error:
            raise LabError(f"{method} {path}: the API does not answer: {error}") from error
        return json.loads(text) if text else None

    def knows_the_agent(self) -> bool:
        return bool(self.call("GET", "/system")["agent"]["connected"])


@dataclass(frozen=True, slots=True)
class Customer:
    """One leaf queue of the seed and the client it is for."""

    number: int
    name: str
    parent: str
    upload_bps: int
    download_bps: int

    @property
    def routed(self) -> bool:
        """Whether the customer has an address that is routed without NAT: all of the southern tower."""
        return self.parent == SITES[1][0]

    def target(self) -> list[str]:
        routed = [f"{plan.routed_v4(self.number)}/32"] if self.routed else []
        return [f"{plan.client_v4(self.number)}/32", plan.client_v6_prefix(self.number), *routed]


SITES = (("site-north", "North tower", 30, 60), ("site-south", "South tower", 20, 40))
CUSTOMERS = tuple(
    Customer(
        number=number,
        name=f"customer-{number + 1:02d}",
        parent=SITES[number % 2][0],
        upload_bps=(1 + number % 3) * MEGABIT,
        download_bps=(2, 4, 8)[number % 3] * MEGABIT,
    )
    for number in range(24)
)


DESCRIPTIONS = {
    plan.LAN.router_device: "to the lab's clients",
    plan.WAN.router_device: "to the lab's internet",
    plan.NET.router_device: "the provider's own network, without NAT",
}


TIME = {
    "id": "ntp",
    "servers": [{"address": plan.INTERNET_ADDRESSES[0]}],
    "serve_to": [plan.CLIENT_SUBNETS[0]],
}


NAMES = {
    "id": "dns",
    "enabled": True,
    "servers": [{"address": plan.INTERNET_ADDRESSES[0]}],
    "serve_to": list(plan.CLIENT_SUBNETS),
}


def interfaces() -> list[dict[str, Any]]:
    return [
        {
            "id": link.router_device,
            "role": link.role,
            "addresses": [f"{link.router_v4}/{plan.V4_LENGTH}", f"{link.router_v6}/{plan.V6_LENGTH}"],
            "description": DESCRIPTIONS[link.router_device],
        }
        for link in plan.LINKS
    ]


def routes() -> list[dict[str, Any]]:
    clients_v4, clients_v6 = plan.CLIENT_SUBNETS
    return [
        {"id": "default-v4", "destination": "0.0.0.0/0", "gateway": plan.WAN.peer_v4},
        {"id": "default-v6", "destination": "::/0", "gateway": plan.WAN.peer_v6},
        {"id": "clients-v4", "destination": clients_v4, "gateway": plan.LAN.peer_v4},
        {"id": "clients-v6", "destination": clients_v6, "gateway": plan.LAN.peer_v6},
        {"id": "clients-routed", "destination": plan.ROUTED_SUBNET, "gateway": plan.LAN.peer_v4},
        {"id": "servers-routed", "destination": plan.ROUTED_SERVERS, "gateway": plan.NET.peer_v4},
    ]


def queues() -> list[dict[str, Any]]:
    """Two towers with twelve customers each; all addresses of a customer share one budget."""
    sites: list[dict[str, Any]] = [
        {
            "id": site,
            "name": name,
            "max_limit_bps": {"upload": upload * MEGABIT, "download": download * MEGABIT},
            "position": position,
        }
        for position, (site, name, upload, download) in enumerate(SITES)
    ]
    leaves = [
        {
            "id": customer.name,
            "name": customer.name,
            "target": customer.target(),
            "parent": customer.parent,
            "max_limit_bps": {"upload": customer.upload_bps, "download": customer.download_bps},
            "position": customer.number,
        }
        for customer in CUSTOMERS
    ]
    return sites + leaves


def configure(api: Api, *, with_queues: bool = True, examples: Sequence[Objects] = ()) -> None:
    """Bring a fresh router to the lab's configuration, as one revision."""
    services: list[Objects] = [("ntp", [TIME]), ("dns", [NAMES])]
    wanted = [("interface", interfaces()), ("static-route", routes()), *services, *examples]
    if with_queues:
        wanted.append(("queue", queues()))
    changes = [{"kind": kind, "id": item["id"], "new": item} for kind, items in wanted for item in items]
    api.call("PUT", "/candidate/changes", {"changes": changes})
    api.call("POST", "/candidate/commit", {"message": "the lab's interfaces, routes and customers"})

# SPDX-License-Identifier: Apache-2.0
"""The prefixes that providers gave, beside what is configured: of each the networks inside take their parts.

What is held is in a file of `/run`, so that an agent that starts again goes on with it: nothing is touched
then. Which network has which part lasts over a start of the machine.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from ipaddress import IPv6Network
from pathlib import Path
from typing import Any

from weir.adapters import files
from weir.agent.dhcp6_client import Delegation
from weir.agent.lease_client import since_boot_s
from weir.agent.subnets import assigned, prefixes_of
from weir.kinds.dhcp6_pools import DelegatedPool
from weir.model.delegation import LAN_BITS, room
from weir.parts.announcing import MAX_PREFERRED_S, MAX_VALID_S, AnnounceSpec, PrefixSpec
from weir.parts.dhcp6 import Origin, Pool, Server6Spec
from weir.parts.network import NetworkSpec
from weir.parts.routes import RouteSpec

log = logging.getLogger(__name__)

DISTANCE = 254
"""Of what rejects the rest of a prefix: a static route wins."""
STEPS = 8
"""In so many steps what is announced gets shorter with what is left."""

Network = Mapping[str, NetworkSpec]
Numbers = dict[str, dict[str, int]]
"""By uplink and interface, the number of its part."""


class Delegations:
    """Thread-safe."""

    def __init__(self, path: Path | None, memory: Path | None = None) -> None:
        """`memory` outlasts a start of the machine. None: it is not kept."""
        self._path = path
        self._memory = memory
        self._lock = threading.Lock()
        self._held: dict[str, Delegation | None] = _delegations(_read(path), since_boot_s())
        self._failures: dict[str, str] = {}
        self._numbers: Numbers = _numbers(_read(memory))
        self._network: Network = {}
        self._announced: object = None

    # -- what is held ----------------------------------------------------------------------------------------

    def held(self) -> dict[str, Delegation]:
        """By interface."""
        with self._lock:
            return {name: one for name, one in self._held.items() if one is not None}

    def known(self) -> Collection[str]:
        """The interfaces of which is known whether they have a prefix."""
        with self._lock:
            return set(self._held)

    def note(self, name: str, held: Delegation | None, failure: str) -> bool:
        """True when that changes anything."""
        with self._lock:
            self._failures[name] = failure
            changed = name not in self._held or self._held[name] != held
            self._held[name] = held
            self._save()
        return changed

    def forget(self, name: str) -> bool:
        """It asks for nothing any more."""
        with self._lock:
            self._failures.pop(name, None)
            changed = self._held.pop(name, None) is not None
            self._save()
        return changed

    def remember(self, network: Network) -> None:
        """Each network keeps the part that it has, over a start of the machine as well."""
        with self._lock:
            self._network = network
            numbers = {**self._numbers, **{name: self._given(name, network) for name in _uplinks(network)}}
            merged = {name: {**self._numbers.get(name, {}), **found} for name, found in numbers.items()}
            if merged != self._numbers:
                self._numbers = merged
                _write(self._memory, merged)

    def has_aged(self) -> bool:
        """Whether hosts are to be told of a shorter time by now."""
        with self._lock:
            left = {name: _steps(one) for name, one in self._held.items() if one is not None}
            is_older = self._announced is not None and left != self._announced
            self._announced = left
        return is_older

    # -- what follows from it --------------------------------------------------------------------------------

    def on(self, network: Network) -> Network:
        """The interfaces with the addresses that come of what is held."""
        specs, held = dict(network), self.held()
        for name, spec in network.items():
            one = held.get(name)
            added = [f"{one.address}/128"] if spec.dhcpv6 and one is not None and one.address else []
            part = self.part(name, network)
            added += [f"{part[1]}/{LAN_BITS}"] if part is not None else []
            new = [text for text in added if text not in spec.addresses]
            if new:
                specs[name] = replace(spec, addresses=(*spec.addresses, *new))
        return specs

    def routes(self, network: Network, routes: Mapping[str, RouteSpec]) -> Mapping[str, RouteSpec]:
        """With one for each prefix that rejects what no network inside has: it would go back to the provider,
        and come again (RFC 7084, WPD-5)."""
        given = {name: one for name, one in self.held().items() if name in network and network[name].dhcpv6}
        if not given:
            return routes
        found = dict(routes)
        for name, one in given.items():
            key = f"dhcpv6/{name}/{one.prefix}"
            found[key] = RouteSpec(key, one.prefix, None, None, False, DISTANCE, reject=True)
        return found

    def announced(self, specs: Mapping[str, AnnounceSpec], network: Network) -> Mapping[str, AnnounceSpec]:
        """With the parts that hosts may use, for no longer than they are the router's."""
        found, held, known = dict(specs), self.held(), self.known()
        for name, spec in specs.items():
            taken = network[name].delegated if name in network else None
            if taken is None or spec.most_s is None:
                continue
            one, part = held.get(taken.uplink), self.part(name, network)
            if one is not None and part is not None:
                most_preferred_s, most_valid_s = spec.most_s
                preferred_s, valid_s = _left(one)
                prefix = PrefixSpec(
                    part[0], True, min(preferred_s, most_preferred_s), min(valid_s, most_valid_s)
                )
                found[name] = replace(spec, prefixes=(*spec.prefixes, prefix))
            elif taken.uplink not in known:
                found[name] = replace(spec, is_awaited=True)
            elif not spec.prefixes:  # hosts would take a way out that they cannot use (RFC 7084, G-4)
                found[name] = replace(spec, router_lifetime_s=0)
        return found

    def served(self, specs: Mapping[str, Server6Spec], network: Network) -> Mapping[str, Server6Spec]:
        """With the networks of which DHCPv6 servers give addresses, for no longer than they are the
        router's. What a provider may take back is given for a short time (RFC 9096, 3.4)."""
        found = dict(specs)
        for name, spec in specs.items():
            taken = network[spec.ifname].delegated if spec.ifname in network else None
            if spec.delegated_pools:
                found[name] = self._with_pools(spec, network)
            if taken is not None:
                found[name] = self._with_its_part(found[name], taken.uplink, network)
        return found

    def _with_pools(self, spec: Server6Spec, network: Network) -> Server6Spec:
        """With what routers behind it are given prefixes of: of a deprecated one for no time."""
        pools, failures = list(spec.prefix_pools), []
        for pool in spec.delegated_pools:
            one = self.held().get(pool.uplink)
            preferred_s, valid_s = (0, 0) if one is None else _left(one)
            found = [] if one is None or not valid_s else self._prefixes(pool, one, network)
            if one is None or not found:
                why = _why_none(pool.uplink, one, pool.uplink in self.known())
                failures.append((pool.length, why))
            else:
                lasts = (
                    min(preferred_s, spec.preferred_s, MAX_PREFERRED_S),
                    min(valid_s, spec.valid_s, MAX_VALID_S),
                )
                origin = Origin(pool.uplink, one.prefix)
                pools += [Pool(prefix, pool.length, *lasts, origin) for prefix in found]
        return replace(spec, prefix_pools=tuple(pools), pool_failures=tuple(failures))

    def _prefixes(self, pool: DelegatedPool, one: Delegation, network: Network) -> list[str]:
        with self._lock:
            taken = self._given(pool.uplink, network, one.bits).values()
        return list(prefixes_of(one.prefix, pool, taken))

    def _with_its_part(self, spec: Server6Spec, uplink: str, network: Network) -> Server6Spec:
        """Of a prefix that is deprecated nothing is given, and what was given stays known."""
        one, part = self.held().get(uplink), self.part(spec.ifname, network)
        if one is None or part is None:
            return replace(spec, failure=_why_none(uplink, one, uplink in self.known()))
        preferred_s, valid_s = _left(one)
        if not valid_s:
            return replace(spec, failure=f"{_given(uplink, one)} ends in a moment")
        return replace(
            spec,
            network=part[0],
            preferred_s=min(preferred_s, spec.preferred_s, MAX_PREFERRED_S),
            valid_s=min(valid_s, spec.valid_s, MAX_VALID_S),
            origin=Origin(uplink, one.prefix),
            failure="" if preferred_s else f"{_given(uplink, one)} is deprecated",
        )

    def part(self, name: str, network: Network) -> tuple[str, str] | None:
        """An interface's network and its own address there; None while it has none."""
        taken = network[name].delegated if name in network else None
        one = self.held().get(taken.uplink) if taken is not None else None
        if taken is None or one is None:
            return None
        with self._lock:
            number = self._given(taken.uplink, network, one.bits).get(name)
        if number is None:
            return None
        first = int(IPv6Network(one.prefix).network_address) + (number << 128 - LAN_BITS)
        part = IPv6Network((first, LAN_BITS))
        return str(part), str(part.network_address + 1)

    def _given(self, uplink: str, network: Network, bits: int | None = None) -> dict[str, int]:
        """Which parts of an uplink's prefix its networks have."""
        one = self._held.get(uplink)
        bits = one.bits if bits is None and one is not None else bits
        asked = {
            name: spec.delegated.subnet_id
            for name, spec in network.items()
            if spec.delegated is not None and spec.delegated.uplink == uplink
        }
        if bits is None:
            return {}
        spans = [pool.span(bits) for pool in network[uplink].pools] if uplink in network else []
        kept = [span for span in spans if span is not None]
        return assigned(asked, room(bits), self._numbers.get(uplink, {}), kept)

    # -- what people are told --------------------------------------------------------------------------------

    def learn(self, ids: Collection[str] | None) -> dict[str, dict[str, Any]]:
        """The state of interfaces that ask, and of those that take a part."""
        with self._lock:
            network, failures = self._network, dict(self._failures)
        held, known, found = self.held(), self.known(), {}
        for name, spec in network.items():
            if ids is not None and name not in ids:
                continue
            if spec.dhcpv6 is not None:
                found[name] = _asking(held.get(name), failures.get(name, ""))
            if spec.delegated is not None:
                uplink, part = spec.delegated.uplink, self.part(name, network)
                found.setdefault(name, {}).update(_taking(uplink, held.get(uplink), part, uplink in known))
        return found

    def _save(self) -> None:
        _write(self._path, {name: one and asdict(one) for name, one in self._held.items()})


def _uplinks(network: Network) -> set[str]:
    return {spec.delegated.uplink for spec in network.values() if spec.delegated is not None}


def _steps(one: Delegation) -> tuple[object, ...]:
    return one.prefix, _left(one)


def _left(one: Delegation) -> tuple[int, int]:
    """For how many seconds at least it is preferred and valid, in steps: what is announced is no file that
    changes with each second."""
    now = since_boot_s()
    return tuple(  # type: ignore[return-value]
        _in_steps(until - now, until - one.asked_at) for until in (one.preferred_until, one.valid_until)
    )


def _in_steps(left_s: float, whole_s: float) -> int:
    step_s = max(round(whole_s) / STEPS, 1.0)
    return int(max(left_s, 0.0) // step_s * step_s)


def _asking(one: Delegation | None, failure: str) -> dict[str, Any]:
    now = since_boot_s()
    return {
        "delegated_prefix": one.prefix if one else None,
        "dhcpv6_address": one.address or None if one else None,
        "dhcpv6_preferred_s": max(round(one.preferred_until - now), 0) if one else None,
        "dhcpv6_valid_s": max(round(one.valid_until - now), 0) if one else None,
        "dhcpv6_failure": failure or None,
    }


def _taking(
    uplink: str, one: Delegation | None, part: tuple[str, str] | None, is_known: bool
) -> dict[str, Any]:
    if one is None or part is None:
        why = _why_none(uplink, one, is_known)
        return {"delegated_network": None, "delegated_subnet": None, "delegated_failure": why}
    first = IPv6Network(one.prefix).network_address
    number = int(IPv6Network(part[0]).network_address) - int(first) >> 128 - LAN_BITS
    return {"delegated_network": part[0], "delegated_subnet": number, "delegated_failure": None}


def _why_none(uplink: str, one: Delegation | None, is_known: bool) -> str:
    """Why somebody has no part of an uplink's prefix."""
    if not is_known:
        return f"whether {uplink} gets a prefix is not known yet"
    return f"{uplink} has no prefix" if one is None else f"{_given(uplink, one)} has no room for it"


def _given(uplink: str, one: Delegation) -> str:
    return f"{one.prefix}, which {uplink} was given,"


# -- files -------------------------------------------------------------------------------------------------


def _read(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        log.warning("%s is not readable, so prefixes are asked for again: %s", path, error)
        return {}


def _delegations(found: Mapping[str, Any], now: float) -> dict[str, Delegation | None]:
    """Without those that ended meanwhile, of which nothing is known."""
    held: dict[str, Delegation | None] = {}
    for name, row in found.items():
        try:
            one = None if row is None else Delegation(**row)
            if one is None or (one.bits <= LAN_BITS and one.valid_until > now):
                held[name] = one
        except (TypeError, ValueError) as error:
            log.warning("what was given on %s is not readable, and asked for again: %s", name, error)
    return held


def _numbers(found: Mapping[str, Any]) -> Numbers:
    try:
        return {
            name: {lan: int(number) for lan, number in rows.items() if int(number) >= 0}
            for name, rows in found.items()
        }
    except (TypeError, ValueError, AttributeError) as error:
        log.warning("which network has which part is not readable: %s", error)
        return {}


def _write(path: Path | None, content: object) -> None:
    if path is None:
        return
    try:
        files.replace(path, json.dumps(content, sort_keys=True).encode())
    except OSError as error:
        log.warning("%s cannot be written: %s", path, error.strerror)

# SPDX-License-Identifier: Apache-2.0
"""What the next start does before this process is there: docs/adr/0099.

A file of root's own holds the firewall and the addresses of the configuration that is committed and
confirmed, for board/overlay/usr/libexec/weir/early, which carries it out. It may be missing at any time: then
a start waits for this process.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from weir.adapters import files, nft
from weir.adapters.netlink import OUR_GROUP, Links
from weir.agent.configuration import Configuration
from weir.backends.firewall import FirewallWanted, table_of
from weir.backends.vlans import lower_first
from weir.model.problem import Problem
from weir.parts.firewall import FIREWALL
from weir.parts.network import NETWORK, NetworkSpec
from weir.parts.rule import PacketRule

log = logging.getLogger(__name__)

FORMAT = "weir-early 1"
"""The first words of the file, before the digest of the rest. Another format gets another number: the system
of the other slot may find the file."""
MAX_BYTES = 1 << 20
DONE = "early"
"""In the agent's state folder: what was carried out at this start."""


class EarlyStart:
    """Keeps the file equal to what is committed and confirmed. Not thread-safe: the reconciler's."""

    def __init__(self, path: Path) -> None:
        """The folder has to be there, and root's own."""
        self._path = path
        self._revision = -1

    def follow(self, configuration: Configuration) -> None:
        """Called now and then. A revision that waits to be settled or confirmed changes nothing."""
        with configuration.lock:
            if (
                not configuration.loaded
                or configuration.following.is_held
                or configuration.revision == self._revision
            ):
                return
            if (  # a change is committed together with its being pending: in this order both are seen
                configuration.following.store.head() != configuration.revision
                or configuration.pending() is not None
            ):
                return
            revision, compiled = configuration.revision, configuration.compiled
            rules, network = compiled.of(FIREWALL), compiled.of(NETWORK)
            content = None if any(map(_needs_the_agent, rules)) else content_of(rules, network)
        if content is None:
            self._forget()
        else:
            self._keep(content)
        self._revision = revision

    def _keep(self, content: bytes) -> None:
        """A file that cannot be replaced is removed: no start may have what is not configured any more."""
        try:
            if self._held() != content:
                if len(content) > MAX_BYTES:
                    raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
                files.replace(self._path, content, durable=True)
        except OSError as error:
            log.warning("%s is not kept, so the next start takes longer: %s", self._path, error.strerror)
            self._forget()

    def _forget(self) -> None:
        for path in (self._path, files.draft_of(self._path)):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                log.warning("%s is out of date and cannot be removed: %s", path, error.strerror)

    def _held(self) -> bytes | None:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return None


def _needs_the_agent(rule: PacketRule) -> bool:
    """Sets are filled by the agent, and it knows which hours it is: such a firewall is not there before it,
    and neither are addresses."""
    return bool(rule.lookups or rule.bounds) or rule.verdict == "add-to-set" or rule.time is not None


def content_of(rules: Sequence[PacketRule], network: Mapping[str, NetworkSpec]) -> bytes:
    """Lines: format and digest, the firewall for nft, the ports to wait for, then words for `ip -batch`."""
    table = table_of(FirewallWanted(tuple(rules), ()))
    served: dict[str, NetworkSpec] = {}
    for name, spec in lower_first(network).items():
        if _is_served(spec) and (spec.vlan is None or spec.vlan.parent in served):
            served[name] = spec
    ports = " ".join(name for name, spec in served.items() if not spec.is_made)
    lines = [json.dumps({"nftables": nft.from_nothing(table)}), ports, *_links(served)]
    body = "".join(f"{line}\n" for line in lines).encode()
    return f"{FORMAT} {hashlib.sha256(body).hexdigest()}\n".encode() + body


def take_over(folder: Path, links: Links) -> None:
    """Give the addresses that the start has set our mark, which `ip` cannot give everywhere; once a start."""
    done = folder / DONE
    try:
        lines = done.read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        return
    words = [line.split() for line in lines]
    early = {(line[4], line[2]) for line in words if line[:2] == ["address", "add"]}
    names = {link.index: name for name, link in links.links().items()}
    for address in links.addresses():
        name = names.get(address.ifindex, "")
        if not address.ours and (name, address.text) in early:
            try:
                links.mark_address(name, address.text)
            except Problem as problem:
                log.warning("an address of the start is taken for somebody else's: %s", problem.message)
    done.unlink()


def _is_served(spec: NetworkSpec) -> bool:
    """What is in a VRF waits: before it is there, its addresses would be in everybody's table. So do tunnels,
    which pass nothing before the agent has opened their keys, bridges, which have ports only with their
    VLANs, loopbacks, PPPoE sessions, and bonds with their members, which have to be down until they join."""
    return spec.up and spec.vrf is None and not (spec.vrf_table or spec.device or spec.bond or spec.dialled)


def _links(served: Mapping[str, NetworkSpec]) -> Iterator[str]:
    """No MTU: the agent has to see what it was before."""
    for name, spec in served.items():
        if spec.vlan is not None:
            vlan = f"type vlan protocol {spec.vlan.protocol} id {spec.vlan.id}"
            yield f"link add link {spec.vlan.parent} name {name} group {OUR_GROUP} {vlan}"
        yield f"link set dev {name} up"
        yield from (f"address add {text} dev {name}" for text in spec.addresses)

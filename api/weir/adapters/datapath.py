# SPDX-License-Identifier: Apache-2.0
"""The datapath's tables and ports, over libweir.

One `Datapath` at a time writes (the agent). Reading and writing of classes and prefixes are stores to
and loads from mapped kernel memory: what `read_*` returns is what the programs use. Closing leaves the
pinned programs, maps and links in place, so shaping goes on without any process.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType

from weir.adapters.datapath_lib import (
    BoundedSpec,
    GuardSpec,
    Options,
    PortSpec,
    find_library,
    load_library,
    problem_of,
)
from weir.adapters.datapath_records import (
    ANY_SIZE,
    MAX_SLOT,
    MODES,
    NO_ABOVE,
    NO_TAG,
    USED_MARKS,
    Above,
    BoundedSource,
    Mode,
    Port,
    PortCounters,
    Role,
    SourceBound,
    SourceKey,
    Tag,
)
from weir.adapters.datapath_tables import Tables
from weir.model.limits import MAX_BOUNDED_SOURCES

REASONS = ("no-class", "not-ip", "short", "bad-header", "deep-tags", "stale-class", "unreadable")
CHECKS = ("impossible-source", "wrong-way", "refused", "unknown-rx", "unknown-tx")
UP_REASONS = ("unusual", "route", "port", "no-flow", "waits", "order")
HOOKS = ("none", "tcx", "clsact")
XDP_MODES = ("none", "native")

DEFAULT_CAPACITY = 131072
MAX_CAPACITY = MAX_SLOT + 1
MAX_PORTS = 1024
ROUTED = Role.CLASSIFY | Role.SHAPE
ASKED_ROLES = sum(Role)
"""libweir adds one of its own where uploads have sub-queues (`WEIR_ROLE_HOSTS`); no caller has to know."""


class Datapath(Tables):
    """A loaded datapath. Make one with `Datapath.open`."""

    @classmethod
    def open(
        cls,
        pin_dir: Path | None,
        lib: Path | None = None,
        capacity: int = DEFAULT_CAPACITY,
        *,
        prefixes: int = 0,
        v4_units: int = 0,
        domains: int = 1,
        tcx: bool = True,
        flow: bool = True,
        hops: bool = True,
    ) -> Datapath:
        """Load the programs, or take over what is pinned in `pin_dir` (a folder on a bpffs; see
        `mount_bpffs`). None pins nothing: all goes when the handle is closed.

        `capacity` counts classes, `prefixes` per family (0: as many as classes), `v4_units` 64-byte pieces
        of the IPv4 tree (0: two per prefix, enough for any); all are fixed when the maps are made. Raises
        `Unavailable` (not built, not root), `Invalid` (not a bpffs), `Unsupported` (pinned maps of another
        version: `destroy` them first) or `ApplyFailed` (the kernel refused a program).
        """
        library = load_library(lib or find_library())
        options = Options(
            slots=capacity,
            prefixes=prefixes,
            v4_units=v4_units,
            domains=domains,
            no_tcx=not tcx,
            no_flow=not flow,
            no_hops=not hops,
        )
        handle, reused = ctypes.c_void_p(), ctypes.c_int()
        where = None if pin_dir is None else os.fsencode(pin_dir)
        result = library.weir_open(where, ctypes.byref(options), ctypes.byref(handle), ctypes.byref(reused))
        if result < 0:
            raise problem_of(library, result)
        return cls(library, handle, ("new", "reused", "upgraded")[reused.value])

    def destroy(self) -> None:
        """Detach from every port and remove every pin, then close."""
        try:
            self._call("weir_destroy")
        finally:
            self.close()

    def __enter__(self) -> Datapath:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- ports ---------------------------------------------------------------------------------------

    def attach(
        self,
        ifname: str,
        roles: Role = ROUTED,
        mode: Mode = "edt",
        overhead_bytes: int = 0,
        slot_for_interface_target: int = 0,
        domain: int = 0,
        tag: Tag = NO_TAG,
        above: Above = NO_ABOVE,
        largest_bytes: int = ANY_SIZE,
    ) -> None:
        """Attach to an interface of the calling thread's network namespace, or change how (no packet is
        missed). Packets of more than `largest_bytes` that leave by it are not the fast path's. Raises
        `NotFound` for an unknown interface, `ApplyFailed` when the kernel refuses."""
        spec = PortSpec(
            name=os.fsencode(ifname),
            mode=MODES.index(mode),
            roles=int(roles),
            target_slot=slot_for_interface_target,
            domain=domain,
            overhead_bytes=overhead_bytes,
            lower=tag.lower,
            tag=tag.vid,
            tag_protocol=tag.protocol,
            above=above.ifindex,
            above_slot=above.slot,
            largest=largest_bytes,
        )
        self._call("weir_attach", ctypes.byref(spec))

    def detach(self, ifname: str) -> None:
        """Remove links and the port's record, also of an interface that is gone. Raises `NotFound`."""
        self._call("weir_detach", os.fsencode(ifname))

    def attached(self) -> dict[str, Port]:
        """The ports by interface name, from the kernel's records and links."""
        return {_text(spec): _port(spec) for spec in self._ports()}

    def guard(self) -> tuple[str, str]:
        """Compare programs at their hooks, port records and pins with what this handle made, and mend them:
        (what was mended, what could not be), in words. May be called beside any other method."""
        library, handle = self.native()
        spec = GuardSpec()
        result = library.weir_guard(handle, ctypes.byref(spec))
        fault = problem_of(library, result).message if result < 0 else ""
        return bytes(spec.words).decode(errors="replace"), fault

    def hold_fast_path(self) -> None:
        """From now on XDP forwards nothing, until `attach` gives ports the role again. Beside any method."""
        library, handle = self.native()
        library.weir_fast_hold(handle)

    def port_counters(self) -> dict[str, PortCounters]:
        """What left shaping ports unshaped, and what the fast path left to the stack, by reason and port."""
        return {
            _text(spec): PortCounters(
                dict(zip(REASONS, spec.packets, strict=False)),
                dict(zip(REASONS, spec.bytes, strict=False)),
                dict(zip(UP_REASONS, spec.up, strict=False)),
                dict(zip(CHECKS, spec.checked_packets, strict=False)),
                dict(zip(CHECKS, spec.checked_bytes, strict=False)),
                spec.refused,
            )
            for spec in self._ports()
        }

    def _ports(self) -> list[PortSpec]:
        found = (PortSpec * MAX_PORTS)()
        count = self._call("weir_ports", found, MAX_PORTS)
        return list(found[:count])

    # -- bounded sources -------------------------------------------------------------------------------

    def bound_sources(self, bounds: Mapping[SourceKey, SourceBound]) -> None:
        """These sources are bounded on every port, and no others; what one has counted goes on. Raises
        `Unavailable` code `datapath-full` above `MAX_BOUNDED_SOURCES`."""
        packed = (BoundedSpec * max(len(bounds), 1))(
            *(
                BoundedSpec((ctypes.c_uint8 * 16)(*key.address), key.bits, 0, bound.cost_ns, bound.burst_ns)
                for key, bound in bounds.items()
            )
        )
        self._call("weir_bounded_write", packed, len(bounds))

    def bounded_sources(self) -> dict[SourceKey, BoundedSource]:
        """Those in the kernel, by prefix."""
        found = (BoundedSpec * MAX_BOUNDED_SOURCES)()
        count = self._call("weir_bounded_read", found, MAX_BOUNDED_SOURCES)
        return {
            SourceKey(bytes(one.address), one.bits): BoundedSource(
                SourceBound(one.cost_ns, one.burst_ns), one.passed, one.dropped
            )
            for one in found[:count]
        }

    # -- routing -------------------------------------------------------------------------------------

    def refuse_sources(self, addresses: Iterable[int] | None) -> None:
        """IPv4 addresses from which the stack takes no packets: of those the fast path asks the kernel. None:
        they are not known and it asks for every source, as it does until the first call."""
        if addresses is None:
            self._call("weir_sources_write", None, 0)
            return
        held = list(addresses)
        self._call("weir_sources_write", (ctypes.c_uint32 * max(len(held), 1))(*held), len(held))

    def look_at_routes(self) -> None:
        """Note of which generation the kernel's routes are, before they are read. Raises `ApplyFailed`."""
        self._call("weir_routes_look")

    def routes_are_plain(self, regions: bytes | None) -> None:
        """What routes of the generation that was noted say. None: the kernel's answer may depend on more than
        the destination and the port that a packet came in by. Else the fast path keeps answers over IPv4 as
        long as routes stay of that generation; `regions` are `plain_routes.NO_REGIONS` or of that kind."""
        self._call("weir_routes_plain", regions)

    def hops_reason(self) -> str:
        """Why the fast path keeps no answers of the kernel's FIB here; "" when it does."""
        library, handle = self.native()
        return bytes(library.weir_hops_reason(handle)).decode(errors="replace")

    def watch_refused(self) -> None:
        """From now on count packets that XDP sends by a port and its device does not take, as long as this
        process runs. Raises `ApplyFailed` or `NotFound` where the kernel does not tell."""
        self._call("weir_refused_watch")

    def take_used(self) -> bytes:
        """One byte for each `used_mark`: whether XDP sent to such a neighbour since the last call. b"": to
        none."""
        marks = ctypes.create_string_buffer(USED_MARKS)
        return marks.raw if self._call("weir_used_take", marks, USED_MARKS) else b""

    def flow_reason(self) -> str:
        """Why no port can have `Role.FLOW` here; "" when they can."""
        library, handle = self.native()
        return bytes(library.weir_flow_reason(handle)).decode(errors="replace")

    # -- for other processes ----------------------------------------------------------------------------

    def map_fd_readonly(self, name: str) -> int:
        """A read-only descriptor of `weir_lines` or `weir_details` for another process, which reads it by
        BPF_MAP_LOOKUP_BATCH (Linux maps a BPF array only from a writable descriptor). The caller closes
        it. Needs a pin folder."""
        return self._call("weir_map_fd", name.encode(), 1)

    def reader_fd(self) -> int:
        """A descriptor of the iterator over all counters, for another process. The caller closes it.
        Raises `ApplyFailed` where the kernel has none."""
        return self._call("weir_reader_fd")

    def map_fd(self, name: str) -> int:
        """A descriptor of a map for reading and writing. The caller closes it."""
        return self._call("weir_map_fd", name.encode(), 0)

    def program_fd(self, name: str) -> int:
        """A descriptor of `weir_ingress` or `weir_egress` (tests run packets through it)."""
        return self._call("weir_program_fd", name.encode())


def _text(spec: PortSpec) -> str:
    return os.fsdecode(bytes(spec.name))


def _port(spec: PortSpec) -> Port:
    return Port(
        ifname=_text(spec),
        ifindex=spec.ifindex,
        mode=MODES[spec.mode],
        roles=Role(spec.roles & ASKED_ROLES),
        hook=HOOKS[spec.hook],
        alive=bool(spec.alive),
        overhead_bytes=spec.overhead_bytes,
        target_slot=spec.target_slot,
        domain=spec.domain,
        xdp=XDP_MODES[spec.xdp],
        mac=":".join(f"{byte:02x}" for byte in spec.mac),
        tag=Tag(spec.lower, spec.tag, spec.tag_protocol),
        above=Above(spec.above, spec.above_slot),
        largest_bytes=spec.largest,
    )

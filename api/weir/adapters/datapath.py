# SPDX-License-Identifier: Apache-2.0
"""The datapath's tables and ports, over libweir.

One `Datapath` at a time writes (the agent). Reading and writing of classes and prefixes are stores to
and loads from mapped kernel memory: what `read_*` returns is what the programs use. Closing leaves the
pinned programs, maps and links in place, so shaping goes on without any process.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal

from weir.adapters.datapath_lib import (
    BoundedSpec,
    GuardSpec,
    LossSpec,
    Options,
    PortSpec,
    RoundTripsBelowSpec,
    RoundTripSpec,
    SubqueuesStateSpec,
    UsageSpec,
    find_library,
    load_library,
    problem_of,
)
from weir.adapters.datapath_packed import PackedClasses, PackedPrefixes
from weir.adapters.datapath_records import (
    ANY_SIZE,
    CLASS,
    FAR,
    MODES,
    NO_ABOVE,
    NO_TAG,
    PREFIX,
    USED_MARKS,
    Above,
    BoundedSource,
    ClassRecord,
    FarEntry,
    Losses,
    Mode,
    Port,
    PortCounters,
    PrefixEntry,
    PrefixKey,
    Role,
    RoundTrips,
    RoundTripsBelow,
    SourceBound,
    SourceKey,
    Tag,
    Usage,
    pack_far,
    pack_prefixes,
    unpack_classes,
    unpack_far,
    unpack_prefixes,
)
from weir.adapters.subqueue_records import SPEC as SUBQUEUES
from weir.adapters.subqueue_records import (
    SubqueuesRecord,
    SubqueuesState,
    unpack_subqueues,
)
from weir.model.limits import MAX_BOUNDED_SOURCES

REASONS = ("no-class", "not-ip", "short", "bad-header", "deep-tags", "stale-class", "unreadable")
CHECKS = ("impossible-source", "wrong-way", "refused", "unknown-rx", "unknown-tx")
UP_REASONS = ("unusual", "route", "port", "no-flow", "waits", "order")
HOOKS = ("none", "tcx", "clsact")
XDP_MODES = ("none", "native", "generic")

DEFAULT_CAPACITY = 131072
MAX_PORTS = 1024
ROUTED = Role.CLASSIFY | Role.SHAPE
ASKED_ROLES = sum(Role)
"""libweir adds one of its own where uploads have sub-queues (`WEIR_ROLE_HOSTS`); no caller has to know."""


class Datapath:
    """A loaded datapath. Make one with `Datapath.open`."""

    def __init__(self, library: ctypes.CDLL, handle: ctypes.c_void_p, reused: str) -> None:
        self._library = library
        self._handle: ctypes.c_void_p | None = handle
        self.reused = reused
        """"new", "reused" (pinned state taken over) or "upgraded" (and its programs replaced)."""

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

    def close(self) -> None:
        """Leave pins and links in place; the handle is of no more use."""
        if self._handle is not None:
            self._library.weir_close(self._handle)
            self._handle = None

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

    # -- classes -------------------------------------------------------------------------------------

    def read_classes(self) -> dict[int, ClassRecord]:
        """Every class in the kernel by slot. Times come back in whole 16 ns (`ClassRecord.quantised`)."""
        size = self.usage().classes[1]
        packed = ctypes.create_string_buffer(CLASS.size * size)
        count = self._call("weir_classes_read", packed, size)
        return unpack_classes(memoryview(packed)[: count * CLASS.size], self._read_subqueues())

    def write_classes(self, classes: Iterable[tuple[int, ClassRecord]]) -> None:
        """Store classes. A slot that already has the same key keeps clock and counters, also under a new
        parent; another key starts afresh. Raises `Invalid` before any class is stored, and `Unavailable`
        code `datapath-full` when there is no room for the sub-queues."""
        self.store_classes(PackedClasses.of(classes))

    def store_classes(self, packed: PackedClasses) -> None:
        """As `write_classes`."""
        self._call("weir_classes_write", _buffer(packed.rows), packed.count)
        if packed.divided or self._call("weir_subqueues_read", None, 0):
            self._call("weir_subqueues_write", _buffer(packed.subqueues), packed.subqueue_count)

    def _read_subqueues(self) -> dict[tuple[int, int], SubqueuesRecord]:
        size = self._call("weir_subqueues_read", None, 0)
        packed = ctypes.create_string_buffer(SUBQUEUES.size * max(size, 1))
        count = self._call("weir_subqueues_read", packed, size)
        return unpack_subqueues(memoryview(packed)[: count * SUBQUEUES.size])

    def subqueues_state(self, slot: int, direction: Literal[0, 1]) -> SubqueuesState:
        """What the sub-queues of one direction (0 upload, 1 download) do. Raises `NotFound` without any."""
        spec = SubqueuesStateSpec()
        self._call("weir_subqueues_state", slot, direction, ctypes.byref(spec))
        return SubqueuesState(spec.rate_bps, spec.active, spec.evicted, spec.shared_packets)

    def round_trips(self, slot: int, direction: Literal[0, 1]) -> RoundTrips:
        """Of TCP packets of one direction (0 upload, 1 download) to where they went and back."""
        spec = RoundTripSpec()
        self._call("weir_round_trips", slot, direction, ctypes.byref(spec))
        return RoundTrips(spec.age_ms, tuple(spec.samples_ns[: spec.count]))

    def losses(self, slot: int, direction: Literal[0, 1]) -> Losses:
        """Of TCP packets of one direction (0 upload, 1 download) before and after this router."""
        spec = LossSpec()
        self._call("weir_losses", slot, direction, ctypes.byref(spec))
        return Losses(
            spec.age_ms,
            spec.seen_bytes,
            spec.before_bytes,
            spec.after_bytes,
            spec.before_packets,
            spec.after_packets,
        )

    def round_trips_below(self, slot: int, direction: Literal[0, 1], age_max_ms: int) -> RoundTripsBelow:
        """Of the classes below one whose newest sample is no older than that."""
        spec = RoundTripsBelowSpec()
        self._call("weir_round_trips_below", slot, direction, age_max_ms, ctypes.byref(spec))
        return RoundTripsBelow(spec.classes, spec.age_ms, spec.least_ns, spec.median_ns)

    def clear_class(self, slot: int) -> None:
        """Free a slot: packets that still find it pass unshaped and are counted as `stale-class`."""
        self._call("weir_class_clear", slot)

    # -- prefixes ------------------------------------------------------------------------------------

    def read_prefixes(self) -> dict[PrefixKey, int]:
        """Every prefix in the kernel -> slot."""
        return dict(self.prefixes())

    def prefixes(self) -> Iterator[tuple[PrefixKey, int]]:
        """As `read_prefixes`, one by one: all are read now, but no 100,000 objects are made at once."""
        usage = self.usage()
        size = usage.prefixes4[0] + usage.prefixes6[0]
        packed = ctypes.create_string_buffer(PREFIX.size * max(size, 1))
        count = self._call("weir_prefixes_read", packed, size)
        return unpack_prefixes(memoryview(packed)[: count * PREFIX.size])

    def change_prefixes(
        self,
        add: Iterable[PrefixEntry | tuple[int, int, int, int, int]] = (),
        remove: Iterable[PrefixKey | tuple[int, int, int, int]] = (),
    ) -> None:
        """Remove, then add or change, as one step: all or nothing, and no packet sees a table in between
        worse than "old for some addresses, new for others".

        `add` holds (domain, family, value, length, slot), `remove` (domain, family, value, length).
        Raises `NotFound` (removing what is not there), `Invalid` (host bits, family, slot) and
        `Unavailable` code `datapath-full`; nothing has changed then.
        """
        self.store_prefixes(PackedPrefixes.of(add, remove))

    def store_prefixes(self, packed: PackedPrefixes) -> None:
        """As `change_prefixes`."""
        removed, added = _buffer(packed.removed), _buffer(packed.added)
        self._call("weir_prefixes_change", removed, packed.removes, added, packed.adds)

    def change_far(self, add: Iterable[FarEntry] = (), remove: Iterable[FarEntry] = ()) -> None:
        """Remove far ends of forks, then set others; those of a fork that no prefix leads to affect nobody.

        Raises `Invalid`, and `Unavailable` code `datapath-full`: some may have been set then.
        """
        removed, removes = pack_far(remove)
        added, adds = pack_far(add)
        self._call("weir_far_change", _buffer(removed), removes, _buffer(added), adds)

    def read_far(self) -> list[FarEntry]:
        """Every far end in the kernel."""
        size = self.usage().prefixes4[1]
        packed = ctypes.create_string_buffer(FAR.size * size)
        count = self._call("weir_far_read", packed, size)
        return unpack_far(memoryview(packed)[: count * FAR.size])

    def lookup(self, domain: int, family: int, address: int) -> int:
        """The slot packets of this address get now, from the tables that the programs read; 0 = none."""
        packed, _ = pack_prefixes([(domain, family, address, 32 if family == 4 else 128, 0)])
        return self._call("weir_lookup", _buffer(packed))

    def rest(self) -> None:
        """Called now and then: prefix tables that were not used since the last time are not mapped until
        they are used next."""
        self._call("weir_rest")

    def flow_reason(self) -> str:
        """Why no port can have `Role.FLOW` here; "" when they can."""
        library, handle = self.native()
        return bytes(library.weir_flow_reason(handle)).decode(errors="replace")

    # -- for other processes ----------------------------------------------------------------------------

    def usage(self) -> Usage:
        spec = UsageSpec()
        self._call("weir_usage", ctypes.byref(spec))
        return Usage(
            classes=(spec.slots_used, spec.slots),
            prefixes4=(spec.prefixes4_used, spec.prefixes),
            prefixes6=(spec.prefixes6_used, spec.prefixes),
            v4_units=(spec.v4_units_used, spec.v4_units),
            v6_lengths=(spec.v6_lengths_used, spec.v6_lengths),
            subqueue_lines=(spec.subqueues_used, spec.subqueues),
            subqueues=(spec.hosts_used, spec.hosts),
            kernel_bytes=spec.kernel_bytes,
        )

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

    def native(self) -> tuple[ctypes.CDLL, ctypes.c_void_p]:
        """Library and handle, for the modules beside this one that wrap more of libweir."""
        if self._handle is None:
            raise RuntimeError("the datapath is closed")
        return self._library, self._handle

    @property
    def library(self) -> str:
        """Where libweir.so is, for another process."""
        return self._library._name

    def _call(self, name: str, *arguments: object) -> int:
        library, handle = self.native()
        result: int = getattr(library, name)(handle, *arguments)
        if result < 0:
            raise problem_of(library, result)
        return result


def _buffer(packed: bytearray) -> ctypes.Array[ctypes.c_char] | None:
    return (ctypes.c_char * len(packed)).from_buffer(packed) if packed else None


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

# SPDX-License-Identifier: Apache-2.0
"""Tuning: what board/tuning.toml says, per system, interface and driver, with the operator's overrides.

A setting that this machine does not have is told and left out. One of the product's own that a driver refuses
is told, too, and never stands in the way of a change; an operator's own value that is refused is an error.
Boot parameters are handed to the boot loader for the next start; they and properties of services are only
compared and shown where the machine's start is not the router's own.
"""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from weir.adapters.boot_parameters import BootParameters, Next
from weir.adapters.netlink import Link, Links
from weir.adapters.tunables import Tunables, mask_of
from weir.backends.backend import Comparison, Look, Topic, refuse, step
from weir.model.objects import ConfigObject
from weir.model.problem import ApplyFailed, Problem, Unavailable
from weir.parts.delta import Step
from weir.parts.effect import Effect, for_each
from weir.parts.explained import Line

log = logging.getLogger(__name__)

Scope = Literal["sysctl", "interface", "cmdline", "service"]
_MEMORY = re.compile(r"memory/([1-9]\d*)")
_RING = re.compile(r"min\(maximum,(\d+)\)")
_SIZE = re.compile(r"(\d+)([KMG])")
_PAGE = 4096
"""systemd and the kernel take whole pages."""
_PERCENT = re.compile(r"([1-9]\d?)%")
AT = "."
"""Between a setting and the place that an override is for: `threaded-napi.eth1`."""
_GIVEN_UP = (
    "a start with it did not call itself well, so the router was started without; to try it again, commit "
    "another value first"
)
_SHAPERS = "fq."
"""Keys of the leaves that the shaper makes: it sets them itself, and pacing rests on them."""
_MATCHES: dict[str, Set[str]] = {"interface": {"kind", "queues", "driver"}, "service": {"unit"}}


@dataclass(frozen=True, slots=True)
class Setting:
    """One entry of the file."""

    id: str
    scope: Scope
    key: str
    value: str
    reason: str
    evidence: str
    measured: str
    match: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Target:
    """A setting at one place: "" for the machine, an interface, or a unit."""

    setting: Setting
    place: str
    wanted: str | None
    """None: left to the kernel, or nothing that this machine could be set to."""
    held: str | None
    overridden: bool

    @property
    def what(self) -> str:
        return f"{self.place}: {self.setting.key}" if self.place else self.setting.key

    @property
    def differs(self) -> bool:
        if self.of_the_shaper:
            return self.wanted != self.setting.value
        applied = self.setting.scope != "cmdline"
        return applied and None not in (self.wanted, self.held) and self.wanted != self.held

    @property
    def of_the_shaper(self) -> bool:
        return self.setting.key.startswith(_SHAPERS)


@dataclass(frozen=True, slots=True)
class TuningDifference:
    """`parameters` are all that the boot loader is to have in the image's place; None: it has them."""

    changes: tuple[Target, ...]
    parameters: tuple[str, ...] | None = None

    def __bool__(self) -> bool:
        return bool(self.changes) or self.parameters is not None

    def steps(self) -> Sequence[Step]:
        found = [
            step("tuning", "change", "setting", f"{item.what} = {item.wanted} (was {item.held})")
            for item in self.changes
        ]
        if self.parameters is not None:
            words = " ".join(self.parameters) or "the image's own"
            found.append(step("tuning", "change", "setting", f"boot parameters of the next start: {words}"))
        return found


class TuningBackend:
    topics: ClassVar[frozenset[Topic]] = frozenset(("links",))
    is_scanned_apart: ClassVar[bool] = False

    def __init__(
        self,
        settings: Sequence[Setting],
        links: Links,
        tunables: Tunables | None = None,
        *,
        boot: BootParameters | None = None,
        sets_units: bool = False,
    ) -> None:
        """Without `boot` the boot loader is not the router's own, and without `sets_units` systemd."""
        self._settings = settings
        self._links = links
        self._tunables = tunables or Tunables()
        self._boot = boot
        self._sets_units = sets_units
        self._refused: dict[tuple[str, str, str], str] = {}
        """(setting, place, value) -> the driver's words; not tried again."""

    def read(self) -> dict[str, Link]:
        """Values are read where they are compared: which ones there are depends on the interfaces."""
        return self._links.links() if self._settings else {}

    def diff(self, held: Mapping[str, Link], wanted: Mapping[str, str]) -> TuningDifference:
        found = (target for target in self.targets(held, wanted) if target.differs and self._sets(target))
        return TuningDifference(
            tuple(item for item in found if item.overridden or _key(item) not in self._refused),
            self._parameters(wanted),
        )

    def _sets(self, item: Target) -> bool:
        return item.setting.scope != "service" or self._sets_units

    def _parameters(self, overrides: Mapping[str, str]) -> tuple[str, ...] | None:
        """What the boot loader is to be given; None when it has that, or cannot be asked."""
        wanted, known = self._own_parameters(overrides), self._next(overrides)
        return None if known is None or known.words == wanted else wanted

    def _own_parameters(self, overrides: Mapping[str, str]) -> tuple[str, ...]:
        """Own ones come in the place of all that the image has, so that one can be left out as well."""
        ours = [setting for setting in self._settings if setting.scope == "cmdline"]
        if not any(setting.id in overrides for setting in ours):
            return ()
        chosen = [(setting.key, overrides.get(setting.id, setting.value)) for setting in ours]
        return tuple(f"{key}={value}" for key, value in chosen if value)

    def _next(self, overrides: Mapping[str, str]) -> Next | None:
        """None: the image's own, or not known."""
        if self._boot is None or not (self._own_parameters(overrides) or self._boot.were_set()):
            return None
        try:
            return self._boot.next()
        except Problem as problem:
            log.warning("boot parameters: %s", problem.message)
            return None

    def apply(self, difference: TuningDifference) -> None:
        if difference.parameters is not None and self._boot is not None:
            self._boot.set(difference.parameters)
        for item in difference.changes:
            try:
                self._set(item)
            except Problem as problem:
                if item.overridden:
                    raise
                log.warning("%s stays %s: %s", item.what, item.held, problem.message)
                self._refused[_key(item)] = problem.message

    def verify(self, difference: TuningDifference) -> None:
        wrong = []
        for item in difference.changes:
            held = self._held(item.setting, item.place)
            if held == item.wanted:
                continue
            if item.overridden:
                wrong.append(f"{item.what} is {held} and not {item.wanted}")
            else:
                self._refused.setdefault(_key(item), f"it stays {held}")
        if difference.parameters is not None and self._boot is not None:
            words = self._boot.next().words
            if words != difference.parameters:
                wrong.append(f"the boot parameters of the next start are {' '.join(words)!r}")
        refuse("tuning", wrong)

    def effects(self, look: Look[dict[str, Link], Mapping[str, str], TuningDifference]) -> Iterator[Effect]:
        """Many network cards start again for another size of their rings."""
        rings = [item for item in look.difference.changes if item.setting.key.startswith("ring.")]
        for item in rings:
            text = f"{item.what} becomes {item.wanted}, for which many network cards start again"
            yield from for_each(look.changed_of("tuning"), "resets", text)

    def explain(
        self,
        found: Comparison[dict[str, Link], Mapping[str, str], TuningDifference],
        item: ConfigObject,
        told: Sequence[str],
    ) -> Iterator[Line]:
        """Every setting that something is wanted of, and every override."""
        known = self._next(found.wanted)
        for target in self.targets(found.held, found.wanted):
            state, why = self._state(target, known)
            if state == "left" or (state == "absent" and not target.overridden):
                continue
            held = target.held or "this machine has no such setting"
            words = f"{held}: {why}" if why and target.held else held
            yield Line(target.what, target.wanted or target.setting.value, words, state == "applied")

    def targets(self, links: Mapping[str, Link], overrides: Mapping[str, str]) -> Iterator[Target]:
        """Every setting at every place where it fits, with what is wanted and what is held."""
        for setting in self._settings:
            for place in self._places(setting, links):
                own, general = f"{setting.id}{AT}{place}", setting.id
                value = overrides.get(own, overrides.get(general, setting.value))
                wanted = self._resolved(setting, value, place) if value else None
                overridden = own in overrides or general in overrides
                yield Target(setting, place, wanted, self._held(setting, place), overridden)

    def to_json(self, overrides: Mapping[str, str]) -> list[dict[str, Any]]:
        """For people: each setting with its reason, and its state at each place."""
        shown: dict[str, dict[str, Any]] = {}
        known = self._next(overrides)
        for target in self.targets(self.read(), overrides):
            setting = target.setting
            entry = shown.setdefault(setting.id, _described(setting, overrides))
            state, why = self._state(target, known)
            entry["places"].append(
                {
                    "place": target.place,
                    "override": overrides.get(f"{setting.id}{AT}{target.place}"),
                    "wanted": target.wanted,
                    "held": target.held,
                    "state": state,
                    "why": why,
                }
            )
        return [shown.get(setting.id, _described(setting, overrides)) for setting in self._settings]

    def _places(self, setting: Setting, links: Mapping[str, Link]) -> Sequence[str]:
        if setting.scope in ("sysctl", "cmdline"):
            return ("",)
        if setting.scope == "service":
            return (setting.match["unit"],)
        return sorted(name for name, link in links.items() if self._fits(setting.match, link))

    def _fits(self, match: Mapping[str, str], link: Link) -> bool:
        """Cards of the machine are `physical`; everything else is `virtual`, and loopback is neither."""
        if link.kind == "loopback":
            return False
        facts = {
            "kind": "physical" if link.kind == "physical" else "virtual",
            "queues": "multi" if link.tx_queues > 1 else "single",
        }
        if "driver" in match:
            facts["driver"] = self._tunables.driver(link.name) or ""
        return all(facts[name] == value for name, value in match.items())

    def _state(self, item: Target, known: Next | None) -> tuple[str, str | None]:
        if item.of_the_shaper:
            return "applied", f"the shaper sets it to {item.setting.value} on the leaves that it makes"
        is_next = item.setting.scope == "cmdline" and self._boot is not None  # it may have been left out
        if item.held is None and not is_next:
            return "absent", "this machine has no such setting"
        if not item.wanted:
            return "left", "left to the kernel"
        if item.held == item.wanted:
            return "applied", None
        if item.setting.scope == "cmdline":
            return self._next_state(item, known)
        if not self._sets(item):
            return "differs", "services of this machine are not the router's own to set"
        refusal = self._refused.get(_key(item))
        return ("refused", refusal) if refusal else ("differs", None)

    def _next_state(self, item: Target, known: Next | None) -> tuple[str, str | None]:
        """Of a boot parameter that this system was not started with."""
        if self._boot is None:
            return "differs", "the boot loader of this machine is not the router's own to set"
        if known is None or f"{item.setting.key}={item.wanted}" not in known.words:
            return "differs", "this system was started without it"
        if known.state == "tried":
            return "refused", _GIVEN_UP
        return "restart", "the boot loader has it; the next start comes with it"

    def _held(self, setting: Setting, place: str) -> str | None:
        if setting.scope == "sysctl":
            return self._tunables.sysctl(setting.key)
        if setting.scope == "interface":
            return self._tunables.card(setting.key, place)
        if setting.scope == "cmdline":
            return self._tunables.boot_parameter(setting.key)
        return self._tunables.unit_property(place, setting.key)

    def _set(self, item: Target) -> None:
        if item.of_the_shaper:
            raise ApplyFailed(
                f"{item.what} stays {item.setting.value}: pacing rests on it, and it is not overridden",
                code="setting-refused",
            )
        assert item.wanted is not None
        if item.setting.scope == "sysctl":
            self._tunables.set_sysctl(item.setting.key, item.wanted)
        elif item.setting.scope == "service":
            self._tunables.set_unit_property(item.place, item.setting.key, item.wanted)
        else:
            self._tunables.set_card(item.setting.key, item.place, item.wanted)

    def _resolved(self, setting: Setting, value: str, place: str) -> str | None:
        """What a value means on this machine; None when it cannot be had here. Words that mean nothing for
        this setting stay as they are, so that the part that is given them refuses them."""
        memory, size = _MEMORY.fullmatch(value), _SIZE.fullmatch(value)
        if memory:
            return str(self._tunables.memory_bytes() // int(memory[1]))
        if size and setting.scope == "service":
            return str(int(size[1]) << {"K": 10, "M": 20, "G": 30}[size[2]])
        if (part := _PERCENT.fullmatch(value)) and setting.scope == "service":
            return str(self._tunables.memory_bytes() // _PAGE * int(part[1]) // 100 * _PAGE)
        if (ring := _RING.fullmatch(value)) and setting.key == "ring.rx":
            largest = self._tunables.largest_ring(place)
            return None if largest is None else str(min(largest, int(ring[1])))
        if value == "one-queue-per-cpu" and setting.key in ("xps", "irq"):
            return self._one_queue_each(setting.key, place)
        if value == "all-but-the-interrupted-cpu" and setting.key == "rps":
            return self._all_but_interrupted(place)
        return value

    def _one_queue_each(self, key: str, place: str) -> str | None:
        """Processor n and queue n belong together; with fewer queues, n modulo their number."""
        queues, processors = self._tunables.queue_count(key, place), self._tunables.processors()
        if not queues:
            return None
        if key == "irq":
            return " ".join(str(queue % processors) for queue in range(queues))
        return " ".join(mask_of(range(queue, processors, queues)) for queue in range(queues))

    def _all_but_interrupted(self, place: str) -> str | None:
        everyone = set(range(self._tunables.processors()))
        rest = everyone - (self._tunables.interrupted_processors(place) or {0})
        return " ".join([mask_of(rest)] * self._tunables.queue_count("rps", place)) or None


def load(path: Path) -> tuple[Setting, ...]:
    """The settings of a file; none when there is no such file. Raises `Unavailable` naming what is wrong."""
    if not path.exists():
        return ()
    try:
        with path.open("rb") as file:
            document = tomllib.load(file)
        settings = tuple(Setting(**item) for item in document["setting"])
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise Unavailable(f"{path} cannot be read: {error}", code="tuning-file") from error
    for setting in settings:
        if set(setting.match) - _MATCHES.get(setting.scope, set()):
            raise Unavailable(
                f"{path}: {setting.id} cannot match by {dict(setting.match)}", code="tuning-file"
            )
    return settings


def _described(setting: Setting, overrides: Mapping[str, str]) -> dict[str, Any]:
    return {
        "id": setting.id,
        "scope": setting.scope,
        "key": setting.key,
        "value": setting.value,
        "override": overrides.get(setting.id),
        "reason": setting.reason,
        "evidence": setting.evidence,
        "measured": setting.measured,
        "places": [],
    }


def _key(item: Target) -> tuple[str, str, str]:
    return item.setting.id, item.place, item.wanted or ""

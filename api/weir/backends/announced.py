# SPDX-License-Identifier: Apache-2.0
"""radvd's file, written and read again, and a memory of the prefixes that hosts were told of."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from weir.adapters import files
from weir.parts.announcing import AnnounceSpec, PrefixSpec, Wanted
from weir.store.clock import Deadline, Now

log = logging.getLogger(__name__)
INTERVAL_S = 600
"""At most so long between two announcements (RFC 4861's default), and a third of the router's lifetime."""
_INTERFACE = re.compile(r"^interface (\S+) \{$")
_PREFIX = re.compile(
    r"^\tprefix (\S+) \{ AdvAutonomous (on|off); AdvPreferredLifetime (\d+); AdvValidLifetime (\d+);"
)

Prefixes = Mapping[str, Sequence[PrefixSpec]]
Ended = Mapping[str, Sequence[str]]
"""By interface, the prefixes that hosts are to give up."""
Row = tuple[int, Deadline | None]
Held = dict[str, dict[str, Row]]
"""By interface and prefix."""


def config_text(wanted: Wanted, ended: Ended) -> str:
    """An interface that is in `ended` alone is announced as no router any more."""
    lines: list[str] = []
    for name in sorted(wanted.keys() | ended.keys()):
        gone = [PrefixSpec(prefix, True, 0, 0) for prefix in ended.get(name, ())]
        spec = wanted.get(name) or AnnounceSpec(name, (), (), None, False, False, 0)
        lines += [f"interface {name} {{", *(f"\t{line}" for line in _lines(spec, gone)), "};"]
    return "".join(f"{line}\n" for line in lines)


def _lines(spec: AnnounceSpec, gone: Sequence[PrefixSpec]) -> Iterator[str]:
    most_s = min(INTERVAL_S, spec.router_lifetime_s // 3) if spec.router_lifetime_s else INTERVAL_S
    yield "AdvSendAdvert on;"
    yield "IgnoreIfMissing on;"
    yield f"MaxRtrAdvInterval {most_s};"
    yield f"AdvDefaultLifetime {spec.router_lifetime_s};"
    yield f"AdvManagedFlag {_on(spec.managed)};"
    yield f"AdvOtherConfigFlag {_on(spec.other)};"
    for one in (*spec.prefixes, *gone):
        said = f"AdvAutonomous {_on(one.autonomous)}; AdvPreferredLifetime {one.preferred_s}; "
        said += f"AdvValidLifetime {one.valid_s}; DeprecatePrefix on;"
        yield f"prefix {one.prefix} {{ {said} }};"
    if spec.dns_servers:
        yield f"RDNSS {' '.join(spec.dns_servers)} {{ AdvRDNSSLifetime {3 * most_s}; }};"
    if spec.domain:
        yield f"DNSSL {spec.domain} {{ AdvDNSSLLifetime {3 * most_s}; }};"


def _on(value: bool) -> str:
    return "on" if value else "off"


def prefixes_in(text: str) -> dict[str, list[PrefixSpec]]:
    """The prefixes of each interface in a file of `config_text`."""
    found: dict[str, list[PrefixSpec]] = {}
    name = ""
    for line in text.splitlines():
        if (begun := _INTERFACE.match(line)) is not None:
            name = begun[1]
            found[name] = []
        elif (told := _PREFIX.match(line)) is not None:
            found[name].append(PrefixSpec(told[1], told[2] == "on", int(told[3]), int(told[4])))
    return found


class Announced:
    """What hosts were told: the valid lifetime of each prefix, and until when they may have it; None while it
    is announced. A memory that cannot be written is told in the log and costs no commit."""

    def __init__(self, path: Path, now: Callable[[], Now]) -> None:
        self._path = path
        self._now = now
        self._held = self._read()

    def _read(self) -> Held:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            return {str(name): dict(self._rows(prefixes)) for name, prefixes in found.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
            log.warning(
                "%s cannot be read, so old prefixes are not announced as ended: %s", self._path, error
            )
            return {}

    def _rows(self, prefixes: Mapping[str, Any]) -> Iterator[tuple[str, Row]]:
        """One that cannot be read costs no other. Raises `AttributeError` for what is no mapping."""
        for prefix, row in prefixes.items():
            try:
                yield prefix, _row(*row)
            except (ValueError, TypeError, OverflowError) as error:
                text = "%s: what it says of %s cannot be read, so that is not announced as ended: %s"
                log.warning(text, self._path, prefix, error)

    def ended(self, wanted: Wanted, *, also_over: bool = False) -> dict[str, list[str]]:
        """What was announced and is not wanted any more while a host may have it; with `also_over` also what
        none has any more and was not forgotten yet."""
        found: dict[str, list[str]] = {}
        for name, prefixes in self._held.items():
            spec = wanted.get(name)
            if spec is not None and spec.is_awaited:
                continue
            kept = {one.prefix for one in spec.prefixes} if spec else set()
            gone = sorted(
                prefix
                for prefix, (_, until) in prefixes.items()
                if prefix not in kept and (also_over or not self._is_over(until))
            )
            if gone:
                found[name] = gone
        return found

    def forget_over(self) -> bool:
        """Forget what no host has any more; whether there was something."""
        held = {
            name: {prefix: row for prefix, row in prefixes.items() if not self._is_over(row[1])}
            for name, prefixes in self._held.items()
        }
        is_less = held != self._held
        if is_less:
            self._keep(held, {})
        return is_less

    def _is_over(self, until: Deadline | None) -> bool:
        return until is not None and until.seconds_left(*self._now()) == 0

    def note(self, told: Prefixes) -> None:
        """What is about to be announced. What was before has not ended yet."""
        self._keep(self._held, told)

    def remember(self, told: Prefixes) -> None:
        """What is announced now. What was before has ended just now; what is not told as ended, and that no
        host has any more, is forgotten."""
        now = self._now()
        said = {(name, one.prefix) for name, specs in told.items() for one in specs}
        held: Held = {}
        for name, prefixes in self._held.items():
            held[name] = {}
            for prefix, (valid_s, until) in prefixes.items():
                if not self._is_over(until) or (name, prefix) in said:
                    held[name][prefix] = valid_s, until or Deadline.after(valid_s, now)
        self._keep(held, told)

    def _keep(self, held: Held, told: Prefixes) -> None:
        """Hold this, and of what is told all that has not ended."""
        found = {name: dict(prefixes) for name, prefixes in held.items()}
        for name, specs in told.items():
            mine = found.setdefault(name, {})
            mine.update((one.prefix, (one.valid_s, None)) for one in specs if one.valid_s)
        self._held = {name: prefixes for name, prefixes in found.items() if prefixes}
        rows = {
            name: {prefix: _row_json(*row) for prefix, row in prefixes.items()}
            for name, prefixes in self._held.items()
        }
        content = json.dumps(rows, sort_keys=True).encode()
        try:
            if not self._path.exists() or self._path.read_bytes() != content:
                files.replace(self._path, content, durable=True)
        except OSError as error:
            log.warning("%s cannot be written: %s", self._path, error.strerror)


def _row(valid_s: int, until: Sequence[str | int] | float | None) -> Row:
    """Of `_row_json`, or as it was written before there were deadlines: seconds by the clock on the wall.
    Raises `TypeError`, `ValueError`, `OverflowError`."""
    if until is None:
        return int(valid_s), None
    if isinstance(until, int | float):
        return int(valid_s), Deadline(int(valid_s), int(until * 1000), "", 0)
    window_s, wall_ms, boot_id, boottime_ms = until
    return int(valid_s), Deadline(int(window_s), int(wall_ms), str(boot_id), int(boottime_ms))


def _row_json(valid_s: int, until: Deadline | None) -> tuple[object, ...]:
    return valid_s, None if until is None else astuple(until)

# SPDX-License-Identifier: Apache-2.0
"""The router's log for who looks at it: a page of its lines, and what came since (docs/adr/0221).

Secrets are taken out before anything is searched for: otherwise a search would tell, letter by letter, what
they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from weir.adapters.journal import READER, Said, said_by
from weir.agent.log_tail import UNITS
from weir.agent.secrets import Secrets
from weir.courier.entry import KERNEL, Entry, entry_of
from weir.kinds.syslog_target import SEVERITIES
from weir.model.document import Document
from weir.model.limits import LOG_CURSOR
from weir.model.problem import Invalid, Unavailable
from weir.redaction import without_secrets
from weir.wire.server import Handler, Peer

SEARCHED = 4000
"""Lines that a search looks through at once."""
MOST_BYTES = 4 << 20
MOST_S = 8.0
UNITS_S = 30.0
"""So long the list of sources is good for who follows the log."""
MOST_UNITS = 200
_UNIT_FIELDS = ("_SYSTEMD_UNIT", "UNIT", "COREDUMP_UNIT")
_COREDUMP = "MESSAGE_ID=fc2e22bc6ee647b6b90729ab34a250b1"
"""systemd.journal-fields(7), sd-messages.h."""
_TOLD = ("MESSAGE", "PRIORITY", "SYSLOG_IDENTIFIER", "SYSLOG_PID", "_COMM", "_PID", "_UID", "_TRANSPORT")
_BETWEEN = "\x1e"
"""No secret has a control character, so none reaches from one line into the next."""


@dataclass(frozen=True, slots=True)
class Asked:
    """`severity` is the least severe number that is told; `after` a cursor of an earlier answer."""

    source: str
    severity: int
    text: str
    since_ms: int | None
    after: str
    limit: int


@dataclass(frozen=True, slots=True)
class Looked:
    """Lines that were looked through, the oldest first, and whether there are more of them: older ones, or,
    after a cursor, newer ones. `cursor` is of the newest line that was read, also of others."""

    entries: Sequence[Entry]
    is_cut: bool
    cursor: str


class LogLines:
    """`running` is the configuration whose secrets are known. Thread-safe."""

    def __init__(
        self, secrets: Secrets, running: Callable[[], tuple[int, Document]], reader: str = READER
    ) -> None:
        self._secrets = secrets
        self._running = running
        self._reader = reader
        self._units: tuple[float, tuple[str, ...]] = (0.0, ())

    def table(self) -> dict[str, Handler]:
        return {"log_lines": self._lines}

    def _lines(self, params: dict[str, Any], _peer: Peer) -> dict[str, Any]:
        """Raises `Invalid` for what cannot be asked, `Unavailable` where the journal cannot be read, or the
        secrets are not known that may not be told."""
        asked = _asked(params)
        units = self._units_now() if not asked.after or time.monotonic() > self._units[0] else self._units[1]
        looked = self._after(asked) if asked.after else self._newest(asked, units)
        found = [entry for entry in self._redacted(looked.entries) if _has(entry, asked.text)]
        kept = found[: asked.limit] if asked.after else found[-asked.limit :]
        is_less = len(kept) < len(found)
        return {
            "lines": [_line(entry) for entry in kept],
            "cursor": kept[-1].cursor if asked.after and is_less else looked.cursor or asked.after or None,
            "more": looked.is_cut or is_less,
            "looked_at": len(looked.entries),
            "from_us": looked.entries[0].at_us if looked.entries else None,
            "sources": [KERNEL, *sorted(map(_source_of, units))],
        }

    def _newest(self, asked: Asked, units: Sequence[str]) -> Looked:
        most = SEARCHED if asked.text else asked.limit
        since = () if asked.since_ms is None else (f"--since=@{max(asked.since_ms, 0) / 1000:.3f}",)
        how = ("--reverse", f"--lines={most + 1}", *since, *_matching(asked.source, units))
        read, is_cut = self._read(asked, *how)
        entries = read[:most][::-1]
        return Looked(entries, is_cut or len(read) > most, entries[-1].cursor if entries else "")

    def _after(self, asked: Asked) -> Looked:
        """Without a source all that was logged is read, so that nothing is missed of a service that logs for
        the first time."""
        matches = _matching(asked.source, ()) if asked.source else ()
        read, is_cut = self._read(asked, f"--after-cursor={asked.after}", *matches)
        entries = read[:SEARCHED]
        ours = [entry for entry in entries if entry.unit == KERNEL or _is_ours(entry.unit)]
        return Looked(ours, is_cut or len(read) > SEARCHED, entries[-1].cursor if entries else "")

    def _read(self, asked: Asked, *how: str) -> tuple[list[Entry], bool]:
        fields = f"--output-fields={','.join((*_TOLD, *_UNIT_FIELDS))}"
        said = self._said("--output=json", f"--priority={asked.severity}", fields, *how)
        read = (entry_of(line) for line in said.data.splitlines())
        return [entry for entry in read if entry is not None and entry.cursor], said.is_cut

    def _redacted(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """As one text, since each secret is looked for in many forms."""
        if not entries:
            return entries
        texts = [
            part.replace(_BETWEEN, "\N{REPLACEMENT CHARACTER}")
            for entry in entries
            for part in (entry.name, entry.text or "")
        ]
        secrets = self._secrets.all_texts(self._running()[1])
        told = without_secrets(_BETWEEN.join(texts), secrets).split(_BETWEEN)
        if len(told) != len(texts):
            raise Unavailable("the log cannot be told without its secrets", code="no-journal")
        return [
            replace(entry, name=name, text=None if entry.text is None else text)
            for entry, name, text in zip(entries, told[::2], told[1::2], strict=True)
        ]

    def _units_now(self) -> tuple[str, ...]:
        """Those of `UNITS` that have logged. Raises `Unavailable` where there is no journal."""
        found = {unit for field in _UNIT_FIELDS for unit in self._values(field)}
        if not found and not self._values("_BOOT_ID"):
            raise Unavailable("the journal cannot be read: there is none", code="no-journal")
        units = tuple(sorted(filter(_is_ours, found))[:MOST_UNITS])
        self._units = (time.monotonic() + UNITS_S, units)
        return units

    def _values(self, field: str) -> list[str]:
        said = self._said(f"--field={field}")
        values = said.data.decode("utf-8", "replace").splitlines()
        if not values and said.complaint:
            raise Unavailable(f"the journal cannot be read: {said.complaint[:200]}", code="no-journal")
        return values

    def _said(self, *how: str) -> Said:
        return said_by(how, MOST_BYTES, MOST_S, self._reader)


def _asked(params: dict[str, Any]) -> Asked:
    source, after, text = (_word(params, name) for name in ("source", "after", "text"))
    severity, limit, since_ms = params.get("severity"), params.get("limit"), params.get("since_ms")
    if source and source != KERNEL and not any(map(_is_ours, (source, f"{source}.service"))):
        known = "kernel, weir-agent, weir-api, frr, unbound and other services of the router"
        raise Invalid(f"the log has no source {source!r}; there are {known}", code="no-source", path="source")
    if severity not in SEVERITIES:
        raise Invalid(f"there is no severity {severity!r}", code="bad-request", path="severity")
    if after and not LOG_CURSOR.fullmatch(after):
        raise Invalid("it is no cursor of the log", code="bad-cursor", path="after")
    if not isinstance(limit, int) or not 1 <= limit <= SEARCHED:
        raise Invalid("a limit is needed", code="bad-request", path="limit")
    if since_ms is not None and not isinstance(since_ms, int):
        raise Invalid("since is in milliseconds", code="bad-request", path="since")
    return Asked(source, SEVERITIES.index(severity), text.casefold(), since_ms, after, limit)


def _word(params: dict[str, Any], name: str) -> str:
    value = params.get(name)
    return value if isinstance(value, str) else ""


def _is_ours(unit: str) -> bool:
    return any(fnmatchcase(unit, pattern) for pattern in UNITS)


def _source_of(unit: str) -> str:
    return unit.removesuffix(".service")


def _matching(source: str, units: Sequence[str]) -> list[str]:
    """Matches as journalctl makes them of `--unit`, but that units and the kernel are asked for together."""
    if source == KERNEL:
        return [f"_TRANSPORT={KERNEL}"]
    wanted = [source, f"{source}.service"] if source else units
    if not wanted:
        return [f"_TRANSPORT={KERNEL}"]
    alternatives = [
        [f"_SYSTEMD_UNIT={unit}" for unit in wanted],
        ["_PID=1", *(f"UNIT={unit}" for unit in wanted)],
        [_COREDUMP, "_UID=0", *(f"COREDUMP_UNIT={unit}" for unit in wanted)],
        *([] if source else [[f"_TRANSPORT={KERNEL}"]]),
    ]
    return [match for number, each in enumerate(alternatives) for match in (["+"] * (number > 0) + each)]


def _has(entry: Entry, text: str) -> bool:
    """`text` is in lower case."""
    return not text or any(
        text in part.casefold() for part in (entry.text or "", entry.name, _source_of(entry.unit))
    )


def _line(entry: Entry) -> dict[str, Any]:
    return {
        "cursor": entry.cursor,
        "at_us": entry.at_us,
        "severity": SEVERITIES[entry.severity],
        "source": _source_of(entry.unit),
        "process": entry.name,
        "pid": entry.process,
        "text": entry.text,
    }

# SPDX-License-Identifier: Apache-2.0
"""What is remembered of jobs over a restart: until when each was looked at, and what became of it."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from weir.adapters import files
from weir.model.problem import Unavailable

log = logging.getLogger(__name__)

MOST_RUNS = 200
"""Of what nobody has taken into the audit trail yet, and of the last of each job."""


@dataclass(frozen=True, slots=True)
class Known:
    """`spec` is the job as it was configured at `begun_ms`; what was due until `until_ms` is dealt with."""

    spec: str
    begun_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class Run:
    """What became of a job that was due; `boot` is the start of the machine in which that was."""

    number: int
    job: str
    action: str
    due_ms: int
    at_ms: int
    result: str
    detail: str
    boot: str


class JobMemory:
    """One thread changes it; each change is on the disk when it returns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.known: dict[str, Known] = {}
        self.runs: tuple[Run, ...] = ()
        self.told = 0
        """The number of the last run that is in the audit trail."""
        self._number = 0
        self._read()

    def _read(self) -> None:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            self.known = {name: Known(**each) for name, each in found["known"].items()}
            self.runs = tuple(Run(**each) for each in found["runs"])
            self.told, self._number = int(found["told"]), int(found["number"])
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            log.warning("what was remembered of jobs cannot be read, and begins again: %s", error)

    def keep(self, known: Mapping[str, Known], run: Run | None = None, *, told: int | None = None) -> None:
        """Raises `Unavailable` (`disk-full`); nothing is changed then."""
        runs, number = self.runs, self._number
        if run is not None:
            number += 1
            runs = (*runs, replace(run, number=number))[-MOST_RUNS:]
        self._write(dict(known), runs, self.told if told is None else told, number)

    def settle(self, number: int, result: str, detail: str) -> None:
        """Say what became of a run that had been started. It is told again. Raises `Unavailable`."""
        kept = [run for run in self.runs if run.number != number]
        (run,) = (run for run in self.runs if run.number == number)
        ended = replace(run, number=self._number + 1, result=result, detail=detail)
        self._write(self.known, (*kept, ended), self.told, self._number + 1)

    def _write(self, known: dict[str, Known], runs: tuple[Run, ...], told: int, number: int) -> None:
        found: dict[str, Any] = {
            "known": {name: asdict(each) for name, each in known.items()},
            "runs": [asdict(each) for each in runs],
            "told": told,
            "number": number,
        }
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.replace(self._path, json.dumps(found).encode(), durable=True)
        except OSError as error:
            text = f"{self._path} cannot be written: {error.strerror}"
            raise Unavailable(text, code="disk-full") from error
        self.known, self.runs, self.told, self._number = known, runs, told, number

    def last(self, job: str) -> Run | None:
        return next((run for run in reversed(self.runs) if run.job == job), None)

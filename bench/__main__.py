# SPDX-License-Identifier: Apache-2.0
"""`make bench`: measure every figure, write build/bench/*.json and docs/benchmarks.md, name what misses.

python -m bench [GROUP...]      groups: see bench/groups.py; all of them without arguments
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import datetime

from bench import document, rows
from bench.document import Measured
from bench.groups import GROUPS
from bench.rows import OUT
from lab import plan

GRACE_S = 30


def main() -> None:
    wanted = sys.argv[1:] or list(GROUPS)
    unknown = [name for name in wanted if name not in GROUPS]
    if unknown:
        sys.exit(f"bench: there is no group {unknown[0]}; there are {', '.join(GROUPS)}")
    begun_s = time.monotonic()
    signal.signal(signal.SIGTERM, interrupt)
    for name in wanted:
        measure(name)
    found = {name: rows.read(OUT / f"{name}.json") for name in GROUPS if (OUT / f"{name}.json").exists()}
    every = [row for group in found.values() for row in group]
    missing = {
        id: name for name, group in GROUPS.items() for id in group.ids if id not in {row.id for row in every}
    }
    document.write(found, document.read_measured(), sorted(missing))
    print(rows.table(every))
    print(f"bench: all of it took {(time.monotonic() - begun_s) / 60:.1f} min")
    missed = [row for row in every if not row.reaches_must]
    for row in missed:
        print(f"misses its must: {row.id} = {row.median:g} {row.unit} (must {row.must:g})")
    for id, name in missing.items():
        print(f"not measured: {id} (group {name})")
    if not missed and not missing:
        print("every row reaches its must")
    sys.exit(1 if any(name in wanted for name in missing.values()) else 0)


def measure(name: str) -> None:
    """In a process of its own: what goes wrong there, or lasts too long, costs this group alone."""
    load = os.getloadavg()[0]
    print(f"bench: measuring {name} (load {load:.1f})", flush=True)
    (OUT / f"{name}.json").unlink(missing_ok=True)
    at, begun_s = datetime.now(), time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-m", "bench.groups", name], cwd=plan.ROOT, start_new_session=True
    )
    try:
        child.wait(GROUPS[name].limit_s)
    except subprocess.TimeoutExpired:
        print(f"bench: {name} is stopped after {GROUPS[name].limit_s} s", flush=True)
        stop(child)
    except KeyboardInterrupt:
        stop(child)
        raise
    took_s = time.monotonic() - begun_s
    print(f"bench: {name} took {took_s:.0f} s", flush=True)
    found = Measured(name, f"{at:%Y-%m-%d %H:%M}", round(took_s), round(load, 1), document.processor())
    document.note(found)


def interrupt(*_: object) -> None:
    """A bench that is ended ends its group as well."""
    raise KeyboardInterrupt


def stop(child: subprocess.Popen[bytes]) -> None:
    """Let it clean up; end what is left of it."""
    child.send_signal(signal.SIGINT)
    try:
        child.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


if __name__ == "__main__":
    main()

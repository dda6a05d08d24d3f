# SPDX-License-Identifier: Apache-2.0
"""FRR's protocol daemons, each a process that Weir starts while something is configured for it.

zebra, staticd and mgmtd are started with the router. These speak to them and to vtysh by sockets in FRR's run
folder, and get their configuration from vtysh alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from weir.adapters.daemon import Daemon, Program

FOLDER = Path("/usr/lib/frr")
_MODULES = ("/usr/lib/frr/modules", "/usr/lib/*-linux-gnu/frr/modules")
PROTOCOLS = ("bfdd", "bgpd", "ospfd")


def daemons(run_dir: Path, folder: Path, programs: Path = FOLDER) -> dict[str, Daemon]:
    """By name; none of them is started by this."""
    return {name: _daemon(name, run_dir, folder / name, programs) for name in PROTOCOLS}


def _daemon(name: str, run_dir: Path, folder: Path, programs: Path) -> Daemon:
    def command(_config: Path) -> Sequence[str]:
        (run_dir / f"{name}.vty").unlink(missing_ok=True)  # one that was killed leaves it
        return [
            *(str(programs / name), "--vty_socket", str(run_dir), "-z", str(run_dir / "zserv.api")),
            *("-i", str(run_dir / f"{name}.pid"), "-f", "/dev/null", "-P", "0"),
            *("--log", "stdout", "--log-level", "warnings", *_modules(name)),
        ]

    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    return Daemon(Program(name, command, lambda _config: ()), folder)


def _modules(name: str) -> tuple[str, ...]:
    """RPKI can only be loaded when bgpd starts."""
    found = any(path for folder in _MODULES for path in Path("/").glob(f"{folder[1:]}/{name}_rpki.so"))
    return ("-M", "rpki") if found else ()

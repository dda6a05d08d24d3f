# SPDX-License-Identifier: Apache-2.0
"""FRR's daemons with a run folder and a configuration of their own, so that the host's FRR is not met.

Options move only some of FRR's files. mgmtd (FRR 9 and newer), and what it configures, meet at sockets in
/run/frr, and take no option that names a configuration file. So each daemon sees its run folder as
/run/frr, an empty /etc/frr, and of /run nothing else.
"""

from __future__ import annotations

from pathlib import Path

from lab import confine, netns

PROGRAMS = Path("/usr/lib/frr")
DAEMONS = ("mgmtd", "zebra", "staticd")
"""In the order of their start: FRR 10's zebra complains thousands of times a second of a missing mgmtd."""
KEEP_ROUTES = ("--graceful_restart", "60", "--retain")
"""Of zebra, as on the image (board/overlay/etc/frr/daemons): the kernel keeps its routes when it ends, and a
new one leaves them for so many seconds, in which the other daemons say again what they want."""
RUN_FOLDER, _ITS_CONFIGURATION = Path("/run/frr"), Path("/etc/frr")


def daemons() -> list[str]:
    """Those of `DAEMONS` that this machine's FRR has: FRR 8 has no mgmtd."""
    return [daemon for daemon in DAEMONS if (PROGRAMS / daemon).exists()]


def command(daemon: str, run_dir: Path) -> list[str]:
    """To be run in `place`. Its vty socket is `vty_socket`, which is made ready here."""
    netns.run(["chown", "frr:frr", str(run_dir)])
    vty_socket(daemon, run_dir).unlink(missing_ok=True)  # one that was killed leaves it
    return [
        str(PROGRAMS / daemon),
        *("--vty_socket", str(run_dir), "-z", str(run_dir / "zserv.api")),
        *("-i", str(run_dir / f"{daemon}.pid"), "--log", "stdout", "-P", "0"),
        *(KEEP_ROUTES if daemon == "zebra" else ()),
    ]


def watch_command(run_dir: Path, restarts: Path) -> list[str]:
    """FRR's own watchdog, with the image's intervals. The lab looks after the daemons, so it only writes
    into `restarts` what it would restart."""
    vty_socket("watchfrr", run_dir).unlink(missing_ok=True)
    command = f"echo %s >> {restarts}"
    return [
        str(PROGRAMS / "watchfrr"),
        *("--min-restart-interval", "1", "--max-restart-interval", "10", "--statedir", str(run_dir)),
        *("-r", command, "-s", command, "-k", command, "-p", str(run_dir / "watchfrr.pid")),
        *daemons(),
    ]


def vty_socket(daemon: str, run_dir: Path) -> Path:
    return run_dir / f"{daemon}.vty"


def place(namespace: str, run_dir: Path) -> None:
    """For a child before it execs: in the network namespace, seeing the files that its daemon may see."""
    netns.enter(namespace)
    confine.own_mounts()
    confine.cover(RUN_FOLDER.parent, {run_dir: run_dir, RUN_FOLDER: run_dir})
    if _ITS_CONFIGURATION.is_dir():
        confine.cover(_ITS_CONFIGURATION, {})

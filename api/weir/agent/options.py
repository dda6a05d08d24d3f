# SPDX-License-Identifier: Apache-2.0
"""What `weir-agent` is told when it is started. It imports little, as it comes before all else."""

from __future__ import annotations

import argparse
import pwd
from pathlib import Path

from weir.adapters import journal, rauc

CA_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
SCAN_S = 30.0
CHECK_S = 86_400.0
"""All of the store is looked at once a day."""
GUARD_S = 0.2
LOOK_S = 5.0
ROUTES_SHARE = 0.02


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="weir-agent", description="Weir's privileged agent.")
    add = found.add_argument
    add("--socket", type=Path, default=Path("/run/weir/agent.sock"), help="where the API connects")
    add("--database", type=Path, default=Path("/var/lib/weir/weir.db"), help="the configuration")
    add("--api-uid", type=_uid, default=None, help="user (id or name) of the API; it and root may connect")
    add("--pin-dir", type=Path, default=Path("/sys/fs/bpf/weir"), help="folder on a BPF file system")
    add("--library", type=Path, default=None, help="libweir.so, if it is not in its usual place")
    add("--frr-run-dir", type=Path, default=Path("/run/frr"), help="folder of FRR's vty sockets")
    add("--state-dir", type=Path, default=None, help="lock and notes; default: the socket's folder")
    add("--capacity", type=int, default=0, help="class slots when maps are recreated; 0: by the memory")
    add("--scan-interval-s", type=float, default=SCAN_S, help="how often all is compared without an event")
    add("--check-interval-s", type=float, default=CHECK_S, help="how often all of the store is looked at")
    add("--guard-interval-s", type=float, default=GUARD_S, help="how often hooks and pins are looked at")
    add("--look-interval-s", type=float, default=LOOK_S, help="how often it looks what ails it")
    add("--routes-share", type=float, default=ROUTES_SHARE, help="of a processor, to look at routes with")
    add("--probe-after-s", type=float, default=0.0, help="when the kernel's features are tried")
    add("--tuning", type=Path, default=Path("/usr/share/weir/tuning.toml"), help="the product's settings")
    add("--rauc-config", type=Path, default=rauc.DEFAULT_CONFIG, help="where an image describes its slots")
    add("--update-dir", type=Path, default=Path("/var/lib/weir-agent"), help="folder for bundles; root's own")
    add(
        "--early-file",
        type=Path,
        default=None,
        help="kept for the next start (board/overlay/usr/libexec/weir/early)",
    )
    add(
        "--last-good",
        type=Path,
        default=None,
        help="the copy of what runs, in a folder of root's own that lasts; default: in the state folder",
    )
    add("--ca-bundle", type=Path, default=CA_BUNDLE, help="by which certificates of others are checked")
    add("--journal-reader", default=journal.READER, help="the program that follows the journal")
    add("--data-state", type=Path, default=None, help="what the start wrote of an image's data partition")
    add(
        "--tls-used",
        type=Path,
        default=None,
        help="key and certificate that the web server reads",
    )
    add("--tls-port", type=int, default=443, help="where it answers by TLS")
    add("--tls-refresh", default="systemctl start weir-tls.service", help="makes that file and has it read")
    add("--sets-clock", action="store_true", help="the machine's clock is the router's own")
    add("--sets-name", action="store_true", help="the machine's name is the router's own")
    add("--sets-start", action="store_true", help="boot loader and services are the router's own")
    add("--log-level", default="info", choices=("debug", "info", "warning", "error"))
    return found


def state_folder(options: argparse.Namespace) -> Path:
    """Lock and notes, which may be gone after a restart of the machine."""
    return Path(options.state_dir or options.socket.parent)


def daemon_folder(state_dir: Path) -> Path:
    """Where each daemon that the agent starts has a folder. Those have users of their own."""
    return state_dir / "daemons"


def lasting(options: argparse.Namespace) -> Path:
    """A folder of root's own that lasts, where there is one."""
    folder = options.last_good.parent if options.last_good else options.state_dir
    return Path(folder or options.socket.parent)


def _uid(text: str) -> int:
    """A user id, given as such or by name."""
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        return pwd.getpwnam(text).pw_uid
    except KeyError as error:
        raise argparse.ArgumentTypeError(f"there is no user {text!r}") from error

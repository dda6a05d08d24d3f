# SPDX-License-Identifier: Apache-2.0
"""The router in its namespace: FRR's daemons, the agent (root) and the API (a user without privilege)."""

from __future__ import annotations

import json
import os
import shutil
import sys
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

from lab import confine, frr, netns, peers, plan, process
from lab.netns import LabError

AGENT_SOCKET = plan.RUN / "agent.sock"
PIN_MOUNT = plan.RUN / "bpf"
PIN_FOLDER = PIN_MOUNT / "weir"
FRR_RUN = plan.RUN / "frr"
DATA = plan.RUN / "data"
DATABASE = DATA / "weir.db"
TUNING = plan.BUILD.parent / "board" / "tuning.toml"
LIBRARY = plan.BUILD / "datapath" / "libweir.so"
WEBUI = plan.BUILD / "webui"
CHRONYD = Path("/usr/sbin/chronyd")
UNBOUND = Path("/usr/sbin/unbound")


def prepare_folders() -> None:
    plan.RUN.mkdir(mode=0o755, parents=True, exist_ok=True)
    DATA.mkdir(mode=0o700, exist_ok=True)
    os.chown(DATA, plan.API_UID, plan.API_UID)
    PIN_MOUNT.mkdir(mode=0o700, exist_ok=True)
    netns.run(["mount", "-t", "bpf", "-o", "mode=700", "weir-lab", str(PIN_MOUNT)])


def remove_folders() -> None:
    """Unmount the pins and remove the run folder; the logs stay in build/lab-log until the next time."""
    if (plan.RUN / "log").exists():
        shutil.rmtree(plan.BUILD / "lab-log", ignore_errors=True)
        shutil.copytree(plan.RUN / "log", plan.BUILD / "lab-log")
    while os.path.ismount(PIN_MOUNT):
        netns.run(["umount", str(PIN_MOUNT)])
    if plan.RUN.exists():
        netns.run(["rm", "-rf", "--one-file-system", str(plan.RUN)])


def start_frr(daemon: str) -> process.Child:
    """One daemon, on its way up."""
    FRR_RUN.mkdir(exist_ok=True)
    prepare = partial(frr.place, plan.ROUTER, FRR_RUN)
    return process.start(f"frr-{daemon}", frr.command(daemon, FRR_RUN), prepare=prepare)


def wait_for_frr(daemon: str, child: process.Child) -> None:
    process.wait_for(f"FRR's {daemon}", frr.vty_socket(daemon, FRR_RUN).exists, [child])


def start_agent(capacity: int = 0) -> process.Child:
    """`capacity`: slots of the kernel's tables; 0: by the memory."""
    command = [
        *(sys.executable, "-m", "weir.agent.main"),
        *("--socket", str(AGENT_SOCKET), "--database", str(DATABASE), "--api-uid", str(plan.API_UID)),
        *("--pin-dir", str(PIN_FOLDER), "--library", str(LIBRARY), "--frr-run-dir", str(FRR_RUN)),
        *("--tuning", str(TUNING), "--capacity", str(capacity)),
    ]
    return process.start("agent", command, prepare=netns.entering(plan.ROUTER))


def wait_for_agent(child: process.Child) -> None:
    process.wait_for("the agent's socket", AGENT_SOCKET.exists, [child])


def start_time_server() -> process.Child:
    """A chronyd in the internet that says it knows the time, as stratum 3, and sets no clock."""
    folder = plan.RUN / "time"
    folder.mkdir(mode=0o755, exist_ok=True)
    lines = ("local stratum 3", "allow", "cmdport 0", "bindcmdaddress /", f"pidfile {folder / 'pid'}")
    (folder / "chrony.conf").write_text("\n".join(lines) + "\n")
    command = [str(CHRONYD), "-d", "-x", "-f", str(folder / "chrony.conf")]
    return process.start("time", command, prepare=netns.entering(plan.INTERNET))


def start_name_server() -> process.Child:
    """An unbound in the internet that knows the names of the lab's servers, and no other name."""
    folder = plan.RUN / "names"
    folder.mkdir(mode=0o755, exist_ok=True)
    lines = ["server:", 'chroot: ""', 'username: ""', 'pidfile: ""', f'directory: "{folder}"', 'logfile: ""']
    lines += ["use-syslog: no", f"interface: {plan.INTERNET_ADDRESSES[0]}", "access-control: 0.0.0.0/0 allow"]
    lines += ["ip-freebind: yes", 'module-config: "iterator"', 'local-zone: "." static']
    lines += [f'local-data: "{name}. 300 IN A {address}"' for name, address in plan.INTERNET_NAMES.items()]
    (folder / "unbound.conf").write_text("\n".join(lines) + "\n")
    command = [str(UNBOUND), "-d", "-p", "-c", str(folder / "unbound.conf")]
    return process.start("names", command, prepare=netns.entering(plan.INTERNET))


def create_accounts() -> tuple[str, str]:
    """The database, the first administrator's one-time password and a token, made by the API's own user."""
    answer = json.loads(netns.run(_unprivileged([sys.executable, "-m", "lab.accounts", str(DATABASE)])))
    return answer["password"], answer["token"]


def start_api(listen: str) -> process.Child:
    """The API on the host's loopback, outside the router's namespace, on its way up."""
    environment = {
        "PATH": "/usr/bin:/bin",
        "WEIR_DATABASE": str(DATABASE),
        "WEIR_AGENT_SOCKET": str(AGENT_SOCKET),
        "WEIR_STATIC_DIR": str(WEBUI),
        "WEIR_LISTEN": listen,
    }
    command = _unprivileged([sys.executable, "-m", "weir.http.main"])
    return process.start("api", command, environment=environment)


def wait_for_api(child: process.Child, listen: str) -> None:
    process.wait_for("the API to answer", lambda: answers(f"http://{listen}"), [child])


def answers(url: str) -> bool:
    """Whether something speaks HTTP there: asked for what costs nothing to refuse."""
    try:
        with urllib.request.urlopen(f"{url}/api/v1/system", timeout=2):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def must_have_programs() -> None:
    """Raise LabError naming the first program or build result that is missing."""
    needed = (
        (frr.PROGRAMS / "zebra", "FRR is missing: `make deps` installs it"),
        (Path("/usr/sbin/nft"), "nftables is missing: `make deps` installs it"),
        (peers.BIRD, "BIRD is missing: `make deps` installs it"),
        (CHRONYD, "chrony is missing: `make deps` installs it"),
        (UNBOUND, "unbound is missing: `make deps` installs it"),
        (LIBRARY, "the datapath is not built: `make datapath` builds it"),
        (WEBUI / "index.html", "the web interface is not built: `make webui` builds it"),
    )
    for path, sentence in needed:
        if not path.exists():
            raise LabError(sentence)


def _unprivileged(command: list[str]) -> list[str]:
    """The command as the API's user, seeing the project and the Python it runs on."""
    folders = {plan.ROOT, Path(sys.base_prefix).resolve()}
    closed = [str(folder) for folder in sorted(folders) if confine.closed_ancestor(folder)]
    shown = ",".join(closed or [str(plan.ROOT)])
    return [sys.executable, "-m", "lab.confine", str(plan.API_UID), shown, *command]

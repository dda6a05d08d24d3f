# SPDX-License-Identifier: Apache-2.0
"""What the agent does not import: it counts at every start, and stays in memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SEE = "import sys, weir.agent.assembly; print(*sorted(sys.modules))"


def test_the_agent_imports_of_pyroute2_what_it_uses() -> None:
    told = subprocess.run([sys.executable, "-c", SEE], capture_output=True, text=True, check=True)
    seen = told.stdout.split()
    assert "pyroute2.iproute.linux" in seen
    assert not {"pyroute2.ndb", "pyroute2.conntrack", "pyroute2.netlink.nl80211", "numpy"} & set(seen)


BEGUN = """
import sys
from pathlib import Path
from weir.agent import main

class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "weir.agent.assembly":
            for tried in range(1000):  # Linux may leave one out, or tell of it before its command
                pids = Path("/proc/thread-self/children").read_text().split()
                told = [Path(f"/proc/{pid}/cmdline").read_text().replace("\\0", " ") for pid in pids]
                if any(told):
                    break
            print(*told)
            print(*sorted(sys.modules))
            raise SystemExit

sys.meta_path.insert(0, Stop())
main.main(["--socket", sys.argv[1] + "/agent.sock", "--database", sys.argv[1] + "/weir.db"])
"""


def test_the_stores_process_starts_before_most_modules_are_loaded(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", BEGUN, str(tmp_path)], capture_output=True, text=True, check=True
    )
    children, modules = told.stdout.splitlines()
    assert f"weir.agent.store_server {tmp_path}/weir.db" in children
    assert not {
        name
        for name in modules.split()
        if name.startswith(("pyroute2", "sqlite3", "weir.store", "weir.kinds"))
    }


def test_the_whole_of_pyroute2_serves_as_well() -> None:
    words = "import pyroute2; from weir.adapters import rtnl; assert rtnl.IPRoute is pyroute2.IPRoute"
    subprocess.run([sys.executable, "-c", words], check=True)


def test_starting_the_agent_starts_no_other_program() -> None:
    """pyroute2 asks `uname -p` and `file` for the processor and uses neither answer."""
    words = (
        "import subprocess; subprocess.Popen = None; import weir.agent.assembly, platform; "
        "from pyroute2 import config; "
        "print(config.machine == platform.machine(), config.arch, config.uname[2] == platform.release())"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True", "64bit", "True"], done.stderr

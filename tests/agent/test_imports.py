# SPDX-License-Identifier: Apache-2.0
"""What the agent does not import: it counts at every start, and stays in memory."""

from __future__ import annotations

import subprocess
import sys

SEE = "import sys, weir.agent.main; print(*sorted(sys.modules))"


def test_the_agent_imports_of_pyroute2_what_it_uses() -> None:
    told = subprocess.run([sys.executable, "-c", SEE], capture_output=True, text=True, check=True)
    seen = told.stdout.split()
    assert "pyroute2.iproute.linux" in seen
    assert not {"pyroute2.ndb", "pyroute2.conntrack", "pyroute2.netlink.nl80211", "numpy"} & set(seen)


def test_the_whole_of_pyroute2_serves_as_well() -> None:
    words = "import pyroute2; from weir.adapters import rtnl; assert rtnl.IPRoute is pyroute2.IPRoute"
    subprocess.run([sys.executable, "-c", words], check=True)


def test_starting_the_agent_starts_no_other_program() -> None:
    """pyroute2 asks `uname -p` and `file` for the processor and uses neither answer."""
    words = (
        "import subprocess; subprocess.Popen = None; import weir.agent.main, platform; "
        "from pyroute2 import config; "
        "print(config.machine == platform.machine(), config.arch, config.uname[2] == platform.release())"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True", "64bit", "True"], done.stderr

# SPDX-License-Identifier: Apache-2.0
"""The kernel's own check of IPv4 sources (Documentation/networking/ip-sysctl.rst, `rp_filter`)."""

from __future__ import annotations

from pathlib import Path

_CONF = Path("/proc/sys/net/ipv4/conf")
_STRICT = 1


def checks_strictly(ifname: str, conf: Path = _CONF) -> bool:
    """Whether the stack drops IPv4 packets that come in by the interface and whose way back is another one.

    The larger value of the interface's and of all interfaces' counts. 2 (loose) drops only what has no way
    back at all. A setting that cannot be read is none.
    """
    return max(_value(conf / "all" / "rp_filter"), _value(conf / ifname / "rp_filter")) == _STRICT


def _value(path: Path) -> int:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0

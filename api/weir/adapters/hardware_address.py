# SPDX-License-Identifier: Apache-2.0
"""The MAC address of an interface that may be up: neighbours are told of the new one at once.

Linux announces it by ARP and neighbour discovery where `arp_notify` and `ndisc_notify` are on
(Documentation/networking/ip-sysctl.rst); else a neighbour sends to the old one until its entry is stale.
"""

from __future__ import annotations

import errno

from weir.adapters.link_messages import set_mac
from weir.adapters.proc import read_sysctl, write_sysctl
from weir.model.problem import ApplyFailed

_ANNOUNCED = ("net/ipv4/conf/{}/arp_notify", "net/ipv6/conf/{}/ndisc_notify")


def change_address(name: str, index: int, mac: str) -> None:
    """Raises `ApplyFailed`, also where the driver changes it only while the interface is down."""
    settings = [setting.format(name.replace("/", "_")) for setting in _ANNOUNCED]
    before = {setting: value for setting in settings if (value := read_sysctl(setting)) is not None}
    for setting in before:
        write_sysctl(setting, "1")
    try:
        set_mac(f"{name}: MAC address {mac}", index, mac)
    except ApplyFailed as failed:
        cause = failed.__cause__
        if isinstance(cause, OSError) and cause.errno == errno.EBUSY:
            text = f"{name}: its driver changes the MAC address only while it is down: disable {name} before"
            raise ApplyFailed(text, code="netlink") from cause
        raise
    finally:
        for setting, value in before.items():
            write_sysctl(setting, value)

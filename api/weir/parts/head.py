# SPDX-License-Identifier: Apache-2.0
"""How the kernel knows one of the firewall's sets."""

from __future__ import annotations

from typing import Literal, NamedTuple

KeyType = Literal["ipv4_addr", "ipv6_addr", "inet_service", "ether_addr", "ifname"]


class Head(NamedTuple):
    """How the kernel knows a set. What makes it another one is part of its name.

    `length` of prefixes; `most` of a set that packets add to, `timeout_s` of one that forgets, 0 = of none.
    One in which a firewall rule counts sources is called by what it counts and the rule, where no id of
    people's has a capital (source_bounds.py).
    """

    set_id: str
    key: KeyType
    length: int = 0
    timeout_s: int = 0
    most: int = 0

    @property
    def name(self) -> str:
        match self.key:
            case "ipv4_addr" | "ipv6_addr" if self.most:
                return f"d{self.family}_{self.timeout_s}_{self.most}_{self.set_id}"
            case "ipv4_addr" | "ipv6_addr":
                return f"a{self.family}_{self.length}_{self.set_id}"
        return f"{self.key[0]}{self.key[1]}_{self.set_id}"

    @property
    def rule_id(self) -> str:
        """The firewall rule that counts sources in it, "" = it is a set of people's."""
        return self.set_id.partition("_")[2] if self.set_id[:1].isupper() else ""

    @property
    def owner(self) -> str:
        return f"sources of the rule {self.rule_id}" if self.rule_id else self.set_id

    @property
    def family(self) -> Literal[4, 6]:
        return 6 if self.key == "ipv6_addr" else 4

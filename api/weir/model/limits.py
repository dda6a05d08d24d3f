# SPDX-License-Identifier: Apache-2.0
"""Bounds of single values: what an id, a name or a number may be, stated once."""

from __future__ import annotations

import re

MAX_QUEUE_LEVELS = 8
"""RouterOS manual, queues: a simple queue has at most 8 levels, the top one included."""

MAX_RATE_BPS = 1_000_000_000_000
MAX_BUCKET_SIZE_MS = 10_000
MAX_BURST_TIME_MS = 24 * 3600 * 1000
MAX_EXACT = 2**53 - 1
"""What a browser's numbers hold exactly (IEEE 754)."""
MAX_POSITION = 2_000_000_000
MAX_TARGETS = 128
MAX_ADDRESSES = 64
MAX_KNOWN_HOSTS = 1024
MAX_PORTS = 64
MAX_CONNECTIONS = 1_000_000
MAX_BOUNDED_SOURCES = 1024
"""Of one source; no table of this product holds more."""
MAX_QUEUE_TYPE_OPTIONS = 64
MAX_NAME_CHARS = 128
MAX_COMMENT_CHARS = 2000
MAX_SEARCH_CHARS = 200
MAX_OVERHEAD_BYTES = 256
MIN_OVERHEAD_BYTES = -64
MIN_MTU_BYTES = 68
USUAL_MTU_BYTES = 1500
"""Of Ethernet; what is made of several ports has it where none is configured."""
MIN_IPV6_MTU_BYTES = 1280
MAX_MTU_BYTES = 65535
MIN_ROUTER_LIFETIME_S, MAX_ROUTER_LIFETIME_S = 30, 9000
"""The most is RFC 4861's. The least is three times the shortest interval between two."""
MAX_SECONDS_32 = 2**32 - 2
"""A lifetime in 32 bits; the largest number stands for ever."""

MAX_OVERRIDES = 256

MAX_DOMAIN = 15
"""Each domain's first level of the IPv4 tree takes 256 KB of kernel memory, used or not."""

MIN_VLAN_ID, MAX_VLAN_ID = 1, 4094
MAX_VLAN_TAGS = 2
MAX_VLAN_RANGES = 128
MAX_MEMBERS = 256
"""Ports of one bridge; the kernel takes 1,023."""
MAX_BOND_MEMBERS = 16
MIN_LINK_CHECK_MS, MAX_LINK_CHECK_MS = 10, 10_000
MAX_PORT_PRIORITY, MAX_PORT_COST = 63, 65_535
MAX_AGEING_S = 1_000_000
"""The limits of the kernel's STP (net/bridge/br_stp_if.c), and of IEEE 802.1D for the age."""
MAX_VNI = (1 << 24) - 1
MAX_VXLAN_REMOTES = 64
MAX_GRE_KEY = (1 << 32) - 1

MAX_VRF_TABLE = 65535
"""The kernel takes more; the number is that of the conntrack zone as well, which has 16 bits."""

LOW_RATE_BPS = 10_000
"""Below this a packet of 1,500 bytes takes more than a second: nearly always a forgotten `k` or `M`."""

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MINUTES_PER_DAY = 24 * 60

OBJECT_ID = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}", re.ASCII)
QUEUE_TYPE_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_. -]{0,61}[A-Za-z0-9_.-])?", re.ASCII)
INTERFACE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,14}", re.ASCII)
"""A subset of what Linux accepts (15 bytes, no blank, "/" or ":") that needs no quoting anywhere."""

LOG_CURSOR = re.compile(
    "s=[0-9a-f]{32};i=[0-9a-f]{1,16};b=[0-9a-f]{32};m=[0-9a-f]{1,16};t=[0-9a-f]{1,16};x=[0-9a-f]{1,16}"
)
"""A place in the journal (sd_journal_get_cursor(3))."""
CONTROL_CHARACTER = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
CONTROL_BUT_NEWLINE_OR_TAB = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")

QUEUE_TYPE_KINDS = (
    "bfifo",
    "cake",
    "codel",
    "fq-codel",
    "mq-pfifo",
    "none",
    "pcq",
    "pfifo",
    "red",
    "sfq",
)

MAX_SET_ENTRIES = 200_000
"""Learnt by one dynamic set; configured ones are not bounded here."""
MAX_SET_TIMEOUT_S = 30 * 24 * 3600
MIN_REFRESH_S, MAX_REFRESH_S = 300, 30 * 24 * 3600
MAX_SET_NAMES = 256
"""Between two looks at the list of a set."""

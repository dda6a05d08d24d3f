# SPDX-License-Identifier: Apache-2.0
"""The bounds by which a customer's line is judged (docs/diagnosis.md has the same table). What has no source
is a guess, and says so."""

from __future__ import annotations

RECENT_S = 10
"""How much of the past is "now": a guess."""
FULL_SHARE = 0.9
"""Of a limit or of a link's speed: where the browser's bars turn amber. A guess."""
FULL_OF_SECONDS = 0.5
"""Of the recent seconds that have to be full: a guess."""
POLICED_SHARE = 0.3
"""Of a policed limit, which TCP reaches at least where that limit is what it meets: a guess."""
SILENT_S = 30
"""Measured seconds without a packet from the customer: a guess."""
DROPS_PS = 1.0
"""Packets per second: a guess."""
LONG_WAIT_US = 100_000
"""The interval of CoDel (RFC 8289, section 4.3): what waits longer stands in a queue."""
ERROR_SHARE = 0.001
"""Of a port's packets: a guess, as for a core's backlog (`backlog-full`)."""
ERRORS = 10
"""Fewer in two minutes say nothing: a guess."""
MEMORY_SHARE = 0.05
"""Of the memory that is to be available: a guess."""
SIBLING_SHARE = 0.5
"""Of a full parent, which one other queue takes: a guess."""
DEVICE_ROUND_TRIP_US = 100_000
"""From here to the customer's device and back, with the wait in the queue: a guess."""
LOSS_SHARE = 0.02
"""Of the bytes of TCP, on one side of the router: a guess."""
LOSS_BYTES = 150_000
"""Of TCP that have to be seen before anything is said: a hundred full packets. A guess."""
LOSS_PACKETS = 3
"""Sent again, before a share above the bound is believed: a guess."""
USUAL_HOURS = 24
"""Of the last 168, in which a round trip was seen: with fewer the usual one is not known. A guess."""
SLOWER_TIMES = 2.0
"""Now, of the usual round trip: a guess."""
SLOWER_US = 20_000
"""And at least so much longer than that: less is no reason to call. A guess."""
INTERNET_ROUND_TRIP_US = 300_000
"""From here to the far ends and back: twice the 150 ms of ITU-T G.114 (05/2003), which has one way."""

# SPDX-License-Identifier: Apache-2.0
"""How much of what a firewall rule matches one source may have (docs/adr/0209)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from weir.fields import Choice, When, Whole
from weir.model.limits import MAX_CONNECTIONS, MAX_SET_ENTRIES

OVER, WITHIN = "over", "within"
_HAS_RATE = When("rate")


@dataclass(frozen=True, slots=True)
class SourceLimit:
    """What one source may have: so many connections at once, so many packets in a time, or both.

    A source that cannot be counted, as `most_sources` others are, is over its limits.
    """

    match: Annotated[
        str,
        Choice(
            OVER,
            WITHIN,
            help="over: the rule matches what is beyond the limits of its source, to drop it. within: it "
            "matches what is not, to accept it, and the next rules get the rest.",
        ),
    ] = OVER
    connections: Annotated[
        int | None,
        Whole(
            1,
            MAX_CONNECTIONS,
            help="So many connections of one source may exist at once, of those that get as far as this "
            "rule. It then looks at the first packet of each connection only, and for it through all those "
            "that the source has: 1,000 take some 150 us of a core.",
            example="20",
        ),
    ] = None
    rate: Annotated[
        int | None,
        Whole(
            1,
            1_000_000,
            help="So many packets of one source in the time of `per`; of new connections where the rule "
            "looks at these only.",
            example="3",
        ),
    ] = None
    per: Annotated[
        str, Choice("second", "minute", "hour", help="The time to which the rate belongs.", when=_HAS_RATE)
    ] = "second"
    burst: Annotated[
        int,
        Whole(
            1,
            100_000,
            help="So many packets of one source may come at once before the rate applies.",
            when=_HAS_RATE,
            importance="folded",
        ),
    ] = 5
    ipv4_length: Annotated[
        int,
        Whole(
            1,
            32,
            label="IPv4 prefix length",
            help="Addresses that agree in so many bits are one source.",
            importance="folded",
        ),
    ] = 32
    ipv6_length: Annotated[
        int,
        Whole(
            1,
            128,
            label="IPv6 prefix length",
            help="Addresses that agree in so many bits are one source; one host usually has a whole /64.",
            importance="folded",
        ),
    ] = 64
    most_sources: Annotated[
        int,
        Whole(
            1,
            MAX_SET_ENTRIES,
            help="So many sources of each address family are counted at once. Any other is over its limits "
            "until one of them is forgotten.",
            importance="expert",
        ),
    ] = 65_536

# SPDX-License-Identifier: Apache-2.0
"""The time service, as it is configured."""

from weir.kinds.ntp import Ntp
from weir.parts.part import SinglePart


class NtpPart(SinglePart):
    name, what = "ntp", "time service"
    of = Ntp
    made_of = frozenset(("ntp",))
    after = ("routes",)  # by which the servers are reached


NTP = NtpPart()

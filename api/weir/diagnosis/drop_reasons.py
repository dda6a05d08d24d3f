# SPDX-License-Identifier: Apache-2.0
"""What the kernel's reasons for dropping a packet mean (include/net/dropreason-core.h), and which of them are
harm. Thresholds are of docs/diagnosis.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from weir.diagnosis.processors import received_ps
from weir.diagnosis.sample import DropRow, DropWindow
from weir.diagnosis.symptom import Number, Span, Symptom

DROPS_PS = 100.0
"""A guess."""
DROPPED_SHARE = 0.001
"""Of the packets that the router receives. A guess, as of a core's backlog."""
LEAST_S = 1.0
"""A shorter window is taken for so long."""

NO_DROPS = (
    *("", "NOT_SPECIFIED", "SOCKET_CLOSE", "SOCKET_FILTER", "QUEUE_PURGE", "OTHERHOST"),
    *("UNIX_DISCONNECT", "UNIX_SKIP_OOB", "PACKET_SOCK_ERROR", "TCP_OFOMERGE"),
)
"""Packets that nobody misses: copies for sockets that did not want them, what a closed socket still had, what
is for another station; and what the kernel gives no reason for."""
OWNED = (
    *("NETFILTER_DROP", "TC_INGRESS", "TC_EGRESS", "XDP", "QDISC_DROP", "QDISC_OVERLIMIT", "CAKE_FLOOD"),
    *("QDISC_CONGESTED", "FQ_BAND_LIMIT", "FQ_HORIZON_LIMIT", "FQ_FLOW_LIMIT", "DUALPI2_STEP_DROP"),
)
"""What rules, our programs and queues drop: `weir drops` names the owner of each."""
STACK: Mapping[str, str] = {
    "IP_CSUM": "the checksum of the IPv4 header is wrong",
    "IP_INHDR": "the TTL is over, or the IP header is wrong",
    "IP_RPFILTER": "its source is not reached by that interface (`rp_filter`)",
    "IP_INNOROUTES": "there is no route for it",
    "IP_OUTNOROUTES": "there is no route for what the router sends",
    "IP_INADDRERRORS": "its destination is not reached, or it may not be forwarded",
    "PKT_TOO_BIG": "it is larger than the MTU of the way and must not be fragmented",
}
"""What the counters of `weir drops` have as the network stack's, without the interface."""
DEVICE: Mapping[str, str] = {
    "CPU_BACKLOG": "the backlog of a core was full",
    "UNHANDLED_PROTO": "nothing takes that type of frame",
}
"""And what they have as the interface's."""
NOBODY: Mapping[str, str] = {
    "NEIGH_FAILED": "the next station does not answer ARP or neighbor discovery",
    "NEIGH_QUEUEFULL": "too many packets wait for the next station's answer",
    "NEIGH_CREATEFAIL": "the table of neighbors has no room",
    "NEIGH_DEAD": "the next station was just removed from the table of neighbors",
    "NEIGH_HH_FILLFAIL": "no frame can be made for the next station",
    "NO_SOCKET": "no program has that port open",
    "SOCKET_RCVBUFF": "a program does not read its socket",
    "SOCKET_BACKLOG": "a program does not read its socket",
    "PROTO_MEM": "the memory of that protocol's sockets is used up",
    "NOMEM": "there was no memory for it",
    "UDP_CSUM": "the UDP checksum is wrong",
    "TCP_CSUM": "the TCP checksum is wrong",
    "ICMP_CSUM": "the ICMP checksum is wrong",
    "SKB_CSUM": "its checksum is wrong",
    "PKT_TOO_SMALL": "it is shorter than its headers",
    "HDR_TRUNC": "its header is cut short",
    "IP_NOPROTO": "nothing takes that IP protocol",
    "IP_LOCAL_SOURCE": "it comes from outside with an address of the router as its source",
    "IP_INVALID_SOURCE": "its source is no address of a host",
    "IP_INVALID_DEST": "its destination is not valid",
    "IP_LOCALNET": "it is for 127.0.0.0/8 and comes from outside",
    "IPV6DISABLED": "IPv6 is off at that interface",
    "IPV6_BAD_EXTHDR": "an extension header of IPv6 is wrong",
    "UNICAST_IN_L2_MULTICAST": "it is for one host, in a frame for all",
    "MAC_INVALID_SOURCE": "its source MAC address is wrong",
    "XFRM_POLICY": "a policy of IPsec forbids it",
    "DEV_READY": "the interface is down",
    "DEV_HDR": "the interface can make no header for it",
    "FULL_RING": "the interface has no room",
    "DUP_FRAG": "the fragment is there already",
    "FRAG_REASM_TIMEOUT": "fragments of it did not come",
    "FRAG_TOO_FAR": "its fragments are too far apart",
    "TCP_LISTEN_OVERFLOW": "the queue of a listening socket is full",
    "BRIDGE_INGRESS_STP_STATE": "the spanning tree keeps that port of the bridge closed",
    "RECURSION_LIMIT": "tunnels lead into themselves",
    "SECURITY_HOOK": "a security module forbids it",
}
"""What nothing else of the router counts by owner."""
TEXTS: Mapping[str, str] = {**STACK, **DEVICE, **NOBODY}
_ELSEWHERE = ("CPU_BACKLOG", "SOCKET_RCVBUFF", "SOCKET_BACKLOG", "TCP_LISTEN_OVERFLOW", "NEIGH_CREATEFAIL")
"""Have findings of their own."""
_NOISE = ("NO_SOCKET", "IP_NOPROTO", "UNHANDLED_PROTO", "DUP_FRAG", "UNICAST_IN_L2_MULTICAST")
"""What customers' devices say to all, and what strangers try: many packets, and no harm."""


def is_told(reason: str) -> bool:
    """Whether a drop for it is one, and nobody's that `weir drops` names."""
    return reason not in NO_DROPS and reason not in OWNED


def counted_by(reason: str) -> str | None:
    """Whose the drop is in `weir drops`; None: it is not known whether it is there."""
    if reason in STACK:
        return "network stack"
    if reason in DEVICE:
        return "interface"
    return "nobody" if reason in NOBODY else None


def stack_drops(span: Span) -> Iterator[Symptom]:
    """The stack drops much of what came, for one reason at one interface."""
    window = span.now.drop_reasons
    if window is None:
        return
    came_ps = received_ps(span)
    by_packets = sorted(harmful(window), key=lambda row: row.packets)
    for interface, row in {row.interface: row for row in by_packets}.items():
        rate = _rate(row, window)
        share = min(rate / came_ps, 1.0) if came_ps else 1.0
        if share > DROPPED_SHARE:
            numbers = (
                Number("drops_ps", rate, "packets/s", DROPS_PS),
                Number("dropped_share", share, "share", DROPPED_SHARE),
            )
            yield Symptom("stack-drops", interface or "the router", numbers, _words(row.reason))


def harmful(window: DropWindow) -> Iterator[DropRow]:
    """What is lost, often enough, and is told by no other finding. Of connections that the router itself ends
    (`TCP_`) TCP loses what it does not need."""
    for row in window.rows:
        is_other = row.reason in _ELSEWHERE or row.reason in _NOISE or row.reason.startswith("TCP_")
        if is_told(row.reason) and not is_other and _rate(row, window) > DROPS_PS:
            yield row


def _rate(row: DropRow, window: DropWindow) -> float:
    return row.packets / max(window.seconds, LEAST_S)


def _words(reason: str) -> str:
    return f"{TEXTS[reason]} ({reason})" if reason in TEXTS else reason

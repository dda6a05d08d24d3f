# SPDX-License-Identifier: Apache-2.0
"""Every finding in words: what it means, what can be done about it and what that costs. REST, command line,
web interface and documentation have their words from here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from weir.diagnosis.symptom import Number, Symptom
from weir.model.units import format_rate_long

Severity = Literal["error", "warning", "notice"]


@dataclass(frozen=True, slots=True)
class Remedy:
    """Something to change. With `setting` and `value` it is an override of the tuning, and with `bound_pps` a
    bound of the finding's subject to so many packets a second: both can be applied. Without, `text` says what
    a person has to do. `hides`: why the sign is gone after it whether it helped or not. `of_port`: it is an
    override for the finding's subject alone."""

    id: str
    text: str
    cost: str = ""
    setting: str = ""
    value: str = ""
    hides: str = ""
    of_port: bool = False
    bound_pps: int = 0


@dataclass(frozen=True, slots=True)
class Ailment:
    """What a code means. `sentence` has the subject and the numbers by name. `under_load`: it can only be
    seen while there is traffic, so that a remedy is judged under the same load."""

    evidence: str
    severity: Severity
    title: str
    sentence: str
    remedies: tuple[Remedy, ...]
    under_load: bool = True


_RENEW = Remedy(
    "renew-certificate",
    "Upload another chain and its key in one change. One by ACME is renewed by itself: "
    "its state says why its authority gave none.",
)
_LOOK_AT_SET = Remedy(
    "look-at-set",
    "The set's state says why the last try failed: mend its address or names, or the way there, and fetch "
    "it again.",
)
_WITHOUT_FQ = (
    Remedy(
        "remove-root",
        "Take the root qdisc away: `tc qdisc del dev PORT root` where others made it; where the "
        "interface's shaper is `htb`, the shaper `police`, which drops what is over a limit.",
    ),
    Remedy(
        "kernel-with-fq",
        "Start a kernel with `fq` (CONFIG_NET_SCH_FQ): without it the shaper `edt` polices "
        "and heals nothing here.",
    ),
)
"""In place of the shaper `edt`, where it would not heal."""
_THREADS = Remedy(
    "threaded-napi",
    "Let threads that the scheduler knows take packets from the cards.",
    "In the emulated measurement forwarding fell by 58 % under a flood of one core.",
    "threaded-napi",
    "1",
    "packets are taken by threads now, whose time the kernel does not count as time for packets",
)
_GIVE_WAY = Remedy(
    "softirq-budget",
    "Give way to others after 1 ms of receiving instead of 2.",
    "Not measured; more rounds for the same packets.",
    "softirq-budget",
    "1000",
)
AILMENTS: Mapping[str, Ailment] = {
    "control-plane-starved": Ailment(
        "E1",
        "error",
        "Programs starve under packets",
        "{subject} waits for a processor core while one spends {softirq_share} of its time on packets.",
        (_THREADS, _GIVE_WAY),
    ),
    "neighbours-full": Ailment(
        "E1",
        "warning",
        "The table of neighbors is nearly full",
        "{subject}: {filled_share} of the table is in use ({entries} entries){who}.",
        (
            Remedy("neighbours-v4", "Double the table of IPv4 neighbors.", "About 0.5 KB for each entry.",
                   "neighbours-v4-third", "131072"),
            Remedy("neighbours-v6", "Double the table of IPv6 neighbors.", "About 0.5 KB for each entry.",
                   "neighbours-v6-third", "131072"),
            Remedy("find-source", "Find who scans a connected network, and limit who may reach it in the "
                   "firewall's forward rules."),
        ),
        under_load=False,
    ),
    "connections-full": Ailment(
        "E1",
        "warning",
        "The table of connections is nearly full",
        "{filled_share} of the table of tracked connections is in use ({entries} entries){who}.",
        (
            Remedy("connections", "Double the table of tracked connections.",
                   "About 4 % of the memory when it is full.", "conntrack-limit", "memory/8192"),
            Remedy("find-source", "Find who fills it: the check `connections` names who has most, and "
                   "`connections_per_source` of the firewall limits each."),
        ),
        under_load=False,
    ),
    "scan": Ailment(
        "E1",
        "warning",
        "Somebody scans networks",
        "{subject} asks for the way to new destinations, {destinations_ps}, with {lookups_each} packets "
        "each.",
        (
            Remedy("bound-source", "Take 100 packets a second from it, and drop the rest before a route is "
                   "looked up.", "It is all that this source sends, whatever it is for.", bound_pps=100),
            Remedy("find-source", "Find out what it does: *Torch* of the interface or of its queue shows "
                   "where its packets go."),
        ),
    ),
    "backlog-full": Ailment(
        "E2",
        "warning",
        "A core drops packets",
        "{subject} dropped {dropped_share} of its packets ({drops_ps}): its backlog was full.",
        (
            Remedy("receive-backlog", "Let 4,000 packets wait for a core.",
                   "Up to four times the delay there.",
                   "receive-backlog", "4000"),
            _THREADS,
        ),
    ),
    "stack-drops": Ailment(
        "E2",
        "warning",
        "The network stack drops packets",
        "At {subject} the network stack drops {drops_ps}, {dropped_share} of what the router receives: "
        "{who}.",
        (
            Remedy("see-reasons", "See all reasons and interfaces in *Tools* (`weir drop-reasons`), and in "
                   "torch of the interface who sends."),
        ),
    ),
    "softirq-late": Ailment(
        "E3",
        "warning",
        "Packets wait for a core that has time",
        "{subject} softirqs wait for 1 ms and more, {late_ps}; the longest {wait_most_ms}, {who}.",
        (_THREADS, _GIVE_WAY),
    ),
    "long-softirq": Ailment(
        "E4",
        "warning",
        "Few packets keep a core busy",
        "{subject} works 131 us and more on few packets, {long_ps}; the longest {run_most_ms}, on {who}.",
        (
            Remedy("find-lookup", "Find what is looked up for them: see a finding `crowded-listener`, look "
                   "for long lists of rules in the firewall, and see in torch who sends."),
            _THREADS,
        ),
    ),
    "one-core-works": Ailment(
        "E2",
        "warning",
        "One core does the work of all",
        "{subject} spends {softirq_share} of its time on packets and cannot keep up; "
        "the others {others_share}.",
        (
            Remedy("spread", "Spread the queues of the ports over the cores: the settings `interrupt-spread` "
                   "(several queues) and `receive-steering` (one queue, also PPPoE)."),
            _THREADS,
        ),
    ),
    "one-lock": Ailment(
        "E2",
        "notice",
        "A port has one lock for all cores",
        "{subject} has {queues_per_lock} queues behind one root qdisc, whose lock every core takes for "
        "each packet{who}.",
        (
            Remedy("shaper", "Let the port be paced: the interface's shaper `edt` has `fq` under `mq`, each "
                   "queue with a lock of its own."),
            *_WITHOUT_FQ,
        ),
        under_load=False,
    ),
    "lock-wait": Ailment(
        "E2",
        "warning",
        "Cores wait for each other",
        "{subject} spends {spin_share} of its time waiting for locks, {wait_most_us} at most{who}.",
        (
            Remedy("shaper", "Let ports with several queues be paced: the interface's shaper `edt` has `fq` "
                   "under `mq`, each queue with a lock of its own."),
            *_WITHOUT_FQ,
        ),
    ),
    "ring-overrun": Ailment(
        "E2",
        "warning",
        "A card has no room for packets",
        "{subject} lost {overrun_share} of what it received ({overruns_ps}): the card had no buffer.",
        (
            Remedy("receive-ring", "Give the card up to 4,096 buffers.",
                   "Many cards start again for it, and larger rings leave the cache.",
                   "receive-ring", "min(maximum,4096)", of_port=True),
        ),
    ),
    "crowded-listener": Ailment(
        "E4",
        "warning",
        "Many sockets listen on one address",
        "{sockets} sockets listen on {subject}; each connection to it looks at them all{who}.",
        (
            Remedy("stop-program", "Stop the program that opens them: its user has the number in `uid`."),
        ),
        under_load=False,
    ),
    "listener-overflow": Ailment(
        "E4",
        "warning",
        "Connections are not accepted",
        "Connections find the queue of their listening socket full, {overflows_ps}.",
        (Remedy("limit-source", "A program does not accept fast enough, or somebody floods it: limit who may "
                "reach the router in the firewall's input rules."),),
    ),
    "socket-unread": Ailment(
        "E4",
        "warning",
        "A program does not read its socket",
        "{subject} lost {drops_ps}: its program did not read them in time.",
        (Remedy("limit-source", "Limit who may reach this port in the firewall's input rules."),),
    ),
    "slow-route-lookup": Ailment(
        "E5",
        "notice",
        "Routes are looked up slowly",
        "A lookup of a random destination takes {random_ns}, of one destination {fixed_ns}, among {who} "
        "{subject} routes.",
        (
            Remedy("fewer-routes", "Take fewer routes: a filter of the BGP neighbor that lets in a default "
                   "route and the prefixes that are needed."),
        ),
        under_load=False,
    ),
    "second-lookup": Ailment(
        "E5",
        "notice",
        "Every packet is looked up twice",
        "The kernel checks the way back to the source of each packet ({subject}: `rp_filter`).",
        (Remedy("reverse-path-v4", "Leave it to the firewall where it is wanted.", "None.", "reverse-path-v4",
                "0"),),
        under_load=False,
    ),
    "uplink-down": Ailment(
        "checks",
        "warning",
        "An uplink is down",
        "All checks of the uplink {subject} have failed, for {down_s}.",
        (
            Remedy("look-at-checks", "What each check heard is in the uplink's state: ask the provider, or "
                   "mend a check whose target is no more."),
        ),
        under_load=False,
    ),
    "certificate-ending": Ailment(
        "clock",
        "warning",
        "A certificate ends soon",
        "The certificate {subject}, which the web interface shows, ends in {left}.",
        (_RENEW,),
        under_load=False,
    ),
    "certificate-invalid": Ailment(
        "clock",
        "error",
        "A certificate is not valid now",
        "The certificate {subject}, which the web interface shows, has ended or has not begun, by {wrong} "
        "of the router's clock.",
        (
            _RENEW,
            Remedy("look-at-clock", "Look whether the router's clock is right."),
        ),
        under_load=False,
    ),
    "set-not-fetched": Ailment(
        "state",
        "warning",
        "A set has nothing yet",
        "Nothing could be fetched for the set {subject} for {empty_s}: rules that use it match nothing.",
        (_LOOK_AT_SET,),
        under_load=False,
    ),
    "set-names-unanswered": Ailment(
        "state",
        "warning",
        "Names of a set have no answer",
        "So many names of the set {subject} have no good answer: {names}, the first for {unanswered_s}. "
        "What they had goes after an hour if they do not exist, and after a day if nobody answers.",
        (_LOOK_AT_SET,),
        under_load=False,
    ),
    "set-outdated": Ailment(
        "state",
        "warning",
        "A set is not brought up to date",
        "The list of the set {subject} could not be fetched for {old_s}: the set keeps what it had.",
        (_LOOK_AT_SET,),
        under_load=False,
    ),
}  # fmt: skip

LOOKS: Mapping[str, str] = {
    "cores": "each core's packets, drops and time in softirqs",
    "ports": "each port's root qdisc, queues and packets without a buffer",
    "neighbours": "how full the tables of neighbors are",
    "connections": "how full the table of tracked connections is",
    "stalled_us": "how long routing, agent and API wait for a core",
    "woken_late_s": "how late a program runs that asked for a time",
    "grace_s": "how long a grace period of RCU takes",
    "chains": "listening sockets of each address",
    "overflows": "connections that were not accepted",
    "sockets": "UDP sockets that are not read",
    "softirqs": "how long softirqs wait and run",
    "scans": "sources of very many destinations, while the router receives 2,000 packets/s or more",
    "drop_reasons": "why the network stack drops packets, a sixteenth of the time",
    "lock_waits": "how long cores wait for locks, a sixteenth of the time",
    "uplinks": "whether the checks of uplinks are answered",
    "certificates": "how long certificates in use are valid",
    "sets": "whether sets are fetched",
    "route_lookups": "how long a lookup of an IPv4 route takes",
    "reverse_path": "whether the kernel checks the way back to each source",
}
"""What is looked at, by the field of `Sample`."""


def sentence(symptom: Symptom) -> str:
    """A finding for people."""
    numbers = {number.name: shown(number) for number in symptom.numbers}
    return AILMENTS[symptom.code].sentence.format(subject=symptom.subject, who=symptom.who, **numbers)


def shown(number: Number) -> str:
    """A number with its unit: `83 %`, `1,200 packets/s`, `0.4 ms`."""
    if number.unit == "share":
        return percent(number.value)
    if number.unit == "bit/s":
        return format_rate_long(number.value) if round(number.value) else "0 bit/s"
    if number.unit == "1/s":
        return f"{_digits(number.value)}/s"
    return f"{_digits(number.value)} {number.unit}".rstrip()


def percent(share: float) -> str:
    """`83 %`, `0.04 %`, `1,250 %`: three digits."""
    value = share * 100
    return f"{value:,.0f} %" if value >= 100 else f"{value:.3g} %"


def _digits(value: float) -> str:
    """What is not 0 is not shown as 0."""
    if value == int(value) or value >= 9.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 0.05 else f"{value:.1g}"


def remedies(symptom: Symptom) -> Sequence[Remedy]:
    """What can be done about it here; of a table of neighbors what is about this one."""
    found = AILMENTS[symptom.code].remedies
    if symptom.code == "neighbours-full":
        return [item for item in found if item.id in (symptom.subject, "find-source")]
    if symptom.code in ("one-lock", "lock-wait"):
        return [item for item in found if (item in _WITHOUT_FQ) == bool(symptom.needs)]
    if symptom.code == "second-lookup" and symptom.subject != "all":
        return ()
    return found

# SPDX-License-Identifier: Apache-2.0
"""What a frame of our own met on its way, beside what was foretold of it (docs/adr/0223). Pure."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from weir.model.problem import Invalid
from weir.parts.decision import Rules
from weir.parts.rule import PacketRule
from weir.service.deciders import Decider, decider
from weir.service.path_answers import Fate, Outcome, PathAsked, Place, Predicted, Proved, ProvedStep, Step
from weir.service.path_walk import Way

Json = dict[str, Any]
_TABLE = "weir"
_LIMITS = "weir_limits"
_BESIDE = frozenset({"raw", "entry", "helpers", "output", "prerouting", "clamp", "postrouting"})
"""Chains that let pass whatever they decide, beside those of the firewall."""
_FIRST_PORT, _LAST_PORT = 49_152, 65_535
"""RFC 6335: of nobody's service."""
_PROTOCOLS = ("tcp", "udp", "icmp", "icmpv6")
_NO_XDP = "not known: a frame of ours goes through the kernel's own stack, which XDP is before"
_STOPPED = "not known: it did not come so far"
_BOUNDED = "not known: it did not come past the port, where its source is bounded and may have sent too much"


def provable(asked: PathAsked) -> PathAsked:
    """With a source port of its own, unless one is asked for. Raises `Invalid` (`not-provable`)."""
    if asked.candidate:
        raise _not_provable("the kernel has only what runs, nothing of a candidate", "candidate")
    if asked.state != "new":
        raise _not_provable("a frame begins a connection, so it proves nothing of another one", "state")
    if asked.protocol not in _PROTOCOLS:
        raise _not_provable(
            f"no frame of {asked.protocol} is made; those of tcp, udp and icmp are", "protocol"
        )
    if asked.protocol in ("icmp", "icmpv6") and asked.icmp_type != "echo-request":
        raise _not_provable("of ICMP only echo requests are made", "icmp_type")
    port = asked.source_port or random.randint(_FIRST_PORT, _LAST_PORT)
    return replace(asked, source_port=port)


def _not_provable(text: str, path: str) -> Invalid:
    return Invalid(text, code="not-provable", path=path)


def hindrance(predicted: Predicted) -> Step | None:
    """The step for which no frame can be sent: nothing comes in by the interface, or nobody can be asked."""
    first = predicted.steps[0]
    unknown = (step for step in predicted.steps if step.at == "route" and step.state == "unknown")
    return first if first.state != "passes" else next(unknown, None)


def question(asked: PathAsked, predicted: Predicted, way: Way) -> Json:
    """What the agent is asked to do."""
    packet = {
        "interface": way.came,
        "sent": way.sent,
        "source": asked.source,
        "protocol": asked.protocol,
        "source_port": asked.source_port,
        "tos": asked.tos,
    }
    behind = {**packet, "destination": way.destination, "port": way.port, "first": asked.destination}
    leaves = way.leaves if predicted.leaves is not None or _is_refused_last(predicted) else None
    return {
        **packet,
        "destination": asked.destination,
        "port": asked.port,
        "behind": behind,
        "leaves": leaves,
    }


def _is_refused_last(predicted: Predicted) -> bool:
    """It is foretold to come to the port that it would leave by, and no further."""
    return predicted.steps[-1].at == "egress"


def compared(rules: Rules, asked: PathAsked, predicted: Predicted, way: Way, seen: Json | None) -> Proved:
    """`seen` None: no frame was sent (`hindrance`)."""
    if seen is None:
        return _not_sent(asked, predicted)
    frame = _Frame(rules, asked, predicted, way, seen)
    steps = tuple(frame.steps())
    fate = frame.fate
    outcome = _outcome(steps, fate, predicted)
    return Proved(
        predicted.revision,
        predicted,
        fate,
        outcome,
        _sentence(outcome, fate, predicted, frame),
        steps,
        asked.source_port,
        seen["took_ms"],
    )


def _not_sent(asked: PathAsked, predicted: Predicted) -> Proved:
    step = hindrance(predicted) or predicted.steps[0]
    why = f"No frame was sent: {'; '.join(step.not_known) or step.sentence.rstrip('.')}."
    steps = tuple(ProvedStep(step.at, step, "unknown", why) for step in predicted.steps)
    return Proved(predicted.revision, predicted, "unknown", "unknown", why, steps, asked.source_port, None)


def _outcome(steps: tuple[ProvedStep, ...], fate: Fate, predicted: Predicted) -> Outcome:
    if any(step.outcome == "differs" for step in steps):
        return "differs"
    if "unknown" in (fate, predicted.fate):
        return "unknown"
    return "same" if fate == predicted.fate else "differs"


def _sentence(outcome: Outcome, fate: Fate, predicted: Predicted, frame: _Frame) -> str:
    if outcome == "same":
        return f"Proved: {predicted.sentence}"
    if outcome == "differs":
        text = (
            "The frame did something else than was foretold. That is a fault of Weir's: please send us the "
        )
        return text + "support file."
    return f"Not proved: {frame.not_caught or frame.unknown or 'what was foretold is not known either'}."


@dataclass(frozen=True, slots=True)
class _Frame:
    """One frame's way."""

    rules: Rules
    asked: PathAsked
    predicted: Predicted
    way: Way
    seen: Json

    @property
    def not_caught(self) -> str:
        return str(self.seen["not_caught"])

    @property
    def unknown(self) -> str:
        return _BOUNDED.removeprefix("not known: ") if self._may_be_too_much else ""

    @property
    def _passed(self) -> bool:
        caught = self.seen["caught"]
        return caught is not None and bool(caught["passed"])

    @property
    def _stop(self) -> Json | None:
        """The rule or the policy that dropped it."""
        return next((rule for rule in self.seen["rules"] if rule["verdict"] == "drop"), None)

    @property
    def _may_be_too_much(self) -> bool:
        """It came in by the port and no further, where its source is bounded: by how much is not foretold."""
        seen, is_bounded = self.seen, any(step.kind == "bounded-source" for step in self.predicted.steps)
        return is_bounded and not seen["traced"] and not seen["refused"]

    @property
    def fate(self) -> Fate:
        seen = self.seen
        if (stop := self._stop) is not None:
            rule = self._rule(stop)
            return "rejected" if rule is not None and rule.verdict == "reject" else "dropped"
        if seen["refused"] or not seen["traced"]:
            return "unknown" if self._may_be_too_much else "dropped"
        if seen["taken"]:
            return "delivered"
        if not seen["left_chains"]:
            return "dropped"
        if self._passed:
            return "sent" if self.way.sent else "forwarded"
        return "dropped" if seen["caught"] is not None else "unknown"

    def steps(self) -> Iterator[ProvedStep]:
        """Of each that was foretold, and of what was not."""
        told = {step.at for step in self.predicted.steps}
        for step in self.predicted.steps:
            outcome, text = self._proof(step)
            yield ProvedStep(step.at, step, outcome, f"{text[:1].upper()}{text[1:]}.")
        if "firewall" not in told and (stop := self._stop) is not None:
            yield self._more("firewall", f"It was dropped by {self._named(stop)}.")
        if "nat-in" not in told and self._is_turned:
            yield self._more("nat-in", f"NAT sent it to {_end(self.seen['turned'])}.")
        if "nat-out" not in told and self._left_with not in (None, self.asked.source):
            yield self._more("nat-out", f"NAT gave it the source {self._left_with}.")

    def _more(self, at: Place, text: str) -> ProvedStep:
        return ProvedStep(at, None, "differs", text)

    @property
    def _is_turned(self) -> bool:
        turned = self.seen["turned"]
        asked = (self.asked.destination, self.asked.port)
        return turned is not None and self._same_port(turned, asked[0], asked[1]) is False

    def _same_port(self, ends: Json, destination: str, port: int) -> bool:
        is_icmp = self.asked.protocol in ("icmp", "icmpv6")
        return ends["destination"] == destination and (is_icmp or ends["port"] == port)

    @property
    def _left_with(self) -> str | None:
        """The source that it left the chains with."""
        ends = self.seen["ends"]
        return str(ends["source"]) if self.seen["left_chains"] and ends else None

    def _proof(self, step: Step) -> tuple[Outcome, str]:
        if step.at == "fast-path":
            return "unknown", _NO_XDP
        if step.at == "ingress":
            return self._ingress()
        if self._may_be_too_much:
            return "unknown", _BOUNDED
        if step.at == "source":
            return self._source(step)
        if not self.seen["traced"] and not self.seen["refused"]:
            return "differs", "it did not come past the port that it came in by"
        if step.state == "unknown":
            return "unknown", "not known: nothing was foretold that it could be compared with"
        found = {
            "queue-in": self._queue_in,
            "nat-in": self._nat_in,
            "route": self._route,
            "firewall": self._firewall,
            "nat-out": self._nat_out,
            "neighbour": self._neighbour,
            "egress": self._egress,
            "queue-out": self._queue_out,
        }[step.at]
        return found(step)

    def _ingress(self) -> tuple[Outcome, str]:
        seen = self.seen
        if self.way.sent:
            return "same", "the router sent it" if not seen["refused"] else f"the kernel: {seen['refused']}"
        if seen["refused"]:
            return "differs", f"the kernel took no frame at {self.way.came}: {seen['refused']}"
        if not seen["traced"]:
            return "same", f"it was given to {self.way.came}"
        return _same(seen["came"] == self.way.came), f"it came in by {seen['came']}"

    def _source(self, step: Step) -> tuple[Outcome, str]:
        passed = bool(self.seen["traced"])
        text = "it came past the port's program" if passed else "it did not come past the port's program"
        return _same(passed == (step.state != "drops")), text

    def _queue_in(self, step: Step) -> tuple[Outcome, str]:
        sender = self.seen["sender"]
        found = None if sender is None else sender["queue"]
        text = f"its mark is of the upload of queue {found}" if found else "its mark is of no queue"
        return _same(found == step.id), text

    def _nat_in(self, _step: Step) -> tuple[Outcome, str]:
        turned = self.seen["turned"]
        if turned is None:
            return "unknown", _STOPPED
        same = self._same_port(turned, self.way.destination, self.way.port)
        return _same(same), f"it went on to {_end(turned)}"

    def _route(self, step: Step) -> tuple[Outcome, str]:
        seen = self.seen
        to_router = seen["taken"] or any(rule["chain"] == "input" for rule in seen["rules"])
        if seen["refused"]:
            return _same(step.state == "drops"), f"the kernel refused it: {seen['refused']}"
        if to_router:
            return _same(self.way.to_router), "the kernel gave it to the router itself"
        if seen["leaves"] is None:
            if self._stop is not None:
                return "unknown", "not known: it was dropped before it was routed"
            return _same(step.state == "drops"), "it went no further than to where it is routed"
        return _same(seen["leaves"] == self.way.leaves), f"the kernel led it to {seen['leaves']}"

    def _firewall(self, step: Step) -> tuple[Outcome, str]:
        stop = self._stop
        decided = stop if stop is not None else self._last_accept()
        drops = step.state == "drops"
        if decided is None or decided["comment"] is None:
            if stop is None:
                went_on = self.seen["taken"] or self.seen["left_chains"]
                if not went_on:
                    return "unknown", _STOPPED
                return _same(not drops and step.kind is None), "no rule decided, and it passed"
            return _same(False), f"it was dropped by {self._named(stop)}"
        by, verb = self._decider(decided), "dropped" if stop is not None else "let pass"
        same = by is not None and (by.kind, by.id) == (step.kind, step.id) and drops == (stop is not None)
        return _same(same), f"it was {verb} by {self._named(decided)}"

    def _last_accept(self) -> Json | None:
        """Of the firewall's own chains the rule that ended its way there; a policy has no comment."""
        found = [
            rule
            for rule in self.seen["rules"]
            if rule["table"] == _TABLE and rule["chain"] not in _BESIDE and rule["verdict"] == "accept"
        ]
        return found[-1] if found else None

    def _rule(self, seen: Json) -> PacketRule | None:
        if seen["table"] != _TABLE or seen["comment"] is None:
            return None
        return self.rules.commented(seen["chain"], seen["comment"])

    def _decider(self, seen: Json) -> Decider | None:
        rule = self._rule(seen)
        return None if rule is None else decider(rule, seen["chain"])

    def _named(self, seen: Json) -> str:
        if seen["table"] == _LIMITS:
            return "a limit of connections or for a full queue, which is not foretold"
        if seen["table"] != _TABLE:
            return f"chain {seen['chain']} of the table {seen['table']}, which is not Weir's"
        if seen["comment"] is None:
            return f"chain {seen['chain']}"
        return f"rule {seen['comment']}"

    def _nat_out(self, _step: Step) -> tuple[Outcome, str]:
        left = self._left_with
        if left is None:
            return "unknown", _STOPPED
        return _same(self.way.source in ("", left)), f"it left the firewall with the source {left}"

    def _neighbour(self, _step: Step) -> tuple[Outcome, str]:
        caught = self.seen["caught"]
        if not self._passed:
            return "unknown", f"not known: {self.not_caught}" if self.not_caught else _STOPPED
        near = caught["station_mac"]
        if near is None:
            return "same", "it needed no hardware address"
        return _same(caught["mac"] == near), f"it was on the way to the hardware address {caught['mac']}"

    def _egress(self, step: Step) -> tuple[Outcome, str]:
        if self._passed:
            text = f"it was caught behind the program of {self.way.leaves}"
            return _same(step.state != "drops"), text
        if self.seen["caught"] is None:
            return "unknown", f"not known: {self.not_caught}" if self.not_caught else _STOPPED
        return _same(step.state == "drops"), f"it came to {self.way.leaves}, and was dropped there"

    def _queue_out(self, step: Step) -> tuple[Outcome, str]:
        if not self._passed:
            return "unknown", f"not known: {self.not_caught}" if self.not_caught else _STOPPED
        charged = next((item for item in self.seen["caught"]["charged"] if item["queue"] == step.id), None)
        if charged is None:
            return "unknown", "not known: counters of queues that were not foretold are not looked at"
        if not charged["packets"]:
            return "differs", "its counter did not go up"
        others = charged["packets"] - 1
        beside = f", and by {others} of others meanwhile" if others else ""
        waits = self.seen["caught"]["waits_us"]
        wait = f"it would have waited {waits / 1000:.1f} ms" if waits else "it would have left at once"
        if waits is None:
            wait = "how long it would have waited HTB does not tell"
        return "same", f"its counter went up by this packet{beside}; {wait}"


def _same(is_same: bool) -> Outcome:
    return "same" if is_same else "differs"


def _end(ends: Json) -> str:
    address = f"[{ends['destination']}]" if ":" in ends["destination"] else ends["destination"]
    return f"{address}:{ends['port']}" if ends["port"] else str(ends["destination"])
